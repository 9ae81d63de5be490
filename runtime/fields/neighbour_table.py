"""Neighbour tables: which indices of one dimension lie around each index of another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np

from .._core import FieldView
from ..language import Dimension, DimensionKind, Domain, DType, NamedRange, UnitRange
from ..process import ArgumentError, DomainError, NonContiguousDomain, ReadOnlyError, classes
from .alignment import first
from .given_data import array_on_host
from .indexing import resolve

SKIP = -1


@classes.frozen
class ConnectivityType:
    """The properties of a table that builds depend on; they never depend on its entries."""

    domain: tuple[Dimension, ...]
    codomain: Dimension
    skip_value: int | None
    dtype: DType
    max_neighbors: int

    @property
    def has_skip_values(self) -> bool:
        """Say whether neighbours may be missing."""
        return self.skip_value is not None

    @property
    def source_dim(self) -> Dimension:
        """The dimension whose indices have neighbours."""
        return self.domain[0]

    @property
    def neighbor_dim(self) -> Dimension:
        """The local dimension, which counts the neighbours of one index."""
        return self.domain[-1]


class Connectivity(FieldView):
    """A read-only table of int32 indices of `codomain`, mostly over (target, local).

    Made by `as_connectivity`. Where it holds `skip_value` a neighbour is missing.
    It is no field: there is no arithmetic on the indices.

    >>> E, V = Dimension("E"), Dimension("V")
    >>> E2V = Dimension("E2V", DimensionKind.LOCAL)
    >>> table = Connectivity(np.array([[0, 1], [1, 2], [2, 3]]), Domain((E, 3), (E2V, 2)), V)
    >>> str(table), str(table.inverse_image(UnitRange(1, 4))[0])
    ('Connectivity(E=(0:3), E2V=(0:2) -> V; int32)', 'E[horizontal]=(1:3)')
    """

    __fieldforge_table__ = True
    __array_ufunc__ = None  # so that our operators refuse a NumPy number on the left
    domain: Domain
    codomain: Dimension
    skip_value: int | None

    def __init__(
        self, array: Any, domain: Domain, codomain: Dimension, skip_value: int | None = None
    ) -> None:
        """Copy indices of any integer type."""
        self._fill(as_indices(array), domain, codomain, skip_value)

    @classmethod
    def on(
        cls, array: Any, domain: Domain, codomain: Dimension, skip_value: int | None
    ) -> Connectivity:
        """Take an array of int32 without a copy; no code may write to it from now on."""
        made = cls.__new__(cls)
        made._fill(array, domain, codomain, skip_value)
        return made

    @classmethod
    def on_device(cls, array: Any, host: Connectivity) -> Connectivity:
        """Take an array on a device that has the entries of `host`, which calls look into."""
        made = cls.__new__(cls)
        FieldView.__init__(made, array, host.dims, tuple(map(first, host.domain.ranges)))
        vars(made).update(
            domain=host.domain, codomain=host.codomain, skip_value=host.skip_value,
            __fieldforge_host__=host,
        )  # fmt: skip
        return made

    def _fill(
        self, array: Any, domain: Domain, codomain: Dimension, skip_value: int | None
    ) -> None:
        _check_entries(array, domain, codomain, skip_value)
        if isinstance(array, np.ndarray):
            # NumPy refuses to make an array over read-only memory writable
            lent: Any = array
            array = np.asarray(memoryview(lent).toreadonly())
        FieldView.__init__(self, array, domain.dims, tuple(map(first, domain.ranges)))
        vars(self).update(domain=domain, codomain=codomain, skip_value=skip_value)

    def __setattr__(self, name: str, _: Any) -> NoReturn:
        raise AttributeError(f"A Connectivity is immutable; cannot set '{name}'.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"A Connectivity is immutable; cannot delete '{name}'.")

    def __setitem__(self, _: Any, __: Any) -> NoReturn:
        raise ReadOnlyError("A Connectivity is immutable; make another one.")

    @property
    def dtype(self) -> DType:
        """The type of the indices: int32."""
        return DType(np.int32)

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return the indices as a NumPy array, without a copy where they lie on the CPU."""
        array = getattr(self, "__fieldforge_host__", self).ndarray
        return array if isinstance(array, np.ndarray) else np.asarray(array.get())

    def __gt_type__(self) -> ConnectivityType:
        return ConnectivityType(
            self.dims, self.codomain, self.skip_value, self.dtype, self.shape[-1]
        )

    def restrict(self, index: Any) -> Any:
        """Return the part at an index, a table too; one entry is an int32."""
        places, domain = resolve(self.domain, index)
        array = self.ndarray[(*places, ...)]
        if not domain.ndim:
            return array[()]
        return Connectivity(array, domain, self.codomain, self.skip_value)

    __getitem__ = restrict

    def inverse_image(self, image_range: UnitRange | NamedRange) -> tuple[NamedRange, ...]:
        """Return the indices all of whose neighbours lie in a range of the codomain.

        Missing neighbours lie everywhere. Where the indices are no contiguous block,
        it is a `NonContiguousDomain`.
        """
        if isinstance(image_range, NamedRange):
            if image_range.dim is not self.codomain:
                raise DomainError(
                    f"Expected a range along '{self.codomain}', got one along '{image_range.dim}'."
                )
            image_range = image_range.unit_range
        return tuple(inside(self, image_range))

    def valid(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return where there is a neighbour."""
        array = self.asnumpy()
        return np.ones(array.shape, np.bool_) if self.skip_value is None else array != SKIP

    def __reduce__(self) -> tuple[Any, ...]:
        return Connectivity, (self.asnumpy(), self.domain, self.codomain, self.skip_value)

    def __deepcopy__(self, _: dict[int, Any]) -> Connectivity:
        return self  # it is immutable

    def __copy__(self) -> Connectivity:
        return self

    def __str__(self) -> str:
        ranges = ", ".join(f"{dim.value}={indices}" for dim, indices in self.domain)
        return f"Connectivity({ranges} -> {self.codomain.value}; int32)"

    __repr__ = __str__

    def _refuse(self, *_: Any) -> NoReturn:
        raise ArgumentError(
            "A Connectivity cannot be computed with: it is a table of indices, not a field.",
            hints=["Take its 'ndarray', or apply a field to it: 'f(E2C)'."],
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse
    __pow__ = __rpow__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __abs__ = __invert__ = _refuse
    __bool__ = _refuse


def inside(table: Connectivity, wanted: UnitRange) -> Domain:
    """Return the part of a table's domain all of whose neighbours lie in `wanted`.

    A row counts with all its slots: local dimensions stay whole.
    """
    good: Any = _good(table, wanted)
    local = tuple(axis for axis, dim in enumerate(table.dims) if dim.kind is DimensionKind.LOCAL)
    good = good.all(axis=local, keepdims=True)
    if good.all():
        return table.domain
    box, places = [], []
    for axis, (dim, own) in enumerate(table.domain):
        if axis in local:
            box.append(NamedRange(dim, own))
            places.append(slice(None))
            continue
        others = tuple(other for other in range(good.ndim) if other != axis)
        found = np.flatnonzero(good.any(axis=others))
        start, stop = (int(found[0]), int(found[-1]) + 1) if len(found) else (0, 0)
        box.append(NamedRange(dim, UnitRange(first(own) + start, first(own) + stop)))
        places.append(slice(start, stop))
    if not good[tuple(places)].all():
        raise NonContiguousDomain(
            f"The indices of '{table}' whose neighbours lie in {wanted} are no contiguous block."
        )
    return Domain(*box)


def beyond(tables: Mapping[str, Any], codomain: Dimension, covered: UnitRange) -> tuple[str, ...]:
    """Name the tables that hold an index of `codomain` outside of a range, with the first one."""
    found = []
    for name, table in sorted(tables.items()):
        if not isinstance(table, Connectivity) or table.codomain is not codomain:
            continue
        bad = np.argwhere(~_good(table, covered))
        if len(bad):
            place = zip(table.domain, bad[0], strict=True)
            where = ", ".join(f"{dim.value}={first(own) + int(at)}" for (dim, own), at in place)
            index = int(table.asnumpy()[tuple(bad[0])])
            found.append(
                f"Table '{name}' holds index {index} at ({where}), which is outside of {covered}."
            )
            if table.asnumpy()[table.valid()].min() == 1 and index == covered.stop:
                found.append(f"Neighbours are counted from 0, those of '{name}' begin at 1.")
    return tuple(found)


def is_skip_value(given: Any) -> bool:
    """Return True for the values that can mark missing neighbours: None and -1."""
    return given is None or (given == SKIP and not isinstance(given, bool))


def _good(table: Connectivity, wanted: UnitRange) -> Any:
    array: Any = table.asnumpy()
    good = np.ones(array.shape, np.bool_)
    if wanted.is_left_finite():
        good &= array >= wanted.start
    if wanted.is_right_finite():
        good &= array < wanted.stop
    return good | ~table.valid()


def as_indices(given: Any, dtype: Any = None) -> Any:
    """Return a copy as int32; `dtype`, if there is one, must be an integer type too.

    Masked entries are missing neighbours.
    """
    # A plain array needs no import of 'numpy.ma', which takes as long as a tenth of NumPy.
    is_masked = type(given) is not np.ndarray and np.ma.isMaskedArray(given)
    array = np.ma.filled(given, 0) if is_masked else array_on_host(given)
    for kind in (array.dtype, np.dtype(dtype or np.int32)):
        if kind.kind not in "iu":
            raise ArgumentError(
                f"A Connectivity holds integers, got '{kind}'.",
                hint="Convert the table, with -1 where a neighbour is missing, as in "
                "'np.nan_to_num(table, nan=-1).astype(np.int32)'.",
            )
    copy = array.astype(np.int32, order="C", copy=True)
    if array.dtype.itemsize >= 4 and not (copy == array).all():
        place = tuple(map(int, np.argwhere(copy != array)[0]))
        raise ArgumentError(f"Index {array[place]} at {place} of the data does not fit into int32.")
    if is_masked:
        copy[np.ma.getmaskarray(given)] = SKIP
    return copy


def _check_entries(array: Any, domain: Domain, codomain: Any, skip_value: int | None) -> None:
    if not isinstance(codomain, Dimension):
        raise ArgumentError(f"The codomain must be a dimension, got '{codomain!r}'.")
    if not is_skip_value(skip_value):
        raise DomainError(
            f"The skip value of a Connectivity is -1 or None, got '{skip_value}'.",
            hint=f"Write -1 for it: 'np.where(table == {skip_value}, -1, table)'.",
        )
    if array.shape != domain.shape:
        raise DomainError(
            f"The data must have the shape of the domain: expected {domain.shape}, "
            f"got {array.shape}."
        )
    lowest = 0 if skip_value is None else SKIP
    if array.size and (least := int(array.min())) < lowest:
        place = tuple(map(int, np.argwhere(array == least)[0]))
        raise DomainError(
            f"Index {least} at {place} in a table of '{codomain.value}' is negative.",
            hints=[
                "A missing neighbour is -1: write 'skip_value=-1', or leave it away to look for -1 "
                "in the data."
            ],
        )
