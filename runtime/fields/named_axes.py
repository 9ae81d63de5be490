"""Arrays with named axes, as xarray has them: what a call takes of them, and fields as such arrays.

An axis stands for the dimension of its name; a staggered dimension `I` is the axis `I_staggered`.
The indices of a field are integer coordinates of the axes; those of staggered axes lie half a
cell below, as the attribute `c_grid_axis_shift` says. Without them indices begin at 0, or at the
attribute `start_index` of another coordinate. Integers that do not rise by 1 are refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from ..language import Dimension, DimensionKind, axis_name, flip_staggered, is_staggered
from ..language.dimension import SUFFIX
from ..process import ArgumentError, DomainError, MissingPackageError

Array: TypeAlias = np.ndarray[Any, Any]
START: Final = "start_index"
KIND: Final = "dimension_kind"
SHIFT: Final = "c_grid_axis_shift"
_HALF: Final = 0.5


def in_order(array: Any, dims: tuple[Dimension, ...]) -> tuple[Array, tuple[int, ...]] | None:
    """Return the memory of an array with its axes in the order of `dims`, and the first indices.

    None if it has other axes, or no memory on the host. Nothing is copied.
    """
    named, data = getattr(array, "dims", None), getattr(array, "data", None)
    names = tuple(map(axis_name, dims))
    if not isinstance(named, tuple) or not isinstance(data, np.ndarray):
        return None
    if sorted(map(str, named)) != sorted(names):
        return None
    starts = tuple(_start(array, name, dim) for name, dim in zip(names, dims, strict=True))
    return data.transpose([named.index(name) for name in names]), starts


def to_named(
    field: Any,
    name: str | None,
    coords: Mapping[Any, Any],
    units: str | None,
    attrs: Mapping[str, Any],
) -> Any:
    """Return a field as a `xarray.DataArray`; on the host the two share their memory."""
    xarray = xarray_module()
    given = {axis_name(k) if isinstance(k, Dimension) else str(k): v for k, v in coords.items()}
    names = [axis_name(dim) for dim in field.dims]
    found = {
        name: given.pop(name, None)
        for name in names
    }  # fmt: skip
    made = {
        name: _coordinate(xarray, name, dim, start, size, found[name])
        for name, dim, start, size in zip(names, field.dims, field.starts, field.shape, strict=True)
    }
    more = {**attrs, **({} if units is None else {"units": units})}
    return xarray.DataArray(field.asnumpy(), {**made, **given}, names, name, more)


def parts_of(array: Any, dims: Iterable[Dimension]) -> tuple[Any, list[Any], Array]:
    """Return dimensions, ranges and values of a `DataArray`.

    `dims` are dimensions to use by name; the others are made, with the kind that the coordinate
    says.
    """
    named = getattr(array, "dims", None)
    if not isinstance(named, tuple):
        raise ArgumentError(
            f"Expected an 'xarray.DataArray', got '{type(array).__name__}'.",
            hint="Take one variable of a dataset: 'dataset[\"u\"]'.",
        )
    known = {axis_name(dim): dim for dim in dims}
    for name in known:
        if name not in named:
            raise DomainError(
                f"The array has no axis '{name}'; it has {', '.join(map(repr, named)) or 'none'}."
            )
    made = [known.get(name) or _dimension(array, str(name)) for name in named]
    starts = [_start(array, str(name), dim) for name, dim in zip(named, made, strict=True)]
    values = np.asarray(array.values)
    return made, starts, values


def _coordinate(xarray: Any, name: str, dim: Dimension, start: int, size: int, given: Any) -> Any:
    about: dict[str, Any] = {KIND: str(dim.kind)}
    if dim.kind is DimensionKind.VERTICAL:
        about["axis"] = "Z"
    if is_staggered(dim):
        about[SHIFT] = -_HALF
    if given is not None:
        return xarray.Variable(name, np.asarray(given), {**about, START: int(start)})
    indices: Array = np.arange(start, start + size)
    return xarray.Variable(name, indices - _HALF if is_staggered(dim) else indices, about)


def _start(array: Any, name: str, dim: Dimension) -> int:
    """Return the first index along an axis; refuse integers that are no indices."""
    coords = getattr(array, "coords", {})
    if name not in coords:
        return 0
    coordinate = coords[name]
    if START in coordinate.attrs:
        return int(coordinate.attrs[START])
    values = np.asarray(coordinate.values)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "iuf":
        return 0
    if values.dtype.kind == "f" and SHIFT not in coordinate.attrs:
        return 0  # places in the world
    indices = values + _HALF if is_staggered(dim) else values
    # both: differences of short integers wrap
    is_next = (indices[1:] > indices[:-1]) & (np.diff(indices) == 1)
    if is_next.all() and indices[0] == np.floor(indices[0]):
        return int(indices[0])
    if values.dtype.kind == "f":
        return 0
    at = int(is_next.argmin()) if len(is_next) else 0
    shown = " and then ".join(map(str, values[at : at + 2].tolist()))
    rule = "lie at halves" if is_staggered(dim) else "rise by 1"
    raise DomainError(
        f"Coordinate '{name}' holds {shown}, which are no indices of '{dim.value}': those {rule}.",
        hint=f"Without it indices begin at 0: 'array.drop_vars(\"{name}\")'.",
    )


def _dimension(array: Any, name: str) -> Dimension:
    about = array.coords[name].attrs if name in array.coords else {}
    kind = about.get(KIND) or ("vertical" if about.get("axis") == "Z" else "horizontal")
    dim = Dimension(name.removesuffix(SUFFIX), DimensionKind(kind))
    return flip_staggered(dim) if name.endswith(SUFFIX) else dim


def xarray_module() -> Any:
    """Return the package xarray."""
    try:
        import xarray
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "Package 'xarray' is not installed.", hint="pip install 'fieldforge[xarray]'"
        ) from error
    return xarray
