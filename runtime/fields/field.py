"""Fields: arrays with a domain, the data that operators work on.

Field           memory with a finite domain; what the native call path takes
UnboundedField  an intermediate of embedded execution that is constant along infinite axes,
                as `broadcast` makes them; it has no array, and compiled
                programs refuse it
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from .._core import FieldView
from ..language import (
    CartesianConnectivity,
    Dimension,
    DimensionKind,
    Displacement,
    Domain,
    DType,
    NamedIndex,
    UnitRange,
    axis_name,
    field_alias,
    operations,
)
from ..language.active_numbers import is_active, plain_dtype
from ..process import (
    CPU,
    ArgumentError,
    DomainError,
    EmbeddedExecutionError,
    IndexOutOfBounds,
    ReadOnlyError,
)
from .alignment import align, first, fitted, view_on
from .context import active
from .indexing import resolve
from .interchange import Interchange
from .layout import allocate
from .numpy_functions import NumpyFunctions
from .operators import Operators
from .premap import check_maps, displaced, gathered, resolved, shifted


class SingleArray(Operators):
    """Operations common to both kinds of field, whose values lie in one array."""

    __slots__ = ()

    def combined(self, op: str, operands: Sequence[Any], dtype: str | None) -> Any:
        """Apply an operation point by point where the domains of all fields meet."""
        for operand in operands:
            if isinstance(operand, Operators) and not isinstance(operand, SingleArray):
                return operand.combined(op, operands, dtype)
        fields = [operand for operand in operands if isinstance(operand, Field | UnboundedField)]
        arrays, domain = align([(values_of(field), field.domain) for field in fields])
        views = iter(arrays)
        filled = (next(views) if isinstance(x, SingleArray) else x for x in operands)
        result = operations.apply(op, *filled, dtype=dtype)
        if all(isinstance(field, ActiveNumber) for field in fields):
            return ActiveNumber(result, domain) if is_active(result) else result[()]
        return make(result, domain)


class Field(SingleArray, NumpyFunctions, Interchange, FieldView):
    """An array whose axes are dimensions and whose indices start anywhere.

    Made by `zeros`, `full`, `as_field` and the other constructors, and by
    operations on fields. As an annotation `Field[Dims[I, K], float64]` it is a type.

    >>> I = Dimension("I")
    >>> f = make(np.arange(5.0), Domain((I, (2, 7))))
    >>> str(f(I + 1).domain), f[I(4)].as_scalar(), (f + 1.0).asnumpy().tolist()
    ('Domain(I[horizontal]=(1:6))', np.float64(2.0), [1.0, 2.0, 3.0, 4.0, 5.0])
    """

    __fieldforge_field__ = True
    _domain: Domain | None = None

    def __class_getitem__(cls, parameters: Any) -> Any:
        return field_alias(cls, parameters)

    @property
    def domain(self) -> Domain:
        """The indices on which the field lives."""
        if self._domain is None:
            ranges = tuple(map(UnitRange, self.starts, self.stops))
            self._domain = Domain(dims=self.dims, ranges=ranges)
        return self._domain

    @property
    def dtype(self) -> DType:
        """The type of the elements; `.scalar_type` is NumPy's."""
        return DType(self.ndarray.dtype.type)

    @property
    def codomain(self) -> type[Any]:
        """The type of the values, as NumPy's scalar type."""
        return self.dtype.scalar_type

    @property
    def array_ns(self) -> Any:
        """The module whose arrays hold the values: numpy or cupy."""
        return sys.modules[type(self.ndarray).__module__.partition(".")[0]]

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return the values as a NumPy array, without a copy where they lie on the CPU.

        For a field on a GPU this waits for all that the device has been given.
        """
        array = self.ndarray
        if isinstance(array, np.ndarray):
            return array
        from .allocators.device import wait_for

        wait_for(self.device_type, self.device_id)
        return np.asarray(array.get())

    def as_scalar(self) -> Any:
        """Return the one value of a field without dimensions."""
        if self.ndim:
            raise DomainError(f"Only a field without dimensions is a scalar, got '{self}'.")
        return self.asnumpy()[()]

    def __float__(self) -> float:
        return float(self.as_scalar())

    def __int__(self) -> int:
        return int(self.as_scalar())

    def restrict(self, index: Any) -> Field:
        """Return the part at an index as a view; nothing is clipped.

        Relative: `f[2, 1:-1]`, `f[..., -1]`. Absolute: `f[I(3)]`, `f[I(3):I(5)]`, `f[domain]`.
        """
        if _is_absent_slot(self.domain, index):
            box = Domain(*((dim, UnitRange(0, 0)) for dim in self.domain.pop(index.dim).dims))
            return Field._on(np.zeros(box.shape, self.dtype.dtype), box)
        places, domain = resolve(self.domain, index)
        return Field._on(self.ndarray[(*places, ...)], domain)

    __getitem__ = restrict

    def __setitem__(self, index: Any, value: Any) -> None:
        places, domain = resolve(self.domain, index)
        if getattr(type(value), "__fieldforge_field__", False):
            if value.domain != domain:
                raise DomainError(
                    f"Incompatible 'Domain' in assignment: expected '{domain}', "
                    f"got '{value.domain}'."
                )
            value = value.ndarray
        if self.readonly:
            raise ReadOnlyError("The field cannot be written: its memory is read-only.")
        with np.errstate(all="ignore"):
            if hasattr(value, "dtype"):
                value = operations.cast(value, self.ndarray.dtype)
            if self.device_type != CPU.device_type and isinstance(value, np.ndarray):
                from .allocators.device import copy_in

                part = self.ndarray[(*places, ...)]
                copy_in(part, np.broadcast_to(value, part.shape))
                return
            self.ndarray[(*places, ...)] = value

    def __call__(self, *connectivities: Any) -> Field:
        """Shift or gather: `f(I + 1)` is the field g with g(i) = f(i + 1).

        Several offsets are applied in turn, several neighbour tables at once. The
        result lives where all values that it reads exist, which must be a contiguous block.
        """
        if len(connectivities) == 1 and isinstance(connectivities[0], Displacement):
            return Field._on(*displaced(self.ndarray, self.domain, connectivities[0]))
        maps = resolved(connectivities)
        if all(isinstance(one, CartesianConnectivity) for one in maps):
            return Field._on(self.ndarray, shifted(self.domain, maps))
        return Field._on(*gathered(self.ndarray, self.domain, maps))

    def premap(self, *connectivities: Any) -> Field:
        """Read through maps, all at once: g(i, j) = f(a(i, j), b(i, j)).

        Each map replaces another dimension, and they are all shifts or all tables;
        `as_offset(Koff, by)` stands alone.
        """
        if not any(isinstance(one, Displacement) for one in connectivities):
            check_maps(self.domain, connectivities)
        elif len(connectivities) > 1:
            raise ArgumentError("'as_offset' must be the only map that a field is read through.")
        return self(*connectivities)

    def _applied(self, ufunc: Any, inputs: tuple[Any, ...]) -> Any:
        fields = [one for one in inputs if isinstance(one, Field | UnboundedField)]
        arrays, domain = align([(values_of(field), field.domain) for field in fields])
        views = iter(arrays)
        filled = [next(views) if isinstance(one, SingleArray) else one for one in inputs]
        with np.errstate(all="ignore"):
            return make(ufunc(*filled), domain)

    def _made(self, array: Any, domain: Domain) -> Any:
        return make(array, domain)

    def compact(self) -> Field:
        """Return a copy without padding, in C order, for libraries that refuse padded rows.

        >>> I, J = Dimension("I"), Dimension("J")
        >>> field = make(np.zeros((3, 8))[:, :5], Domain((I, (0, 3)), (J, (0, 5))))
        >>> field.strides, field.compact().strides
        ((64, 8), (40, 8))
        """
        return Field._on(self.ndarray.copy(), self.domain)

    def __reduce__(self) -> tuple[Any, ...]:
        return _copied, (self.asnumpy(), self.domain)

    def __deepcopy__(self, _: dict[int, Any]) -> Field:
        return _copied(self.ndarray, self.domain)

    def __str__(self) -> str:
        return f"Field({_ranges(self.domain)}; {self.dtype})"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from .notebook import field_html  # only notebooks ask for it

        return field_html(self)

    @staticmethod
    def _on(array: Any, domain: Domain) -> Field:
        field = Field(array, domain.dims, tuple(map(first, domain.ranges)))
        field._domain = domain
        return field


class UnboundedField(SingleArray):
    """A field that is constant along at least one infinite axis.

    The array has extent 1 along those axes. It arises in embedded execution from
    `broadcast`, and becomes a `Field` where it meets one or is written.
    """

    __slots__ = ("array", "domain")
    __fieldforge_field__ = True

    def __init__(self, array: Any, domain: Domain) -> None:
        self.array = array
        self.domain = domain

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """The dimensions in the order of the axes."""
        return self.domain.dims

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return DType(plain_dtype(self.array.dtype).type)

    @property
    def ndarray(self) -> Any:
        """Raise an error: no array has an infinite extent."""
        raise EmbeddedExecutionError(
            f"The field lives on the infinite domain '{self.domain}', so it has no array.",
            hints=["Restrict it first, for instance 'f[domain({I: (0, 10)})]'."],
        )

    def restrict(self, index: Any) -> AnyField:
        """Return the part on a finite `Domain`, or at one index such as `E2CDim(0)`."""
        if isinstance(index, NamedIndex):
            return self._at(index)
        if not isinstance(index, Domain):
            raise EmbeddedExecutionError(
                f"A field on an infinite domain is restricted by a 'Domain', got '{index!r}'."
            )
        wanted = Domain(*((dim, dict(index).get(dim, own)) for dim, own in self.domain))
        return restricted(self, wanted)

    __getitem__ = restrict

    def __call__(self, *connectivities: Any) -> UnboundedField:
        """Shift, as for a `Field`."""
        return UnboundedField(self.array, shifted(self.domain, connectivities))

    def _at(self, index: NamedIndex) -> AnyField:
        dim, place = index
        own = dict(self.domain).get(dim, UnitRange(0, 0))
        if place not in own:
            raise IndexOutOfBounds(f"Index {place} of dimension '{dim}' is outside {own}.")
        ahead = place - first(own) if own.is_finite() else 0
        array = self.array.take(ahead, axis=self.domain.dim_index(dim, False))
        return make(array, self.domain.pop(dim))

    def __str__(self) -> str:
        return f"UnboundedField({_ranges(self.domain)}; {self.dtype})"

    __repr__ = __str__


class ActiveField(UnboundedField):
    """A field of active numbers on a finite domain; operators and programs write into it too."""

    __slots__ = ()
    readonly = False

    @property
    def ndarray(self) -> Any:
        """The pairs of value and number."""
        return self.array

    def restrict(self, index: Any) -> AnyField:
        """Return the part at an index as a view."""
        if _is_absent_slot(self.domain, index):
            box = Domain(*((dim, UnitRange(0, 0)) for dim in self.domain.pop(index.dim).dims))
            return ActiveField(np.zeros(box.shape, self.array.dtype), box)
        places, domain = resolve(self.domain, index)
        return ActiveField(self.array[(*places, ...)], domain)

    __getitem__ = restrict

    def __call__(self, *connectivities: Any) -> ActiveField:
        """Shift, as for a `Field`."""
        return ActiveField(self.array, shifted(self.domain, connectivities))


class ActiveNumber(ActiveField):
    """An active number in the place of a scalar; a condition of such numbers has a truth value."""

    __slots__ = ()


AnyField: TypeAlias = Field | UnboundedField


def make(array: Any, domain: Domain) -> AnyField:
    """Put an array on a domain; it has extent 1 where a range is infinite."""
    array = fitted(array, domain)
    if not domain.is_finite():
        return UnboundedField(array, domain)
    return ActiveField(array, domain) if is_active(array) else Field._on(array, domain)


def values_of(field: AnyField) -> Any:
    """Return the array behind a field, with extent 1 along infinite axes."""
    return field.array if isinstance(field, UnboundedField) else field.ndarray


def _is_absent_slot(domain: Domain, index: Any) -> bool:
    """Tell whether an operator reads a slot without any value; gathers drop such slots."""
    if not (isinstance(index, NamedIndex) and index.dim.kind is DimensionKind.LOCAL and active()):
        return False
    return index.dim in domain.dims and index.value not in domain[index.dim].unit_range


def restricted(field: AnyField, domain: Domain) -> Field | ActiveField:
    """Return the field on a finite part of its domain, with the axes in the order of `domain`."""
    for dim, own in field.domain:
        if not domain[dim].unit_range <= own:
            raise IndexOutOfBounds(
                f"Range {domain[dim].unit_range} of dimension '{dim}' is outside {own}."
            )
    made = make(view_on(values_of(field), field.domain, domain), domain)
    assert isinstance(made, Field | ActiveField)  # the domain is finite
    return made


def _copied(array: Any, domain: Domain) -> Field:
    copy = allocate(array.shape, domain.dims, array.dtype)
    copy[...] = array
    return Field._on(copy, domain)


def _ranges(domain: Domain) -> str:
    return ", ".join(f"{axis_name(dim)}={indices}" for dim, indices in domain)
