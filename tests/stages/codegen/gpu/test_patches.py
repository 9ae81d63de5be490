"""Nests that hand arrays on within patches of a mesh: when, what the listing says, the same bits.

The host checks every access to shared memory, see `runtime/gpu/host_shared.py`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import neighbor_sum
from fieldforge.constructors import as_connectivity
from fieldforge.examples import nabla
from fieldforge.examples.icosahedral import (
    C2E,
    E2V,
    V2E,
    C2EDim,
    Cell,
    E2VDim,
    Edge,
    K,
    V2EDim,
    Vertex,
    icosahedral,
)
from fieldforge.runtime.fields import patch_lists
from fieldforge.runtime.process.errors import OptionError
from fieldforge.stages.codegen.pass_list import GPU_PASSES, without
from fieldforge.workflows.backends.ready_made import BACKENDS

from ....optimised import not_optimised

HOST = BACKENDS["gpu-host"]
CPU = not_optimised(BACKENDS["cpu"])
LEVELS = 11
MESH = icosahedral(6, 0)
NEEDED = ("C2E", "E2C", "E2V", "V2E")
TABLES = {name: table for name, table in MESH.connectivities().items() if name in NEEDED}
EDGES, VERTICES, CELLS = (len(TABLES[name].asnumpy()) for name in ("E2V", "V2E", "C2E"))

EdgeField = ff.Field[ff.Dims[Edge, K], ff.float64]
CellField = ff.Field[ff.Dims[Cell, K], ff.float64]
OfVertexEdges = ff.Field[ff.Dims[Vertex, V2EDim], ff.float64]
OfEdgeVertices = ff.Field[ff.Dims[Edge, E2VDim], ff.float64]
OfCellEdges = ff.Field[ff.Dims[Cell, C2EDim], ff.float64]


@ff.field_operator
def on_both(
    vn: EdgeField, turn: OfVertexEdges, weights: OfCellEdges
) -> tuple[EdgeField, CellField]:
    zeta = neighbor_sum(vn(V2E) * turn, axis=V2EDim)
    curl = zeta(E2V[1]) - zeta(E2V[0])
    spin = zeta(E2V[1]) * vn
    return curl, neighbor_sum(spin(C2E) * weights, axis=C2EDim)


@ff.program
def both(
    vn: EdgeField, turn: OfVertexEdges, weights: OfCellEdges, curl: EdgeField, spin: CellField
):  # fmt: skip
    on_both(vn, turn, weights, out=(curl, spin))


@ff.program
def in_part(
    vn: EdgeField, along: OfVertexEdges, difference: OfEdgeVertices, out: EdgeField,
    first: ff.int32, last: ff.int32,
):  # fmt: skip
    nabla.curl_of_curl(vn, along, difference, out=out, domain={Edge: (first, last), K: (1, 10)})


def field(rng: np.random.Generator, *dims: tuple[Any, int]) -> Any:
    domain = dict(dims)
    return ff.as_field(domain, rng.uniform(0.5, 1.5, tuple(domain.values())))


def of_nabla(seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "vn": field(rng, (Edge, EDGES), (K, LEVELS)),
        "along": field(rng, (Vertex, VERTICES), (V2EDim, 6)),
        "difference": field(rng, (Edge, EDGES), (E2VDim, 2)),
        "out": ff.zeros({Edge: EDGES, K: LEVELS}),
    }


def of_both() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    return {
        "vn": field(rng, (Edge, EDGES), (K, LEVELS)),
        "turn": field(rng, (Vertex, VERTICES), (V2EDim, 6)),
        "weights": field(rng, (Cell, CELLS), (C2EDim, 3)),
        "curl": ff.zeros({Edge: EDGES, K: LEVELS}),
        "spin": ff.zeros({Cell: CELLS, K: LEVELS}),
    }


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The lists that inspectors make meanwhile."""
    found: list[np.ndarray] = []
    bring = patch_lists.bring

    def watched(data: bytes, *place: int) -> Any:
        found.append(np.frombuffer(data, np.uint32))
        return bring(data, *place)

    monkeypatch.setattr(patch_lists, "bring", watched)
    return found


def tables() -> dict[str, Any]:
    """Return new tables, for which no lists were made."""
    return {
        name: as_connectivity(
            each.domain, codomain=each.codomain, data=each.asnumpy(), skip_value=each.skip_value
        )
        for name, each in TABLES.items()
    }


def run(program: Any, backend: Any, arguments: dict[str, Any], outputs: list[str], **given: Any):
    for name in outputs:
        arguments[name].ndarray[...] = -7.0
    provider = given.pop("provider", TABLES)
    program.with_backend(backend)(**arguments, **given, offset_provider=provider)
    return [np.array(arguments[name].asnumpy()) for name in outputs]


def loops(program: Any, backend: Any, arguments: dict[str, Any], **given: Any) -> str:
    traced = program.with_backend(backend).trace(
        **arguments, **given, offset_provider=TABLES, until="codegen"
    )
    return traced["codegen"].loops


def test_nests_that_hand_an_array_on_are_one_kernel_with_the_same_bits(made):
    arguments = of_both()
    backend = HOST.with_options(patches=(40,))
    found = run(both, backend, arguments, ["curl", "spin"], provider=tables())
    expected = run(both, CPU, arguments, ["curl", "spin"])
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    assert len(made) == 1
    text = loops(both, backend, arguments)
    assert "one kernel of nests" in text
    assert "levels of a patch of 40 by" in text
    assert "need not go to memory and back" in text


@pytest.mark.parametrize(
    "patches", [(30, 4, 2, 64, 1), (1000, 16, 4, 128), (64, 8, 8, 32), (50, 6, 2, 64)]
)
def test_any_size_of_patches_has_the_same_bits(patches, made):
    arguments = of_nabla()
    given = {"first": 3, "last": EDGES - 1}
    backend = HOST.with_options(patches=patches)
    (found,) = run(in_part, backend, arguments, ["out"], provider=tables(), **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], **given)
    assert np.array_equal(found, expected)
    assert len(made) == 1


def test_patches_that_compute_most_of_an_array_again_are_none(made):
    arguments = of_nabla()
    given = {"first": 0, "last": EDGES}
    backend = HOST.with_options(patches=(4,))
    (found,) = run(in_part, backend, arguments, ["out"], provider=tables(), **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], **given)
    assert np.array_equal(found, expected)
    assert not made


def test_a_call_with_few_elements_runs_its_nests_one_by_one():
    arguments = of_nabla()
    given = {"first": 11, "last": 50}
    (found,) = run(in_part, HOST, arguments, ["out"], provider=tables(), **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], **given)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(
    "options",
    [{"patches": (-1,)}, {"passes": without(GPU_PASSES, "patch")}],
    ids=["option", "pass"],
)
def test_patches_can_be_switched_off(options, made):
    arguments = of_nabla()
    given = {"first": 0, "last": EDGES}
    backend = HOST.with_options(**options)
    assert "one kernel of" not in loops(in_part, backend, arguments, **given)
    run(in_part, backend, arguments, ["out"], provider=tables(), **given)
    assert not made


def test_lists_are_made_once_for_a_table_and_shared_by_equal_ones(made):
    arguments = of_nabla()
    given = {"first": 0, "last": EDGES}
    provider, other = tables(), tables()
    backend = HOST.with_options(patches=(33,))
    for _ in range(3):
        run(in_part, backend, arguments, ["out"], provider=provider, **given)
    assert len(made) == 1
    before = len(patch_lists._known)
    run(in_part, backend, arguments, ["out"], provider=other, **given)
    assert len(made) == 2
    assert len(patch_lists._known) == before
    run(in_part, HOST.with_options(patches=(34,)), arguments, ["out"], provider=other, **given)
    assert len(made) == 3


def test_each_patch_lists_what_its_elements_need(made):
    arguments = of_nabla()
    run(
        in_part, HOST.with_options(patches=(25,)), arguments, ["out"],
        provider=tables(), first=0, last=EDGES,
    )  # fmt: skip
    (words,) = made
    patches = -(-EDGES // 25)
    near_of_edges, of_edges = words[3], words[4]
    firsts = words[6 : 6 + 2 * (patches + 1)].reshape(-1, 2)
    near = words[near_of_edges:].view(np.uint16).reshape(-1, 2)[:EDGES]
    e2v = TABLES["E2V"].asnumpy()
    seen = []
    most = 0
    for (vertex, edge), (next_vertex, next_edge) in pairwise(firsts):
        vertices, edges = words[vertex:next_vertex], words[edge:next_edge]
        places = near[edge - of_edges : next_edge - of_edges]
        assert np.array_equal(np.sort(vertices), np.unique(e2v[edges]))
        way = {tuple(sorted(pair)) for pair in np.sort(e2v[edges], axis=1).tolist()}
        assert way == {tuple(sorted(pair)) for pair in vertices[places].tolist()}
        seen += edges.tolist()
        most = max(most, len(vertices))
    assert sorted(seen) == list(range(EDGES))
    assert words[2] == most


def test_patches_are_compact_where_the_numbers_of_elements_are_not(made):
    """Edges in any order give patches that need few more vertices than they have."""
    rng = np.random.default_rng(3)
    order = rng.permutation(EDGES)
    shuffled = tables()
    shuffled["E2V"] = as_connectivity(
        TABLES["E2V"].domain, codomain=Vertex, data=TABLES["E2V"].asnumpy()[order]
    )
    arguments = of_nabla()
    backend = HOST.with_options(patches=(60,))
    run(in_part, backend, arguments, ["out"], provider=shuffled, first=0, last=EDGES)
    (words,) = made
    patches = -(-EDGES // 60)
    needed = int(words[6 + 2 * patches] - words[6])
    assert needed < 2 * VERTICES
    one_by_one = sum(
        len(np.unique(shuffled["E2V"].asnumpy()[start : start + 60]))
        for start in range(0, EDGES, 60)
    )
    assert needed < 0.8 * one_by_one


def test_tables_that_lack_entries_have_no_patches(made):
    data = np.array(TABLES["E2V"].asnumpy())
    arguments = of_nabla()
    lacking = tables()
    data[5, 1] = -1
    lacking["E2V"] = as_connectivity(
        TABLES["E2V"].domain, codomain=Vertex, data=data, skip_value=-1
    )
    given = {"first": 6, "last": EDGES}
    (found,) = run(in_part, HOST, arguments, ["out"], provider=lacking, **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], provider=lacking, **given)
    assert np.array_equal(found, expected)
    assert not made


def test_an_output_in_the_memory_of_an_input_keeps_what_other_patches_read():
    arguments = of_nabla()
    (expected,) = run(in_part, CPU, arguments, ["out"], first=0, last=EDGES)
    arguments["out"] = arguments["vn"]
    backend = HOST.with_options(patches=(20,))
    in_part.with_backend(backend)(**arguments, first=0, last=EDGES, offset_provider=TABLES)
    assert np.array_equal(arguments["vn"].asnumpy()[:, 1:10], expected[:, 1:10])


def test_misaligned_rows_have_the_same_bits(made):
    arguments = of_nabla()
    rng = np.random.default_rng(4)
    wide = rng.uniform(0.5, 1.5, (EDGES, LEVELS + 2))
    arguments["vn"] = ff.as_field({Edge: EDGES, K: LEVELS}, wide[:, 1:-1])
    given = {"first": 0, "last": EDGES}
    (found,) = run(in_part, HOST, arguments, ["out"], provider=tables(), **given)
    (expected,) = run(in_part, CPU, arguments, ["out"], **given)
    assert np.array_equal(found, expected)
    assert len(made) == 1


@pytest.mark.parametrize("patches", [(-2,), (96, 16, 3), (96, 64, 1, 32), (1, 2, 2, 2, 2, 2)])
def test_numbers_that_no_block_can_have_are_refused(patches):
    with pytest.raises(OptionError, match="No block has patches"):
        HOST.with_options(patches=patches)
