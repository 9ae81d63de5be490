"""What the model needs on one rank: its part of the grid, and the values on it.

One process may make the inputs of all ranks and send them: they hold nothing of the whole grid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime.decomposition.pattern import LocalMesh

from ..icosahedral import Table
from ..mesh_geometry import Numbers
from ..mesh_rows import in_rows
from .cases import State
from .grid import C2EDim, Cell, E2E2CDim, Edge, Grid, V2CDim, V2EDim, Vertex


@attrs.frozen(kw_only=True, eq=False)
class Inputs:
    """A state and constant coefficients on the local points of one rank.

    `h` and `ground` are (cells,), `u` is (edges,); `constants` are arguments of the programs by
    name: their dimensions and their values.
    """

    part: LocalMesh
    h: Numbers
    u: Numbers
    constants: Mapping[str, tuple[tuple[ff.Dimension, ...], Numbers]]


def inputs_of(grid: Grid, start: State, parts: Iterable[LocalMesh]) -> Iterator[Inputs]:
    """Yield the inputs of ranks.

    Args:
        grid: the whole sphere.
        start: the initial state on it.
        parts: what each of the ranks has of it.
    """
    whole = coefficients(grid) | {
        "coriolis": ((Vertex,), start.coriolis),
        "ground": ((Cell,), start.ground),
    }
    for part in parts:
        yield Inputs(
            part=part,
            h=part.localised(start.h, Cell),
            u=part.localised(start.u, Edge),
            constants={
                name: (dims, part.localised(array, dims[0]))
                for name, (dims, array) in whole.items()
            },
        )


def coefficients(grid: Grid) -> dict[str, tuple[tuple[ff.Dimension, ...], Numbers]]:
    """Return the constant arguments of the programs on the whole grid: dimensions and array."""
    lengths, distances = grid.edge_lengths, grid.cell_distances

    def curl(sign: Numbers, edges: Table, area: Numbers) -> Numbers:
        return np.asarray(sign * distances[edges] / area[:, None])

    def kinetic(edges: Table, area: Numbers) -> Numbers:
        return (edges >= 0) * lengths[edges] * distances[edges] / (4 * area[:, None])

    def divergence(sign: Numbers, edges: Table, area: Numbers) -> Numbers:
        return np.asarray(sign * lengths[edges] / area[:, None])

    def tangential(weights: Numbers, edges: Table, distance: Numbers) -> Numbers:
        return np.asarray(weights * lengths[edges] / distance[:, None])

    c2e, v2e, e2e = (grid.tables[name] for name in ("C2E", "V2E", "E2E2C"))
    cells, triangles = grid.cell_areas, grid.vertex_areas
    return {
        "curl": ((Vertex, V2EDim), in_rows(curl, grid.around_vertex, v2e, triangles)),
        "share": ((Vertex, V2CDim), grid.kites / triangles[:, None]),
        "kinetic": ((Cell, C2EDim), in_rows(kinetic, c2e, cells)),
        "divergence": ((Cell, C2EDim), in_rows(divergence, grid.out_of_cell, c2e, cells)),
        "tangential": ((Edge, E2E2CDim), in_rows(tangential, grid.weights, e2e, distances)),
        "per_distance": ((Edge,), 1 / distances),
    }
