"""Make fields: `empty`, `zeros`, `ones`, `full`; `as_field` and `as_connectivity` from data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import attrs
import numpy as np

from ..language.dimension import Dimension, DimensionKind, NamedIndex
from ..language.domain import Domain, DomainLike
from ..language.domain import domain as make_domain
from ..language.dtype import DType
from ..language.types import SCALARS, ScalarType
from ..process.errors import ArgumentError, DeviceError, DomainError
from .allocator import CPUAllocator, find_allocator
from .device import Device, DeviceType
from .field import Field, make
from .neighbour_table import SKIP, Connectivity, as_indices

P = ParamSpec("P")
R = TypeVar("R")


class Constructor(Generic[P, R]):
    """A function that makes fields, and can be given some of its arguments in advance."""

    def __init__(self, function: Callable[P, R]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Make a field."""
        return self._function(*args, **kwargs)

    def partial(self, **kwargs: Any) -> Callable[..., R]:
        """Return a function that has some arguments, such as the allocator, already.

        An allocator or device that cannot be is refused here.
        """
        find_allocator(kwargs.get("allocator"), kwargs.get("device"))
        return functools.partial(self._function, **kwargs)

    def __repr__(self) -> str:
        return f"<constructor '{self._function.__name__}'>"


@Constructor
def empty(
    domain: DomainLike,
    dtype: Any = np.float64,
    *,
    aligned_index: Sequence[NamedIndex] | None = None,
    allocator: Any = None,
    device: Device | None = None,
) -> Field:
    """Make a field whose values may be anything."""
    return _allocated(domain, dtype, aligned_index, allocator, device, zeroed=False)[0]


@Constructor
def zeros(
    domain: DomainLike,
    dtype: Any = np.float64,
    *,
    aligned_index: Sequence[NamedIndex] | None = None,
    allocator: Any = None,
    device: Device | None = None,
) -> Field:
    """Make a field of zeros.

    >>> I = Dimension("I")
    >>> zeros({I: (2, 5)}, dtype=np.float32).asnumpy()
    array([0., 0., 0.], dtype=float32)
    """
    field, is_zero = _allocated(domain, dtype, aligned_index, allocator, device, zeroed=True)
    if not is_zero:
        _fill(field, 0)
    return field


@Constructor
def ones(
    domain: DomainLike,
    dtype: Any = np.float64,
    *,
    aligned_index: Sequence[NamedIndex] | None = None,
    allocator: Any = None,
    device: Device | None = None,
) -> Field:
    """Make a field of ones."""
    return full(domain, 1, dtype, aligned_index=aligned_index, allocator=allocator, device=device)


@Constructor
def full(
    domain: DomainLike,
    fill_value: Any,
    dtype: Any = None,
    *,
    aligned_index: Sequence[NamedIndex] | None = None,
    allocator: Any = None,
    device: Device | None = None,
) -> Field:
    """Make a field of one value; without a dtype it has that of the value."""
    dtype = _dtype_of_number(fill_value) if dtype is None else dtype
    field, _ = _allocated(domain, dtype, aligned_index, allocator, device, zeroed=False)
    _fill(field, fill_value)
    return field


@Constructor
def as_field(
    domain: DomainLike | Sequence[Dimension],
    data: Any,
    dtype: Any = None,
    *,
    origin: Mapping[Dimension, int] | None = None,
    aligned_index: Sequence[NamedIndex] | None = None,
    allocator: Any = None,
    device: Device | None = None,
) -> Field:
    """Make a field that holds a copy of `data`.

    With dimensions in place of a domain, indices start at 0, or at `-origin[dim]`. Data whose
    axes have names, as those of xarray, must have them in the order of the domain.

    >>> I = Dimension("I")
    >>> str(as_field([I], [1.0, 2.0], origin={I: 1}))
    'Field(I=(-1:1); float64)'
    """
    find_allocator(allocator, device)
    array = data if _is_on(data, device) else _array_on_cpu(data)
    box = _domain_for(domain, array, origin)
    _check_axes(box, data)
    if box.shape != array.shape:
        raise DomainError(
            f"The data must have the shape of the domain: expected {box.shape}, got {array.shape}."
        )
    dtype = array.dtype if dtype is None else dtype
    field, _ = _allocated(box, dtype, aligned_index, allocator, device, zeroed=False)
    _copy_in(field, array)
    return field


_BY_DATA: Any = object()  # stands for a skip value that is -1 where -1 occurs


@Constructor
def as_connectivity(
    domain: DomainLike | Sequence[Dimension],
    codomain: Dimension,
    data: Any,
    dtype: Any = None,
    *,
    origin: Mapping[Dimension, int] | None = None,
    aligned_index: Sequence[NamedIndex] | None = None,
    allocator: Any = None,
    device: Device | None = None,
    skip_value: int | None = _BY_DATA,
) -> Connectivity:
    """Make a neighbour table of a copy of `data`, which holds indices along `codomain`.

    Whatever integer type is given, indices are int32. A missing neighbour is -1:
    `skip_value` is -1 where that occurs in the data, unless it is given.

    >>> from fieldforge.runtime.language.dimension import DimensionKind
    >>> E, V = Dimension("E"), Dimension("V")
    >>> E2V = Dimension("E2V", kind=DimensionKind.LOCAL)
    >>> as_connectivity([E, E2V], codomain=V, data=[[0, 1], [1, -1]]).skip_value
    -1
    """
    find_allocator(allocator, device)
    array = as_indices(_array_on_cpu(data), dtype)
    box = _domain_for(domain, array, origin)
    _check_axes(box, data)
    _check_local_axes(box)
    if skip_value is _BY_DATA:
        skip_value = SKIP if (array == SKIP).any() else None
    if box.shape != array.shape:
        return Connectivity.on(array, box, codomain, skip_value)  # which says what is wrong
    made, _ = _allocated(box, np.int32, aligned_index, allocator, device, zeroed=False)
    _copy_in(made, array)
    if made.device_type == DeviceType.CPU:
        return Connectivity.on(made.ndarray, box, codomain, skip_value)
    return Connectivity.on_device(made.ndarray, Connectivity(array, box, codomain, skip_value))


def _check_local_axes(box: Domain) -> None:
    for dim, own in box:
        if dim.kind is DimensionKind.LOCAL and own and own.start != 0:
            raise DomainError(
                f"Neighbours are counted from 0: the range of '{dim.value}' is {own}."
            )


@attrs.frozen
class FieldConstructor:
    """The constructors with an allocator, alignment and device chosen once."""

    allocator: Any = None
    aligned_index: Sequence[NamedIndex] | None = None
    device: Device | None = None

    def __attrs_post_init__(self) -> None:
        find_allocator(self.allocator, self.device)

    def empty(self, domain: DomainLike, dtype: Any = np.float64) -> Field:
        """Make a field whose values may be anything."""
        return empty(domain, dtype, **self._chosen())

    def zeros(self, domain: DomainLike, dtype: Any = np.float64) -> Field:
        """Make a field of zeros."""
        return zeros(domain, dtype, **self._chosen())

    def ones(self, domain: DomainLike, dtype: Any = np.float64) -> Field:
        """Make a field of ones."""
        return ones(domain, dtype, **self._chosen())

    def full(self, domain: DomainLike, fill_value: Any, dtype: Any = None) -> Field:
        """Make a field of one value."""
        return full(domain, fill_value, dtype, **self._chosen())

    def as_field(
        self,
        domain: DomainLike | Sequence[Dimension],
        data: Any,
        dtype: Any = None,
        *,
        origin: Mapping[Dimension, int] | None = None,
    ) -> Field:
        """Make a field that holds a copy of `data`."""
        return as_field(domain, data, dtype, origin=origin, **self._chosen())

    def as_connectivity(
        self,
        domain: DomainLike | Sequence[Dimension],
        codomain: Dimension,
        data: Any,
        dtype: Any = None,
        **options: Any,
    ) -> Connectivity:
        """Make a neighbour table of a copy of `data`."""
        return as_connectivity(domain, codomain, data, dtype, **options, **self._chosen())

    def _chosen(self) -> dict[str, Any]:
        return attrs.asdict(self, recurse=False)


def as_dtype(given: Any) -> DType:
    """Return the element type that a scalar type, NumPy dtype or name stands for.

    >>> str(as_dtype(float)), str(as_dtype(np.dtype("i4"))), str(as_dtype("bool"))
    ('float64', 'int32', 'bool')
    """
    if isinstance(given, DType):
        return given
    named = {int: "int64", float: "float64", bool: "bool"}
    plain = given.name if isinstance(given, ScalarType) else given
    if isinstance(given, type):
        plain = named.get(given, given)
    try:
        dtype = np.dtype(plain)
    except TypeError:
        raise ArgumentError(f"Expected a scalar type as 'dtype', got {given!r}.") from None
    if dtype.name not in SCALARS or not dtype.isnative:
        raise ArgumentError(
            f"A field cannot hold '{dtype}'; it holds bool, int8 to uint64, float32 or float64."
        )
    return DType(dtype.type)


def _allocated(
    given: DomainLike,
    dtype: Any,
    aligned_index: Sequence[NamedIndex] | None,
    allocator: Any,
    device: Device | None,
    *,
    zeroed: bool,
) -> tuple[Field, bool]:
    box = make_domain(given)
    if not box.is_finite():
        raise DomainError(f"A field needs a finite domain, got '{box}'.")
    maker, device = find_allocator(allocator, device)
    kind = as_dtype(dtype)
    if isinstance(maker, CPUAllocator):
        array = maker.__gt_allocate__(box, kind, 0, aligned_index, zeroed=zeroed)
    else:
        zeroed = False
        made = maker.__gt_allocate__(box, kind, device.device_id, aligned_index)
        array = getattr(made, "ndarray", made)
    field = make(array, box)
    assert isinstance(field, Field)  # the domain is finite
    return field, zeroed


def _dtype_of_number(value: Any) -> DType:
    return as_dtype(
        type(value) if isinstance(value, bool | int | float) else np.asarray(value).dtype
    )


def _fill(field: Field, value: Any) -> None:
    if field.device_type == DeviceType.CPU:
        field.ndarray[...] = value
    else:
        from .device_allocator import fill

        fill(field.ndarray, value)


def _copy_in(field: Field, array: Any) -> None:
    if field.device_type == DeviceType.CPU:
        field[...] = array
    else:
        from .device_allocator import copy_in

        copy_in(field.ndarray, array)


def _is_on(data: Any, device: Device | None) -> bool:
    """Tell whether data lies on the device, not the CPU, that a field is to be made on."""
    if device is None or device[0] == DeviceType.CPU or not hasattr(data, "shape"):
        return False
    return hasattr(data, "__dlpack_device__") and data.__dlpack_device__()[0] == device[0]


def _array_on_cpu(data: Any) -> np.ndarray[Any, Any]:
    place = data.__dlpack_device__()[0] if hasattr(data, "__dlpack_device__") else 1
    if place != 1:
        raise DeviceError(
            "The data lies on a device that this version has no fields for.",
            hints=["Copy it to the CPU first, for instance with 'data.get()'."],
        )
    return np.asarray(data)


def _check_axes(box: Domain, data: Any) -> None:
    """Refuse data that names its axes otherwise than the domain does."""
    named = getattr(data, "dims", None)
    if not isinstance(named, tuple) or not all(isinstance(name, str) for name in named):
        return
    wanted = tuple(dim.value for dim in box.dims)
    if named == wanted:
        return
    order = ", ".join(map(repr, wanted))
    same = sorted(named) == sorted(wanted)
    raise DomainError(
        f"The axes of the data are named {', '.join(map(repr, named)) or 'nothing'}, expected "
        f"{order}.",
        hints=[
            f"Write 'data.transpose({order})'."
            if same
            else "Rename them, or give the plain array: 'data.values'."
        ],
    )


def _domain_for(
    given: DomainLike | Sequence[Dimension],
    array: np.ndarray[Any, Any],
    origin: Mapping[Dimension, int] | None,
) -> Domain:
    dims: Any = (given,) if isinstance(given, Dimension) else given
    names_only = not isinstance(dims, Domain | Mapping) and all(
        isinstance(dim, Dimension) for dim in dims
    )
    if not names_only:
        if origin is not None:
            raise DomainError("Expected either a domain or 'origin' with dimensions, got both.")
        return make_domain(dims)
    if len(dims) != array.ndim:
        raise DomainError(
            f"The data must have one axis for each dimension: expected {len(dims)}, "
            f"got {array.ndim}."
        )
    for dim in origin or {}:
        if dim not in dims:
            names = ", ".join(f"'{each.value}'" for each in dims) or "no dimension"
            raise DomainError(
                f"'origin' names dimension '{getattr(dim, 'value', dim)}', but the field has "
                f"{names}."
            )
    starts = [-(origin or {}).get(dim, 0) for dim in dims]
    return Domain(*((d, (s, s + n)) for d, s, n in zip(dims, starts, array.shape, strict=True)))
