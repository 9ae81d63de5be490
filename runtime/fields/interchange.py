"""The protocols by which other libraries read a field: DLPack, `__array__` and `__gt_...__`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..language import Domain


class BufferInfo(NamedTuple):
    """The memory of a field: address, shape, strides in bytes, device as DLPack numbers it."""

    pointer: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: tuple[int, int]


class Interchange:
    """The attributes of fields that other libraries read; `Field` inherits them."""

    __slots__ = ()
    domain: Any
    dims: Any
    dtype: Any
    ndarray: Any
    starts: Any
    shape: Any
    strides: Any
    pointer: Any
    device_type: int
    device_id: int

    def asnumpy(self) -> np.ndarray[Any, Any]:
        """Return the values as a NumPy array."""
        raise NotImplementedError

    @property
    def __gt_domain__(self) -> Domain:
        """The domain, under the name that other tools look for."""
        domain: Domain = self.domain
        return domain

    @property
    def __gt_dims__(self) -> tuple[str, ...]:
        """The names of the dimensions."""
        return tuple(dim.value for dim in self.dims)

    @property
    def __gt_origin__(self) -> tuple[int, ...]:
        """Where index 0 of the domain lies in the array."""
        return tuple(-start for start in self.starts)

    @property
    def __gt_buffer_info__(self) -> BufferInfo:
        """Address, shape, strides and device of the memory."""
        device = (self.device_type, self.device_id)
        return BufferInfo(self.pointer, self.shape, self.strides, device)

    def to_xarray(
        self,
        name: str | None = None,
        *,
        coords: Mapping[Any, Any] | None = None,
        units: str | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the field as a `xarray.DataArray`; on the host the two share their memory.

        Each dimension becomes an axis of its name with the indices as coordinates; a staggered
        dimension `I` becomes `I_staggered`, whose coordinates lie half a cell below. `from_xarray`
        reads all of it back. Datasets made of such arrays go to NetCDF and zarr.

        Args:
            name: the name of the array.
            coords: other coordinates, by dimension, or any that xarray takes, by name.
            units: the units, as the attribute of that name.
            attrs: other attributes.

        Raises:
            MissingPackageError: if xarray is not installed.

        """
        from .named_axes import to_named

        return to_named(self, name, coords or {}, units, attrs or {})

    def plot(self, *, at: Mapping[Any, int] | None = None, ax: Any = None, **options: Any) -> Any:
        """Draw the field with matplotlib and return the axes.

        A line for one dimension, coloured cells for two, triangles on a mesh. Indices of cells lie
        in their middle, those of staggered dimensions half a cell below.

        Args:
            at: the index along each dimension that is not drawn; vertical ones are at their first
                index by default.
            ax: the axes to draw on; new ones by default.
            options: `mesh=` for a field on the points or the triangles of a mesh: a `Mesh`, or
                `(x, y, triangles)`, coordinates of the points, and three points for each triangle.
                `title`, `units`.
                All others go to `plot`, `pcolormesh` or `tripcolor` of matplotlib.

        Raises:
            DomainError: if more than two dimensions are left, or the mesh has another size.
            MissingPackageError: if matplotlib is not installed.

        """
        from .plotting import draw

        return draw(self, at or {}, ax, **options)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.asnumpy()
        if copy is False and dtype is not None and array.dtype != dtype:
            raise ValueError(f"A field of '{self.dtype}' cannot be '{dtype}' without a copy.")
        return np.array(array, dtype) if copy else array.astype(dtype or array.dtype, copy=False)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        options = {
            "stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy
        }  # fmt: skip
        # Arrays before DLPack 1 take 'stream' only.
        given = {name: value for name, value in options.items() if value is not None}
        return (_compact(self.ndarray) if _jax_asks() else self.ndarray).__dlpack__(**given)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device_type, self.device_id


def _jax_asks() -> bool:
    """Tell whether `__dlpack__` is called by JAX, which takes no padded rows and does not say so.

    Its arrays never change, so that a copy does for it what a view does.
    """
    caller = sys._getframe(2).f_globals.get("__name__", "")
    return str(caller).partition(".")[0] == "jax"


def _compact(array: Any) -> Any:
    """Return an array without padding that may be written: itself, or a copy."""
    if isinstance(array, np.ndarray) and not array.flags.writeable:
        return array.copy()
    is_dense = array.flags.forc if hasattr(array, "flags") else array.is_dense
    return array if is_dense else array.copy()
