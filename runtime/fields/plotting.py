"""Draw a field with matplotlib: a line, coloured cells, or the triangles of a mesh."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from ..language import Dimension, DimensionKind, axis_name, is_staggered
from ..process import DomainError, MissingPackageError

Array: TypeAlias = np.ndarray[Any, Any]
_LEFT: Final[Mapping[bool, float]] = {False: 0.0, True: 0.5}  # staggered cells lie half below


def draw(
    field: Any,
    at: Mapping[Any, int],
    ax: Any = None,
    *,
    mesh: tuple[Any, Any, Any] | None = None,
    title: str | None = None,
    units: str | None = None,
    **options: Any,
) -> Any:
    """Draw a field on axes and return them."""
    flat, places = _cut(field, at, 1 if mesh is not None else 2)
    axes = _new_axes() if ax is None else ax
    drawn: Any = None
    if mesh is not None:
        drawn = _on_triangles(axes, flat, mesh, options)
    elif flat.ndim == 1:
        _on_line(axes, flat, units or "", options)
    else:
        drawn = _on_cells(axes, flat, options)
    if drawn is not None:
        axes.figure.colorbar(drawn, ax=axes, label=units or "")
    shown = ", ".join(f"{axis_name(dim)} = {index}" for dim, index in places)
    axes.set_title(", ".join(part for part in (title, shown) if part))
    return axes


def edges(field: Any, axis: int) -> Array:
    """Return where the cells along an axis begin and end, in indices; a middle lies on its index.

    >>> from .constructors import zeros
    >>> from ..language.dimension import flip_staggered
    >>> I = Dimension("I")
    >>> edges(zeros({I: 2}), 0), edges(zeros({flip_staggered(I): 3}), 0)
    (array([-0.5,  0.5,  1.5]), array([-1.,  0.,  1.,  2.]))
    """
    start, size = field.starts[axis], field.shape[axis]
    return np.asarray(
        np.arange(start, start + size + 1) - 0.5 - _LEFT[is_staggered(field.dims[axis])]
    )


def _cut(field: Any, at: Mapping[Any, int], most: int) -> tuple[Any, list[tuple[Dimension, int]]]:
    """Restrict a field to the dimensions that are drawn."""
    by_name = {
        (axis_name(dim) if isinstance(dim, Dimension) else str(dim)): index
        for dim, index in at.items()
    }
    for name in by_name:
        if name not in map(axis_name, field.dims):
            raise DomainError(f"The field has no dimension '{name}' to choose an index of.")
    places = []
    for dim, start in zip(field.dims, field.starts, strict=True):
        extra = field.ndim - len(at) > most and dim.kind is DimensionKind.VERTICAL
        if axis_name(dim) in by_name or extra:
            places.append((dim, by_name.get(axis_name(dim), start)))
    flat = field
    for dim, index in places:
        flat = flat[dim(index)]
    if not 0 < flat.ndim <= most:
        names = ", ".join(map(axis_name, flat.dims)) or "none"
        raise DomainError(
            f"A picture has {'one dimension' if most == 1 else 'one or two dimensions'}, the "
            f"field has {flat.ndim} left ({names}).",
            hint="Choose an index along the others: 'field.plot(at={K: 0})'.",
        )
    return flat, places


def _on_line(axes: Any, field: Any, units: str, options: dict[str, Any]) -> None:
    """Draw a line; that of a column is a profile, with the levels upward."""
    places, values, name = (edges(field, 0)[:-1] + 0.5), field.asnumpy(), axis_name(field.dims[0])
    if field.dims[0].kind is DimensionKind.VERTICAL:
        axes.plot(values, places, **options)
        name, units = units, name
    else:
        axes.plot(places, values, **options)
    axes.set_xlabel(name)
    axes.set_ylabel(units)


def _on_cells(axes: Any, field: Any, options: dict[str, Any]) -> Any:
    """Draw cells; a vertical dimension is upright."""
    upright = field.dims[0].kind is DimensionKind.VERTICAL
    across, along = (1, 0) if upright else (0, 1)
    values = field.asnumpy()
    axes.set_xlabel(axis_name(field.dims[across]))
    axes.set_ylabel(axis_name(field.dims[along]))
    return axes.pcolormesh(
        edges(field, across), edges(field, along), values if upright else values.T, **options
    )


def _on_triangles(axes: Any, field: Any, mesh: Any, options: dict[str, Any]) -> Any:
    parts = mesh.triangles() if hasattr(mesh, "triangles") else mesh
    x, y, triangles = (np.asarray(part) for part in parts)
    values = field.asnumpy()
    if len(values) not in (len(x), len(triangles)):
        raise DomainError(
            f"The field has {len(values)} values, the mesh {len(x)} points and "
            f"{len(triangles)} triangles.",
        )
    axes.set_aspect("equal")
    if len(values) == len(triangles):
        return axes.tripcolor(x, y, triangles, facecolors=values, **options)
    return axes.tripcolor(x, y, triangles, values, **{"shading": "gouraud", **options})


def _new_axes() -> Any:
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise MissingPackageError(
            "Package 'matplotlib' is not installed.", hint="pip install 'fieldforge[demo]'"
        ) from error
    return pyplot.subplots(layout="constrained")[1]
