"""What the nests of a patch share: one loop for two nests, values of neighbours handed on."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import neighbor_sum, sqrt
from fieldforge.examples.icosahedral import (
    C2E,
    E2C,
    E2V,
    V2E,
    C2EDim,
    Cell,
    E2CDim,
    Edge,
    K,
    V2EDim,
    Vertex,
    icosahedral,
)
from fieldforge.stages.codegen.gpu.options import GPU_PASSES
from fieldforge.stages.codegen.pass_list import without
from fieldforge.stages.ir.loops.gpu import Patches
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nodes_of
from fieldforge.workflows.backends.backend import BACKENDS

from ....selection import not_optimised
from ..mesh_programs import NEEDED, CellField, EdgeField, OfCellEdges, OfVertexEdges, tables

HOST = BACKENDS["gpu-host"].with_options(effort=0)  # the arrays of the rules
LEVELS = 8
MESH = icosahedral(5, 0)
TABLES = {name: table for name, table in MESH.connectivities().items() if name in NEEDED}
ARRAY, HANDED = "@13", ("@15", "@16")  # of the energy; the two values of a neighbour
OfEdgeCells = ff.Field[ff.Dims[Edge, E2CDim], ff.float64]
OfCells = ff.Field[ff.Dims[Cell], ff.float64]


@ff.field_operator
def on_both(
    vn: EdgeField,
    vt: EdgeField,
    w: CellField,
    depth: OfCells,
    weights: OfCellEdges,
    linear: OfEdgeCells,
    turn: OfVertexEdges,
) -> tuple[EdgeField, CellField]:
    squares = vn * vn + vt * vt
    energy = neighbor_sum(squares(C2E) * weights, axis=C2EDim)
    lift = (w - 0.5 * w(K + 1)) * depth
    ratio = w / w(K + 1)
    climb = neighbor_sum(energy(E2C) * linear, axis=E2CDim) + lift(E2C[1]) * vn - lift(E2C[0])
    climb = climb * (ratio(E2C[0]) - ratio(E2C[1]))
    zeta = neighbor_sum(vn(V2E) * turn, axis=V2EDim)
    product = vn * vt + (zeta(E2V[1]) - zeta(E2V[0])) * vn
    return climb, neighbor_sum(product(C2E) * weights, axis=C2EDim) + lift


@ff.program
def both(
    vn: EdgeField, vt: EdgeField, w: CellField, depth: OfCells, weights: OfCellEdges,
    linear: OfEdgeCells, turn: OfVertexEdges, climb: EdgeField, drift: CellField,
    edges: ff.int32, cells: ff.int32,
):  # fmt: skip
    on_both(
        vn, vt, w, depth, weights, linear, turn, out=(climb, drift),
        domain=({Edge: (0, edges), K: (0, LEVELS)}, {Cell: (0, cells), K: (0, LEVELS)}),
    )  # fmt: skip


@ff.field_operator
def on_edges_too(
    vn: EdgeField, vt: EdgeField, weights: OfCellEdges, linear: OfEdgeCells, turn: OfVertexEdges
) -> tuple[tuple[EdgeField, EdgeField], CellField]:
    zeta = neighbor_sum(vn(V2E) * turn, axis=V2EDim)
    spread = neighbor_sum(vt(C2E) * weights, axis=C2EDim)
    product = sqrt(neighbor_sum(spread(E2C) * linear, axis=E2CDim)) + zeta(E2V[1]) * zeta(E2V[0])
    climb = vn + product * (spread(E2C[1]) - zeta(E2V[0]))
    return (climb, product), neighbor_sum(product(C2E) * weights, axis=C2EDim)


@ff.program
def too(
    vn: EdgeField, vt: EdgeField, weights: OfCellEdges, linear: OfEdgeCells, turn: OfVertexEdges,
    climb: EdgeField, product: EdgeField, drift: CellField, edges: ff.int32, cells: ff.int32,
):  # fmt: skip
    on_edges_too(
        vn, vt, weights, linear, turn, out=((climb, product), drift),
        domain=(
            ({Edge: (0, edges), K: (0, LEVELS)}, {Edge: (0, edges), K: (0, LEVELS)}),
            {Cell: (0, cells), K: (0, LEVELS)},
        ),
    )  # fmt: skip


@pytest.fixture
def arguments() -> dict[str, Any]:
    numbers = np.random.default_rng(4)

    def made(domain: Any) -> Any:
        return ff.as_field(domain, numbers.uniform(0.5, 2, tuple(domain.values())))

    edges, cells = MESH.edges, MESH.cells
    return {
        "vn": made({Edge: edges, K: LEVELS}), "vt": made({Edge: edges, K: LEVELS}),
        "w": made({Cell: cells, K: LEVELS + 2}), "depth": made({Cell: cells}),
        "weights": made({Cell: cells, C2EDim: 3}), "linear": made({Edge: edges, E2CDim: 2}),
        "turn": made({Vertex: MESH.vertices, V2EDim: 6}),
        "climb": made({Edge: edges, K: LEVELS}), "drift": made({Cell: cells, K: LEVELS}),
    }  # fmt: skip


def results(
    backend: Any, arguments: dict[str, Any], program: Any = both, **ends: int
) -> list[np.ndarray]:
    for name in ("climb", "drift"):
        arguments[name].ndarray[...] = -7.0
    program.with_backend(backend)(**arguments, **ends, offset_provider=tables(TABLES))
    return [np.array(arguments[name].asnumpy()) for name in ("climb", "drift")]


def listing(backend: Any, arguments: dict[str, Any]) -> str:
    ends = {"edges": MESH.edges, "cells": MESH.cells}
    traced = both.with_backend(backend).trace(
        **arguments, **ends, offset_provider=TABLES, until="codegen"
    )
    return traced["codegen"].loops


def loops_of_a_patch(text: str) -> tuple[Any, ...]:
    (patches,) = nodes_of(read(text), Patches)
    return patches.body.steps


@pytest.mark.parametrize("cells", [MESH.cells, MESH.cells - 9], ids=["same", "apart"])
@pytest.mark.parametrize(
    "patches",
    [ff.Patches(40), ff.Patches(33, levels=8, points=4, threads=12, blocks=2)],
    ids=["size", "every number"],
)
@pytest.mark.parametrize("rows", ["aligned", "not aligned"])
def test_what_nests_share_has_the_same_bits(arguments, patches, cells, rows, lists_made):
    """Where cells of the nest and of the array differ, each nest has a loop of its own."""
    if rows == "not aligned":
        values = arguments["w"].asnumpy()[:, : LEVELS + 1].copy()
        arguments["w"] = ff.as_field({Cell: MESH.cells, K: LEVELS + 1}, values)
    ends = {"edges": MESH.edges, "cells": cells}
    found = results(HOST.with_options(patches=patches), arguments, **ends)
    assert len(lists_made) == 1
    expected = results(not_optimised(BACKENDS["cpu"]), arguments, **ends)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def test_without_the_pass_each_nest_has_a_loop(arguments, lists_made):
    backend = HOST.with_options(passes=without(GPU_PASSES, "share_in_patches"))
    text = listing(backend, arguments)
    assert [(each.elements, each.part) for each in loops_of_a_patch(text)] == [
        (elements, "all") for elements in range(4)
    ]
    assert "shared @" not in text
    ends = {"edges": MESH.edges, "cells": MESH.cells}
    found = results(backend, arguments, **ends)
    expected = results(HOST, arguments, **ends)
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    assert len(lists_made) == 2


def test_without_the_pass_fuse_values_are_handed_on(arguments):
    text = listing(HOST.with_options(passes=without(GPU_PASSES, "fuse")), arguments)
    assert " part owned" not in text
    assert text.count("  shared @") == len(HANDED)


def test_large_blocks_have_no_room_for_a_further_array(arguments):
    patches = ff.Patches(elements=2000, levels=8, points=4, threads=64, blocks=8)
    text = listing(HOST.with_options(patches=patches), arguments)
    assert "shared @" not in text


def test_lists_begin_with_the_elements_that_a_patch_has_as_its_own(arguments, lists_made):
    results(
        HOST.with_options(patches=ff.Patches(elements=30)),
        arguments,
        edges=MESH.edges,
        cells=MESH.cells,
    )
    (words,) = lists_made
    patches = -(-MESH.edges // 30)
    firsts = words[12 : 12 + 4 * (patches + 1)].reshape(-1, 4)
    e2c = TABLES["E2C"].asnumpy()
    owned: list[int] = []
    for (_, start, own, edge), (_, stop, own_stop, edge_stop) in pairwise(firsts):
        filled, mine, edges = words[start:stop], words[own:own_stop], words[edge:edge_stop]
        assert np.array_equal(filled[: len(mine)], mine)
        assert np.array_equal(np.sort(filled), np.union1d(e2c[edges], mine))
        assert (np.diff(filled[len(mine) :].astype(int)) > 0).all()
        owned += mine.tolist()
    assert sorted(owned) == list(range(MESH.cells))


@pytest.mark.parametrize("edges", [MESH.edges, MESH.edges - 9], ids=["same", "apart"])
def test_a_nest_may_read_its_own_element_of_an_array_that_another_loop_fills(arguments, edges):
    """One loop stores fields and fills the array in some calls; in others each has its own."""
    names = ("vn", "vt", "weights", "linear", "turn", "climb", "drift")
    given = {name: arguments[name] for name in names}
    given["product"] = ff.zeros({Edge: MESH.edges, K: LEVELS})
    ends = {"edges": edges, "cells": MESH.cells}
    backend = HOST.with_options(patches=ff.Patches(40), arrays=("%18",))
    traced = too.with_backend(backend).trace(
        **given, **ends, offset_provider=TABLES, until="codegen"
    )
    assert "part owned" in traced["codegen"].loops

    found = results(backend, given, too, **ends)
    expected = results(not_optimised(BACKENDS["cpu"]), given, too, **ends)

    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
