"""The arguments of large drawn programs: fields of a size that is asked for, and meshes."""

import functools
import inspect
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from tests.placing import placed_tables

import fieldforge as ff
from fieldforge.examples import icosahedral

from .large import HALO, TABLES, LargeCase

MOST_CELLS: Final = 400_000
I, J, K = ff.Dimension("I"), ff.Dimension("J"), icosahedral.K
PLACES: Final = ("Edge", "Cell", "Vertex")


def arguments_of(case: LargeCase, points: int, backend: Any) -> dict[str, Any]:
    """Return the arguments of a call with about so many points, the offset provider among them."""
    numbers = np.random.default_rng(case.seed)
    mesh = mesh_of(case, points) if case.is_mesh else None
    made: dict[str, Any] = {}
    for name, place in case.fields.items():
        ranges = ranges_of(case, points, place, is_output=False)
        shape = [stop - start for start, stop in ranges.values()]
        data = numbers.random(shape, np.float32).astype(case.dtype) + 0.5
        made[name] = ff.as_field(_domain(ranges), data, allocator=backend)
    for name, place in case.outputs.items():
        ranges = ranges_of(case, points, place, is_output=True)
        made[name] = ff.zeros(_domain(ranges), np.dtype(case.dtype), allocator=backend)
    if mesh is not None:
        tables = {n: each for n, each in mesh.connectivities().items() if n in TABLES.values()}
        made["offset_provider"] = placed_tables(tables, backend)
    return made


def arguments_of_adjoint(step_b: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an adjoint, from those of its program: adjoints are random numbers.

    Each lies where the field does whose adjoint it is.
    """
    numbers = np.random.default_rng(1)
    made = {name: each for name, each in given.items() if name == "offset_provider"}
    for name in inspect.signature(step_b.__definition__.function).parameters:
        own = made[name] = given[name.removesuffix("_b")]
        if name.endswith("_b"):
            data = numbers.normal(size=own.shape).astype(own.dtype.scalar_type)
            made[name] = ff.as_field(own.domain, data)
    return made


def ranges_of(
    case: LargeCase, points: int, place: str, *, is_output: bool
) -> dict[str, tuple[int, int]]:
    """Return the range of a field along each dimension."""
    levels = (case.first if is_output else 0, case.levels + (0 if is_output else 1))
    if case.is_mesh:
        mesh = mesh_of(case, points)
        count = {"Cell": mesh.cells, "Edge": mesh.edges, "Vertex": mesh.vertices}[place]
        return {place: (0, count)} | ({"K": levels} if case.levels > 1 else {})
    across = max(8, int((points / max(case.levels, 1)) ** 0.5) // 8 * 8) + case.shift
    rim = 0 if is_output else HALO
    ranges = {"I": (-rim, across + rim), "J": (-rim, across + rim)}
    return ranges | ({"K": levels} if "K" in case.dims else {})


def mesh_of(case: LargeCase, points: int) -> icosahedral.Mesh:
    """Return the mesh of a case: R2B1 or finer, but none that takes long to make."""
    cells = min(points / 1.5 / max(case.levels, 1), MOST_CELLS)
    sizes = [(root, b) for b in range(1, 9) for root in (2, 3)]
    root, bisections = min(sizes, key=lambda s: abs(20 * (s[0] * 2 ** s[1]) ** 2 - cells))
    return _mesh(root, bisections, case.order)


@functools.lru_cache(4)
def _mesh(root: int, bisections: int, order: icosahedral.Order) -> icosahedral.Mesh:
    return icosahedral.icosahedral(root, bisections, order)


def _domain(ranges: Mapping[str, tuple[int, int]]) -> Any:
    known = {"I": I, "J": J, "K": K} | {name: getattr(icosahedral, name) for name in PLACES}
    return ff.domain({known[name]: each for name, each in ranges.items()})
