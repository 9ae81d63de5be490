"""Nests of a mesh in portions of patches on a CPU: when, what the listing says, the same bits."""

from itertools import pairwise
from typing import Any

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge import neighbor_sum, where
from fieldforge.constructors import as_connectivity
from fieldforge.examples.icosahedral import E2V, V2E, Edge, K, V2EDim, Vertex, icosahedral
from fieldforge.examples.precision import in_precision
from fieldforge.runtime.process.errors import OptionError
from fieldforge.stages.codegen.cpu.options import CPU_PASSES
from fieldforge.stages.codegen.cpu.text import units
from fieldforge.stages.codegen.pass_list import without
from fieldforge.stages.ir.loops.cpu import Portions
from fieldforge.stages.ir.loops.kernel import Choice
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of, nodes_of
from fieldforge.stages.sizes import Patches

from ...mesh_programs import (
    CPU,
    EDGES,
    LEVELS,
    TABLES,
    VERTICES,
    EdgeField,
    OfVertexEdges,
    both,
    field,
    in_part,
    loops,
    of_both,
    of_nabla,
    run,
    tables,
)

pytestmark = pytest.mark.needs_compiler
SIZES = Patches(elements=96, portion=24, least_bytes=1)
PORTIONS = CPU.with_options(patches=SIZES)
WHOLE = {"first": 0, "last": EDGES}
Inside = ff.Field[ff.Dims[K], bool]
HEADER = 3 * 2 + 2  # words before the first elements of two nests


@ff.field_operator
def below_or_here(vn: EdgeField, turn: OfVertexEdges, inside: Inside) -> EdgeField:
    found = where(inside, vn(K + 1), vn)
    zeta = neighbor_sum(found(V2E) * turn, axis=V2EDim)
    return zeta(E2V[0]) - zeta(E2V[1])


@ff.program
def soft(vn: EdgeField, turn: OfVertexEdges, inside: Inside, out: EdgeField):
    below_or_here(vn, turn, inside, out=out)


def same(program: Any, arguments: dict[str, Any], outputs: list[str], backend: Any, **given: Any):
    """Tell whether a backend and embedded execution store the same bits."""
    provider = given.pop("provider", None) or tables()
    found = run(program, backend, arguments, outputs, provider=provider, **given)
    expected = run(program, None, arguments, outputs, provider=provider, **given)
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("threads", [1, 3])
def test_nests_in_portions_have_the_bits_of_embedded_execution(threads, lists_made):
    with ff.threads(threads):
        backend = PORTIONS.with_options(parallel_from=0)
        assert same(both, of_both(), ["curl", "spin"], backend)
    assert len(lists_made) == 1


@pytest.mark.parametrize(("elements", "portion"), [(64, 64), (300, 25), (10_000, 20)])
@pytest.mark.parametrize("ends", [(0, EDGES), (3, EDGES - 40)])
def test_any_size_and_range_has_the_same_bits(elements, portion, ends, lists_made):
    patches = Patches(elements=elements, portion=portion, least_bytes=1)
    first, last = ends
    backend = CPU.with_options(patches=patches)
    assert same(in_part, of_nabla(), ["out"], backend, first=first, last=last)
    assert len(lists_made) == 1


def test_units_of_a_long_source_have_the_same_bits(monkeypatch, lists_made):
    for limit in ("CUT_FROM", "UNIT", "LEAST"):
        monkeypatch.setattr(units, limit, 1)
    backend = CPU.with_options(patches=Patches(elements=97, portion=24, least_bytes=1))
    trace = both.with_backend(backend).trace(**of_both(), offset_provider=TABLES, until="codegen")
    assert "HIDDEN void portions0(" in trace["codegen"].text
    assert same(both, of_both(), ["curl", "spin"], backend)
    assert len(lists_made) == 1


def test_a_call_that_reads_beyond_a_field_runs_nest_by_nest(lists_made):
    """Levels beyond the last are read nowhere, but only the call knows."""
    whole = of_both()
    arguments = {name: whole[name] for name in ("vn", "turn")} | {"out": whole["curl"]}
    arguments["inside"] = ff.as_field({K: LEVELS}, np.arange(LEVELS) < LEVELS - 1)
    assert same(soft, arguments, ["out"], PORTIONS)
    assert len(lists_made) == 1


def test_words_have_the_same_bits(lists_made):
    program = in_precision("nabla", np.float32).nabla2
    given = of_nabla()
    arguments = {
        name: ff.as_field(given[old].domain, given[old].asnumpy().astype(np.float32))
        for name, old in {"vn": "vn", "along_dual": "along", "difference": "difference"}.items()
    }
    arguments["out"] = ff.zeros({Edge: EDGES, K: LEVELS}, np.float32)
    assert same(program, arguments, ["out"], PORTIONS)
    assert len(lists_made) == 1


def test_the_listing_says_what_a_thread_keeps_and_why():
    patches = Patches(elements=120, portion=8, least_bytes=1)
    before, after = (
        loops(in_part, CPU.with_options(patches=patches, passes=passes), of_nabla(), **WHOLE)
        for passes in (without(CPU_PASSES, "patch"), CPU_PASSES)
    )
    assert not list(nodes_of(read(before), Choice))
    (choice,) = nodes_of(read(after), Choice)
    portions = choice.then
    assert isinstance(portions, Portions)
    assert choice.reason == "@6 need not go to memory and back"
    assert (portions.arrays, portions.slot) == (("@6",), 1)
    assert (portions.order.portion, portions.order.size) == (8, 120)
    assert portions.order.tables == ("E2V",)
    assert portions.loops[0].asked[:2] == (6, 13)
    assert nests_of(choice.otherwise) == nests_of(read(before))


def test_threads_share_the_elements_of_a_mesh_and_not_its_levels():
    """Three arrays outgrow the second cache, but cut levels are work for few threads."""
    program = in_precision("mesh_dynamics", np.float64).dynamics
    provider = icosahedral(2, 0).connectivities()
    traced = program.with_backend(CPU).trace(offset_provider=provider, until="codegen")
    text = traced["codegen"].loops
    assert "  tiles " not in text
    assert text.count("parallel Edge") == text.count("parallel Vertex") == 1


@pytest.mark.parametrize(
    "options",
    [{"patches": False}, {"passes": without(CPU_PASSES, "patch"), "patches": SIZES}],
    ids=["option", "pass"],
)
def test_portions_can_be_switched_off(options, lists_made):
    assert same(in_part, of_nabla(), ["out"], CPU.with_options(**options), **WHOLE)
    assert not lists_made


@pytest.mark.parametrize("least", [0, 1 << 40], ids=["model", "option"])
def test_small_calls_run_nest_by_nest(least):
    """No thread has rows: the room for the array is in the arena instead."""
    backend = CPU.with_options(patches=attrs.evolve(SIZES, least_bytes=least))
    assert same(in_part, of_nabla(), ["out"], backend, **WHOLE)


def test_a_call_with_few_elements_runs_nest_by_nest():
    assert same(in_part, of_nabla(), ["out"], PORTIONS, first=11, last=50)


def test_the_workspace_of_nests_one_by_one_is_enough(lists_made):
    program, arguments = in_part.with_backend(PORTIONS), of_nabla()
    (expected,) = run(in_part, CPU, arguments, ["out"], **WHOLE)
    size = program.workspace_size(**arguments, **WHOLE, offset_provider=TABLES)
    arguments["out"].ndarray[...] = -7.0
    with ff.workspace(np.zeros(size, np.uint8)):
        program(**arguments, **WHOLE, offset_provider=tables())
    assert np.array_equal(arguments["out"].asnumpy(), expected)
    assert len(lists_made) == 1


def test_tables_that_lack_entries_have_no_lists(lists_made):
    data = np.array(TABLES["E2V"].asnumpy())
    data[5, 1] = -1
    lacking = tables()
    lacking["E2V"] = as_connectivity(
        TABLES["E2V"].domain, codomain=Vertex, data=data, skip_value=-1
    )
    given = {"first": 6, "last": EDGES, "provider": lacking}
    assert same(in_part, of_nabla(), ["out"], PORTIONS, **given)
    assert not lists_made


def test_an_output_in_the_memory_of_an_input_keeps_what_other_patches_read():
    arguments = of_nabla()
    (expected,) = run(in_part, CPU, arguments, ["out"], **WHOLE)
    arguments["out"] = arguments["vn"]
    in_part.with_backend(PORTIONS)(**arguments, **WHOLE, offset_provider=TABLES)
    assert np.array_equal(arguments["vn"].asnumpy()[:, 1:10], expected[:, 1:10])


def test_other_layouts_stay_as_they_are(lists_made):
    arguments = of_nabla()
    (expected,) = run(in_part, CPU, arguments, ["out"], **WHOLE)
    columns = {name: np.asfortranarray(arguments[name].asnumpy()) for name in ("vn", "out")}
    in_part.with_backend(PORTIONS)(**arguments | columns, **WHOLE, offset_provider=tables())
    assert np.array_equal(columns["out"], expected)
    assert not lists_made


def test_checked_programs_have_no_portions():
    text = loops(in_part, PORTIONS.with_options(checked=True), of_nabla(), **WHOLE)
    assert "  portions " not in text


def test_rows_are_used_again_after_their_last_reading(lists_made):
    """Replay the lists: each edge finds both vertices, so that no row is taken while needed."""
    run(in_part, PORTIONS, of_nabla(), ["out"], provider=tables(), **WHOLE)
    (words,) = lists_made
    per_patch, portions = (int(each) for each in words[6:8])
    firsts = words[HEADER : HEADER + 2 * (portions + 1)].reshape(-1, 2).astype(int)
    rows = words[words[0] :].view(np.uint16)
    near = words[words[3] :].view(np.uint16).reshape(-1, 2)
    e2v, filled, seen = TABLES["E2V"].asnumpy(), 0, []
    for portion, ((vertex, edge), (next_vertex, next_edge)) in enumerate(pairwise(firsts)):
        if portion % per_patch == 0:
            held: dict[int, int] = {}
        for place in range(vertex, next_vertex):
            held[int(rows[place - words[1]])] = int(words[place])
            filled += 1
        for place in range(edge, next_edge):
            own = int(words[place])
            assert [held[int(row)] for row in near[place - words[4]]] == e2v[own].tolist()
            seen.append(own)
    assert sorted(seen) == list(range(EDGES))
    assert filled < 1.5 * VERTICES
    assert words[2] < 0.9 * filled * per_patch / portions  # fewer rows than vertices of a patch


@pytest.mark.parametrize(
    "patches",
    [(-2,), (60, 61), (1, 2, 3, 4), Patches(60, portion=61), Patches(60, threads=64), True],
    ids=str,
)
def test_numbers_that_no_thread_can_have_are_refused(patches):
    with pytest.raises(
        OptionError, match="'patches' of stage 'codegen' takes 'Patches' with elements"
    ):
        CPU.with_options(patches=patches)


def test_many_levels_have_their_own_rows():
    """Rows begin at multiples of 16 levels, wherever the levels begin."""
    rng = np.random.default_rng(7)
    arguments = of_nabla()
    for name in ("vn", "out"):
        arguments[name] = field(rng, (Edge, EDGES), (K, 37))
    assert same(in_part, arguments, ["out"], PORTIONS, **WHOLE)
