"""Make fields: `empty`, `zeros`, `ones`, `full`; `as_field` and `as_connectivity` from data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from ..language import Dimension, DimensionKind, Domain, DomainLike, NamedIndex, dtype_of_number
from ..process import Device, DeviceType, DomainError
from .allocation import allocated, copy_in, fill, finite
from .allocators.standard import find_allocator
from .field import Field
from .given_data import array_for, device_of, is_function, placed, ranges_in, values_at
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

        It refuses an allocator or device that does not exist.
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
    """Make a field whose values may be anything; the arguments are those of `zeros`.

    >>> empty({Dimension("I"): 3}, dtype="int32").shape
    (3,)
    """
    return allocated(domain, dtype, aligned_index, allocator, device, zeroed=False)[0]


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

    Args:
        domain: a range for each dimension: a length, a pair of start and stop, or a `range`.
        dtype: the type of the elements.
        aligned_index: indices, one for each of some dimensions, whose element begins a cache line.
        allocator: what allocates the memory: a backend, or an allocator of `allocators`.
        device: where it lies; the CPU by default, or the device of the allocator.

    Raises:
        DomainError: for a domain without an end.

    >>> I = Dimension("I")
    >>> zeros({I: (2, 5)}, dtype=np.float32).asnumpy()
    array([0., 0., 0.], dtype=float32)
    """
    field, is_zero = allocated(domain, dtype, aligned_index, allocator, device, zeroed=True)
    if not is_zero:
        fill(field, 0)
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
    """Make a field of ones; the arguments are those of `zeros`.

    >>> ones({Dimension("I"): 2}).asnumpy()
    array([1., 1.])
    """
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
    """Make a field of one value; without a dtype it has that of the value.

    The other arguments are those of `zeros`.

    >>> full({Dimension("I"): (1, 3)}, 7)
    Field(I=(1:3); int64)
    """
    dtype = dtype_of_number(fill_value) if dtype is None else dtype
    field, _ = allocated(domain, dtype, aligned_index, allocator, device, zeroed=False)
    fill(field, fill_value)
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

    Without an allocator and a device it lies where the data lies, on the GPU of an array of CuPy
    for instance. With dimensions in place of a domain, indices start at 0, or at `-origin[dim]`.
    Data whose axes have names, as those of xarray, must have them in the order of the domain.
    Fields, and arrays of others with `__gt_dims__` or `__gt_origin__`, are transposed to the
    order of the dimensions and keep their indices, unless a domain gives others. A function is
    called once, with an array of indices for each dimension; these arrays broadcast against each
    other.

    Args:
        domain: a range for each dimension, or the dimensions in the order of the axes.
        data: an array, nested lists, a field, or what gives DLPack. On a domain with ranges also a
            number, a function of indices, or None for values that may be anything.
        dtype: the type of the elements; that of the data by default.
        origin: the position in the data of index 0, for dimensions in place of a domain; that of
            the data by default.
        aligned_index: indices, one for each of some dimensions, whose element begins a cache line.
        allocator: what allocates the memory: a backend, or an allocator of `allocators`.
        device: where it lies; the CPU by default, or the device of the allocator.

    Raises:
        DomainError: if the data have another shape than the domain.

    >>> I = Dimension("I")
    >>> str(as_field([I], [1.0, 2.0], origin={I: 1}))
    'Field(I=(-1:1); float64)'
    >>> as_field({I: (2, 5)}, lambda i: i / 2).asnumpy()
    array([1. , 1.5, 2. ])
    """
    memory = {"aligned_index": aligned_index, "allocator": allocator, "device": device}
    if (ranges := ranges_in(domain)) is not None:
        if data is None:
            return empty(ranges, np.float64 if dtype is None else dtype, **memory)
        if isinstance(data, bool | int | float | np.generic):
            return full(ranges, data, dtype, **memory)
        if is_function(data):
            data = values_at(data, finite(ranges))
    if allocator is None and device is None:
        device = device_of(data)
    _, place = find_allocator(allocator, device)
    array, box = placed(domain, data, array_for(data, place), origin)
    if box.shape != array.shape:
        raise DomainError(
            f"The data must have the shape of the domain: expected {box.shape}, got {array.shape}."
        )
    dtype = array.dtype if dtype is None else dtype
    field, _ = allocated(box, dtype, aligned_index, allocator, device, zeroed=False)
    copy_in(field, array)
    return field


_BY_DATA: Any = object()  # the default skip value: -1 if -1 occurs in the data


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

    Indices become int32. A missing neighbour is -1:
    `skip_value` is -1 where that occurs in the data, unless it is given.

    Args:
        domain: the dimension of the rows and the local dimension, or a domain of both.
        codomain: the dimension that the indices count along.
        data: integers: a row for each point, a column for each neighbour; masked ones are missing.
        dtype: must be int32 if it is given.
        origin: as for `as_field`.
        aligned_index: as for `zeros`.
        allocator: as for `zeros`.
        device: as for `zeros`.
        skip_value: -1 if neighbours may be missing, None if none is; another mark of a file
            becomes -1 before, as in `np.where(table == 9999, -1, table)`.

    Raises:
        DomainError: if the data have another shape than the domain.

    >>> from fieldforge.runtime.language.dimension import DimensionKind
    >>> E, V = Dimension("E"), Dimension("V")
    >>> E2V = Dimension("E2V", kind=DimensionKind.LOCAL)
    >>> as_connectivity([E, E2V], codomain=V, data=[[0, 1], [1, -1]]).skip_value
    -1
    """
    if allocator is None and device is None:
        device = device_of(data)
    find_allocator(allocator, device)
    array, box = placed(domain, data, as_indices(data, dtype), origin)
    _check_local_axes(box)
    if skip_value is _BY_DATA:
        skip_value = SKIP if (array == SKIP).any() else None
    if box.shape != array.shape:
        return Connectivity.on(array, box, codomain, skip_value)  # raises the error
    made, _ = allocated(box, np.int32, aligned_index, allocator, device, zeroed=False)
    copy_in(made, array)
    if made.device_type == DeviceType.CPU:
        return Connectivity.on(made.ndarray, box, codomain, skip_value)
    return Connectivity.on_device(made.ndarray, Connectivity(array, box, codomain, skip_value))


def _check_local_axes(box: Domain) -> None:
    for dim, own in box:
        if dim.kind is DimensionKind.LOCAL and own and own.start != 0:
            raise DomainError(
                f"Neighbours are counted from 0: the range of '{dim.value}' is {own}."
            )


def from_xarray(
    array: Any,
    *dims: Dimension,
    dtype: Any = None,
    allocator: Any = None,
    device: Device | None = None,
) -> Field:
    """Make a field that holds a copy of a `xarray.DataArray`, as `Field.to_xarray` makes them.

    An axis becomes the dimension of its name. Indices are those of an integer coordinate, and begin
    at 0 without one. The axes of the field are in the order of the array.

    Args:
        array: one variable of a dataset.
        dims: dimensions to use, by name; others are made: vertical where the coordinate has the
            attribute `axis="Z"`, staggered where the name ends in `_staggered`.
        dtype: another type of the elements.
        allocator: what allocates the memory, a backend for instance.
        device: where it lies.

    Raises:
        ArgumentError: for anything but a `DataArray`.
        DomainError: if the array has no axis of the name of one of `dims`.

    """
    from .named_axes import parts_of

    made, starts, values = parts_of(array, dims)
    ends = ((start, start + size) for start, size in zip(starts, values.shape, strict=True))
    box = Domain(*zip(made, ends, strict=True))
    return as_field(box, values, dtype, allocator=allocator, device=device)
