"""Exchange the halos of meshes by GHEX, and by MPI what GHEX's bindings cannot take.

GHEX takes floats and integers of 32 and 64 bits on one dimension of the mesh and at most one other.
"""

from __future__ import annotations

import importlib.util
from typing import Any, Final

import numpy as np

from ..language import Dimension
from ..process import ArgumentError, classes
from .exchange import Exchange
from .mpi_exchange import MpiExchange
from .pattern import LocalMesh, Pattern, check_size, points_first

DTYPES: Final = ("float32", "float64", "int32", "int64")


def has_ghex() -> bool:
    """Tell whether GHEX is installed."""
    return importlib.util.find_spec("ghex") is not None


@classes.frozen(eq=False)
class _Route:
    """The fields that GHEX exchanges, by dtype and as it wants them, and those that MPI does."""

    fields: tuple[Any, ...]
    by_ghex: dict[str, list[Any]]
    by_mpi: tuple[Any, ...]


class GhexExchange(Exchange[_Route]):
    """Fill the halos of fields on a mesh, as `MpiExchange` does.

    Args:
        comm: a communicator of mpi4py.
        part: what this rank has of the mesh; each rank must own points of each dimension.

    Raises:
        ArgumentError: GHEX is not installed.

    """

    def __init__(self, comm: Any, part: LocalMesh) -> None:
        if not has_ghex():
            raise ArgumentError("GHEX is not installed.", hint="Install the extra 'ghex'.")
        from ghex import unstructured
        from ghex.context import make_context

        super().__init__()
        self._ghex = unstructured
        self._mpi = MpiExchange(comm, part.patterns)
        self._patterns = {pattern.dims[0]: pattern for pattern in part.patterns}
        self._context = make_context(comm, True)
        self._handles: list[Any] = []
        self._domains: dict[Dimension, Any] = {}
        self._plans: dict[Dimension, Any] = {}
        for dim, points in part.points.items():
            ids = points.global_ids
            halo = np.arange(points.owned, len(ids))
            domain = unstructured.DomainDescriptor(comm.rank, ids.tolist(), halo.tolist())
            wanted = unstructured.HaloGenerator.from_gids(ids[points.owned :].tolist())
            self._domains[dim] = domain
            self._plans[dim] = unstructured.make_pattern(self._context, wanted, [domain])
        # one of GHEX's exchanges takes fields of one dtype
        self._objects = {
            name: unstructured.make_communication_object(self._context) for name in DTYPES
        }

    def close(self) -> None:
        """Give back what MPI holds for the fields that GHEX did not take; all ranks call it."""
        super().close()
        self._mpi.close()

    def owned(self, field: Any) -> dict[Dimension, tuple[int, int]]:
        """Return the ranges of the points of a field that this rank owns."""
        return self._mpi.owned(field)

    def _begin(self, route: _Route, untouched: bool) -> None:
        self._handles = [self._objects[name].exchange(each) for name, each in route.by_ghex.items()]
        if route.by_mpi:
            self._mpi.start(*route.by_mpi, untouched=untouched)

    def _end(self, route: _Route) -> None:
        for handle in self._handles:
            handle.wait()
        if route.by_mpi:
            self._mpi.finish()

    def _route(self, fields: tuple[Any, ...]) -> _Route:
        by_ghex: dict[str, list[Any]] = {}
        by_mpi = []
        for field in fields:
            pattern = self._pattern(field)
            if pattern is None:
                by_mpi.append(field)
                continue
            check_size(field, pattern)
            (dim,) = pattern.dims
            view = points_first(field, pattern)
            described = self._ghex.make_field_descriptor(self._domains[dim], view)
            by_ghex.setdefault(view.dtype.name, []).append(self._plans[dim](described))
        return _Route(fields, by_ghex, tuple(by_mpi))

    def _pattern(self, field: Any) -> Pattern | None:
        """Return the pattern by which GHEX can exchange a field, None if it cannot."""
        array = getattr(field, "ndarray", None)
        if not isinstance(array, np.ndarray) or array.dtype.name not in DTYPES or array.ndim > 2:
            return None
        fitting = [self._patterns[dim] for dim in field.domain.dims if dim in self._patterns]
        is_dense = array.itemsize in array.strides
        return fitting[0] if len(fitting) == 1 and is_dense else None
