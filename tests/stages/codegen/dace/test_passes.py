"""The list of DaCe's transformations: what each does, its budget, functions of the user's."""

import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import terrain
from fieldforge.runtime.process.errors import OptionError
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.codegen.dace.options import DACE_PASSES
from fieldforge.stages.codegen.dace.passes import (
    InvalidGraphError,
    PassTimeLimitError,
    TransformationWarning,
)
from fieldforge.stages.codegen.dace.stage import CodegenDace
from fieldforge.stages.ir.dataflow import Body, DomainSymbol, Range, add
from fieldforge.stages.lower.graph import Graph
from fieldforge.workflows.backends.backend import BACKENDS

from .. import grids
from ..grids import C, K, Native, make, units
from ..programs import REAL, TARGET, I, J, all_unit, make_program, whole

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]
RNG = np.random.default_rng(4)
BOTH = (I, J)


def chain() -> Any:
    """Return (a * b + a) - b."""
    graph = Graph()
    a, b = graph.input("a", BOTH, REAL), graph.input("b", BOTH, REAL)
    value = graph.map("sub", (graph.map("add", (graph.map("mul", (a, b)), a)), b))
    fields = [(name, REAL, BOTH) for name in ("a", "b", "out")]
    return make_program("chain", graph, fields, [("out", whole("out", BOTH), value)])


def running_sum() -> Any:
    body = Graph()
    total = body.map("add", (body.scalar("s0", REAL), body.scalar("a0", REAL)))
    graph = Graph()
    ends = DomainSymbol("start", "out", K), DomainSymbol("stop", "out", K)
    first = (graph.literal(REAL, "0.0"),)
    u = graph.input("u", (C, K), REAL)
    (result,) = graph.scan(Body(tuple(body.values), (total,)), first, (u,), K, True, ends)
    fields = [("u", REAL, (C, K)), ("out", REAL, (C, K))]
    return make(graph, fields, [("out", whole("out", (C, K)), result)])


def text_of(lowered: Any, variant: Variant | None = None, **options: Any) -> Any:
    stage = CodegenDace(target=TARGET, **options)
    return stage.run(lowered=lowered, variant=variant or Variant())["generated"]


def grow(sdfg: Any) -> None:
    for number in range(200):
        sdfg.add_state_after(sdfg.sink_nodes()[0], f"more{number}")


def break_it(sdfg: Any) -> None:
    state = next(iter(sdfg.states()))
    state.add_tasklet("alone", {"x": None}, {}, "")


def break_a_block(sdfg: Any) -> None:
    from dace import InterstateEdge
    from dace.sdfg.state import ControlFlowRegion

    block = ControlFlowRegion("inside", sdfg=sdfg)
    sdfg.add_edge(sdfg.sink_nodes()[0], block, InterstateEdge())
    states = [block.add_state(f"inner{i}", is_start_block=i == 0) for i in range(5)]
    for before, after in pairwise(states):
        block.add_edge(before, after, InterstateEdge("missing > 0" if after is states[-1] else "1"))


def test_the_schedule_leaves_one_map_and_dace_finds_its_own_fusion() -> None:
    lowered, variant = chain(), all_unit(chain(), J)

    scheduled = text_of(lowered, variant).loops
    apart = text_of(lowered, variant, fusion="dace", auto_optimize=False).loops
    fused = text_of(lowered, variant, fusion="dace").loops

    assert [text.count(" map nest") for text in (scheduled, apart, fused)] == [1, 4, 1]
    assert [text.count("= arena") for text in (scheduled, apart, fused)] == [0, 3, 0]


@pytest.mark.parametrize("options", [{}, {"fusion": "dace"}, {"fusion": "dace", "passes": ()}])
def test_all_ways_to_fuse_give_the_same_bits(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grids, "Codegen", CodegenDace)
    lowered = chain()
    a, b, out = RNG.random((9, 7)), RNG.random((9, 7)), np.zeros((9, 7))

    Native(lowered, units(lowered, J), **options)(a, b, out)

    np.testing.assert_array_equal(out, (a * b + a) - b)


def test_the_sdfg_after_each_pass_can_be_read() -> None:
    stage = CodegenDace(target=TARGET, fusion="dace", passes=("simplify", "fuse_vertical"))

    after = stage.after_passes(lowered=chain(), variant=all_unit(chain(), J))

    assert list(after) == ["graph", "simplify", "fuse_vertical"]
    assert after["simplify"].count(" map nest") == 4
    assert after["fuse_vertical"].count(" map nest") == 1


def test_names_of_the_user_stand_on_data_states_and_loops() -> None:
    listing = text_of(chain(), all_unit(chain(), J)).loops
    for words in ("state state0_out", "[i_I=out_I_start:out_I_stop, v_J=", "a[i_I, v_J]"):
        assert words in listing


def test_a_pass_that_exceeds_its_budget_is_undone_and_named() -> None:
    with pytest.warns(TransformationWarning, match="'fuse_vertical' was undone: 3 applications"):
        listing = text_of(chain(), fusion="dace", most_applications=1).loops
    assert listing.count(" map nest") == 4

    with pytest.warns(TransformationWarning, match=r"'grow' was undone.*'most_nodes'"):
        listing = text_of(chain(), passes=(*DACE_PASSES, grow), most_nodes=100).loops
    assert "more0" not in listing


def for_one_state(sdfg: Any) -> None:
    assert len(sdfg.states()) == 1
    next(iter(sdfg.states())).add_state("more")


def count_states(sdfg: Any) -> None:
    assert [state.label for state in sdfg.states()] == [sdfg.states()[0].label]


def never_ends(sdfg: Any) -> None:
    while True:
        try:
            time.sleep(0.01)
        except Exception:
            continue


def test_functions_see_lists_of_states() -> None:
    assert "state state0_out" in text_of(chain(), passes=(count_states,)).loops


def test_a_hook_for_graphs_of_gt4py_is_left_out_and_named() -> None:
    plain = text_of(chain())

    with pytest.warns(
        TransformationWarning, match=r"Hook 'for_one_state' is left out.*line \d+ of"
    ):
        left = text_of(
            chain(), passes=(*DACE_PASSES, for_one_state), gt4py_hooks=("for_one_state",)
        )

    assert left.text == plain.text
    with pytest.raises(AttributeError):
        text_of(chain(), passes=(for_one_state,))


def test_a_function_over_its_time_limit_ends_the_build() -> None:
    with pytest.raises(PassTimeLimitError, match=r"Pass 'never_ends' took longer than 0\.2 s"):
        text_of(chain(), passes=(never_ends,), pass_seconds=0.2, gt4py_hooks=("never_ends",))
    assert CodegenDace(target=TARGET, pass_seconds=1) == CodegenDace(target=TARGET)
    with pytest.raises(OptionError, match="'pass_seconds' of stage 'codegen_dace' takes a number"):
        CodegenDace(target=TARGET, pass_seconds="long")


def test_functions_of_the_user_are_called_in_their_places() -> None:
    seen = []

    def note(sdfg: Any) -> None:
        seen.append(sum(1 for _ in sdfg.all_nodes_recursive()))

    text_of(chain(), fusion="dace", passes=(note, "simplify", "fuse_vertical", note))

    assert len(seen) == 2
    assert seen[1] < seen[0]


def twice_as_much(sdfg: Any) -> None:
    """Add a map of the user's own, with code before all functions, and measure the others."""
    import dace
    from dace.sdfg.nodes import MapEntry

    first = next(node for node, _ in sdfg.all_nodes_recursive() if isinstance(node, MapEntry))
    first.map.instrument = dace.InstrumentationType.Timer
    ranges = dict(zip(first.map.params, first.map.range, strict=True))
    point = f"out[{', '.join(sorted(ranges, key=lambda name: name[-1]))}]"
    sdfg.append_global_code("static const double by = 2.0;")
    sdfg.add_state_after(sdfg.sink_nodes()[0], "again").add_mapped_tasklet(
        "again", ranges, {"old": dace.Memlet(point)}, "more = by * old;",
        {"more": dace.Memlet(point)}, external_edges=True, language=dace.Language.CPP,
    )  # fmt: skip


def test_maps_and_code_of_the_user_are_written_by_dace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "Codegen", CodegenDace)
    a, b = RNG.random((2, 5, 11))
    plain, more = np.zeros((2, 5, 11))

    Native(chain(), all_unit(chain(), J))(a, b, plain)
    Native(chain(), all_unit(chain(), J), passes=(*DACE_PASSES, twice_as_much))(a, b, more)

    np.testing.assert_array_equal(more, 2.0 * plain)


def test_a_graph_that_is_not_valid_any_more_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidGraphError, match="After pass 'break_it' the SDFG is not valid"):
        text_of(chain(), passes=(break_it,))
    with pytest.raises(InvalidGraphError, match=r"not valid: Undefined symbols .*'missing'"):
        text_of(chain(), passes=(break_a_block,))
    assert list(tmp_path.iterdir()) == []


def test_options_are_checked() -> None:
    with pytest.raises(OptionError, match="Did you mean 'simplify'"):
        CodegenDace(target=TARGET, passes=("simplfy",))
    with pytest.raises(OptionError, match="named function of one SDFG"):
        CodegenDace(target=TARGET, passes=(lambda sdfg: None,))
    with pytest.raises(OptionError, match="'auto_optimize' of stage 'codegen_dace' takes true or"):
        CodegenDace(target=TARGET, auto_optimize="yes")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="'most_nodes' of stage 'codegen_dace' takes a whole"):
        CodegenDace(target=TARGET, most_nodes=-1)
    with pytest.raises(OptionError, match="'fusion' of stage 'codegen_dace' takes one of"):
        CodegenDace(target=TARGET, fusion="both")


def test_blocks_cut_loops_and_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "Codegen", CodegenDace)
    lowered = chain()
    a, b, out = RNG.random((33, 7)), RNG.random((33, 7)), np.zeros((33, 7))

    native = Native(lowered, units(lowered, J), blocking_dims=("I",), blocking_size=8)
    native(a, b, out)

    assert "block" in native.loops
    np.testing.assert_array_equal(out, (a * b + a) - b)


def test_scans_are_unrolled_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grids, "Codegen", CodegenDace)
    lowered = running_sum()
    u, out = RNG.random((5, 11)), np.zeros((5, 11))

    native = Native(lowered, units(lowered, K), unroll_scans=4)
    native(u, out)

    assert "#pragma unroll 4" in native.source
    assert "unroll" not in text_of(lowered, units(lowered, K)).source
    np.testing.assert_array_equal(out, np.cumsum(u, axis=1))


@pytest.mark.parametrize("ahead", [True, False])
def test_an_output_in_the_memory_of_an_input_is_right_in_whatever_way_dace_fuses(
    ahead: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grids, "Codegen", CodegenDace)
    graph = Graph()
    u = graph.input("u", (I,), REAL)
    if ahead:  # the array is filled from other points than those that are written
        value = graph.map("add", (graph.map("neg", (graph.shift(u, I, 1),)), u))
    else:  # the array is read at other points than it was filled at
        double = graph.map("add", (u, u))
        value = graph.map("add", (graph.shift(double, I, 1), double))
    inner = DomainSymbol("start", "out", I), add(DomainSymbol("stop", "out", I), -1)
    fields = [("u", REAL, (I,)), ("out", REAL, (I,))]
    lowered = make_program("same", graph, fields, [("out", (Range(I, *inner),), value)])
    numbers = RNG.random(40)
    expected = numbers.copy()
    expected[:-1] = numbers[:-1] - numbers[1:] if ahead else numbers[1:] * 2 + numbers[:-1] * 2

    for options in ({}, {"fusion": "dace"}, {"fusion": "dace", "auto_optimize": False}):
        both = numbers.copy()
        Native(lowered, units(lowered, I), **options)(both, both)
        np.testing.assert_array_equal(both, expected)


def test_nests_share_a_state_only_where_they_all_work_for_the_one_that_stores() -> None:
    graph = Graph()
    u = graph.input("u", (I,), REAL)
    double = graph.map("add", (u, u))
    fields = [(name, REAL, (I,)) for name in ("u", "a", "b")]
    box = whole("a", (I,))
    lowered = make_program("two", graph, fields, [("a", box, double)], [("b", box, double)])

    listing = text_of(lowered, fusion="dace", auto_optimize=False).loops

    lines = [line.strip() for line in listing.splitlines()]
    assert [line for line in lines if line.startswith("state ")] == [
        "state state0_a",
        "state state1_b",
    ]
    # each statement may be left out of a call, as arguments that overlap require
    assert [line for line in lines if line.startswith("if ")] == [
        "if ((only_statement == 0) or (only_statement == 1))",
        "if ((only_statement == 0) or (only_statement == 2))",
    ]


@pytest.mark.parametrize("count", [4, 7, 9])
def test_rows_that_are_computed_together_change_no_bit(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grids, "Codegen", CodegenDace)
    graph = Graph()
    u = graph.input("u", BOTH, REAL)
    around = [graph.shift(u, I, n) for n in (1, -1)]
    value = graph.map("add", (graph.map("mul", (around[0], u)), around[1]))
    fields = [("u", REAL, BOTH), ("out", REAL, BOTH)]
    lowered = make_program("rows", graph, fields, [("out", whole("out", BOTH), value)])
    numbers, out = RNG.random((count + 2, 37)), np.zeros((count, 37))

    for jam in (True, False):
        out[:] = 0.0
        native = Native(lowered, units(lowered, J), jam=jam)
        native(grids.At(numbers, (-1, 0)), out)
        np.testing.assert_array_equal(out, numbers[2:] * numbers[1:-1] + numbers[:-2])


def test_what_dace_cannot_eliminate_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    from dace.transformation.passes.dead_dataflow_elimination import DeadDataflowElimination

    plain = text_of(chain()).source

    def give_up(*_: Any) -> None:
        raise NotImplementedError("Cannot eliminate dead connector 'None' on tasklet.")

    monkeypatch.setattr(DeadDataflowElimination, "apply_pass", give_up)
    assert text_of(chain()).source == plain


@pytest.mark.parametrize("halo", [2, 1])
@pytest.mark.parametrize("backend", ["dace_cpu", "dace_gpu-host"])
def test_arrays_that_the_passes_leave_have_their_sizes_beside_soft_reads(
    backend: str, halo: int
) -> None:
    """Where a mask excludes the outermost cells, a halo of 1 takes the version that clamps."""
    chosen = BACKENDS[backend].with_options(fusion="dace")
    shape = {terrain.I: (-halo, 20 + halo), terrain.J: (-halo, 17 + halo)}
    heights = np.random.default_rng(1).random((24, 21))[2 - halo : 22 + halo, 2 - halo : 19 + halo]
    found = []
    for each in ("cpu", chosen):
        h, out = ff.as_field(ff.domain(shape), heights), ff.zeros({terrain.I: 20, terrain.J: 17})
        faces = [ff.zeros(ff.domain(shape), bool) for _ in range(2)]
        faces[0][ff.domain({terrain.I: (0, 19), terrain.J: (0, 17)})] = True
        faces[1][ff.domain({terrain.I: (0, 20), terrain.J: (0, 16)})] = True
        call = terrain.smooth_step.with_backend(each)
        call(h, *faces, out, 1 / 32, ff.int32(20), ff.int32(17))
        found.append(out.asnumpy())

    np.testing.assert_allclose(found[1], found[0], rtol=1e-13)
