from functools import reduce

import pytest

from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.codegen.arena import plan_arena
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.codegen.passes import make_loops
from fieldforge.stages.codegen.schedule.schedule import schedule
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.bounds import Const, Range
from fieldforge.stages.ir.dataflow import Side
from fieldforge.stages.ir.loops.nest import Store
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import accesses, nests_of
from fieldforge.stages.lower.boxes.infer_boxes import infer_boxes
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.lower.push_shifts import push_shifts

from ..programs import REAL, TARGET, I, J, K, all_unit, laplacians, make_program, whole

RULES = Rules(TARGET)


def test_a_pointwise_program_is_one_nest_in_the_order_of_memory() -> None:
    graph, dims = Graph(), (I, J, K)
    u, dt = graph.input("u", dims, REAL), graph.scalar("dt", REAL)
    product = graph.map("mul", (u, dt))
    fields = [("u", REAL, dims), ("dt", REAL, None), ("out", REAL, dims)]
    lowered = make_program("scaled", graph, fields, [("out", whole("out", dims), product)])

    kernel, _ = schedule(lowered, all_unit(lowered, I), RULES)

    box = ", ".join(f"{each}: start(out, {each}) .. stop(out, {each})" for each in "IJK")
    assert show(kernel) == (
        "kernel scaled\n"
        "  dimension I horizontal\n"
        "  dimension J horizontal\n"
        "  dimension K vertical\n"
        "  scalar dt float64\n"
        "  field u float64 [I, J, K] unit I\n"
        "  field out float64 [I, J, K] unit I\n"
        f"  group 0 ({box})\n"
        "  step 0\n"
        "    nest n0 group 0  # stores out; I has unit stride in 2 of 2 fields\n"
        f"      reads u ({box})\n"
        "      %1 float64 argument dt\n"
        "      parallel K: start(out, K) .. stop(out, K)\n"
        "        parallel J: start(out, J) .. stop(out, J)\n"
        "          vector I: start(out, I) .. stop(out, I)\n"
        "            %0 float64 load u[0, 0, 0]\n"
        "            %2 float64 mul %0 %1\n"
        "            %3 float64 store out %2\n"
    )


def test_a_domain_known_to_be_empty_has_no_nest() -> None:
    graph, dims = Graph(), (I, K)
    u = graph.input("u", dims, REAL)
    fields = [("u", REAL, dims), ("out", REAL, dims)]
    nowhere = (Range(I, Const(4), Const(4)), whole("out", dims)[1])
    lowered = make_program(
        "copies", graph, fields, [("out", nowhere, u)], [("out", whole("out", dims), u)]
    )

    kernel, groups = schedule(lowered, all_unit(lowered, I), RULES)

    assert [nest.group for nest in nests_of(kernel)] == [1]
    assert [step.statement for step in kernel.steps] == [1]
    assert len(groups) == 2


def test_the_contiguous_dimension_is_vectorised_whichever_it_is() -> None:
    lowered = laplacians(1)
    orders = []
    for dim in (I, J):
        kernel, _ = schedule(lowered, all_unit(lowered, dim), RULES)
        orders.append([loop.range.dim for loop in nests_of(kernel)[0].loops])
    assert orders == [[J, I], [I, J]]


def test_a_column_of_one_horizontal_dimension_is_walked_inside() -> None:
    graph, dims = Graph(), (I, K)
    u = graph.input("u", dims, REAL)
    lowered = make_program(
        "copy", graph, [("u", REAL, dims), ("out", REAL, dims)], [("out", whole("out", dims), u)]
    )
    kernel, _ = schedule(lowered, Variant(), RULES)
    assert [str(loop.range.dim.value) for loop in nests_of(kernel)[0].loops] == ["I", "K"]


def test_a_value_at_few_points_is_computed_where_it_is_used() -> None:
    kernel, _ = schedule(laplacians(2), Variant(), RULES)
    assert len(nests_of(kernel)) == 1
    assert [note.partition(" ")[2] for note in kernel.notes] == [
        "is computed in place: 5 points x 5 operations, 20 again <= 29 to store"
    ]


def test_a_value_at_many_points_becomes_an_array_with_its_halo() -> None:
    kernel, _ = schedule(laplacians(3), Variant(), RULES)
    (array,) = [buffer for buffer in kernel.buffers if buffer.memory == "arena"]
    assert str(array.box[0]) == "I: start(out, I) + -2 .. stop(out, I) + 2"
    assert array.reason.endswith("13 points x 5 operations, 60 again > 29 to store")


def test_a_number_that_its_place_chooses_is_no_array() -> None:
    graph, dims = Graph(), (I, J)
    inside = (Side(I, Const(0), Const(9)),)
    flag = graph.region((inside,), graph.literal(REAL, "1.0"), graph.literal(REAL, "0.0"))
    around = [graph.shift(flag, I, offset) for offset in range(-12, 12)]
    total = reduce(lambda one, other: graph.map("add", (one, other)), around)
    value = graph.map("mul", (graph.input("u", dims, REAL), total))
    fields = [("u", REAL, dims), ("out", REAL, dims)]
    lowered = make_program("flags", graph, fields, [("out", whole("out", dims), value)])

    kernel, _ = schedule(lowered, Variant(), RULES)

    assert "%2 is computed in place: only its place decides" in kernel.notes
    assert len(nests_of(kernel)) == 1
    # where a test costs as much as other operations, an array is as good
    kernel, _ = schedule(lowered, Variant(), Rules(GpuTarget("sm_90")))
    assert not any("only its place" in note for note in kernel.notes)


def test_shifts_at_the_inputs_hide_no_common_value() -> None:
    lowered = infer_boxes(push_shifts(laplacians(3).program))
    kernel, _ = schedule(lowered, Variant(), RULES)
    assert len(nests_of(kernel)) == 2


def test_an_option_overrides_the_cost_model() -> None:
    row = schedule(laplacians(2), Variant(), RULES)[0].notes[0].partition(" ")[0]
    kernel, _ = schedule(laplacians(2), Variant(), Rules(TARGET, arrays=(row,)))
    assert len(nests_of(kernel)) == 2
    kernel, _ = schedule(laplacians(3), Variant(), Rules(TARGET, inline=("%10",)))
    assert "%10 is computed in place: asked for, or planned" in kernel.notes


def test_a_chain_of_200_stencils_stays_linear_and_shares_memory() -> None:
    kernel, _ = make_loops(laplacians(200), Variant(), RULES, (plan_arena,))
    nests = nests_of(kernel)
    assert len(nests) == 100
    assert max(len(nest.body) for nest in nests) < 60
    assert len(kernel.slots) == 2


def test_work_that_an_outer_loop_would_repeat_is_done_once() -> None:
    graph, dims = Graph(), (I, J, K)
    z = graph.map("exp", (graph.input("z", (I, J), REAL),))
    value = graph.map("mul", (graph.input("u", dims, REAL), z))
    fields = [("z", REAL, (I, J)), ("u", REAL, dims), ("out", REAL, dims)]
    lowered = make_program("decay", graph, fields, [("out", whole("out", dims), value)])
    kernel, _ = schedule(lowered, all_unit(lowered, I), RULES)
    assert len(nests_of(kernel)) == 2
    kernel, _ = schedule(lowered, all_unit(lowered, K), RULES)
    assert len(nests_of(kernel)) == 1


def test_a_shifted_update_in_place_goes_through_an_array() -> None:
    graph, dims = Graph(), (I, J)
    moved = graph.shift(graph.input("u", dims, REAL), I, 1)
    lowered = make_program("move", graph, [("u", REAL, dims)], [("u", whole("u", dims), moved)])
    kernel, _ = schedule(lowered, Variant(), RULES)
    stored = [row.buffer for row in accesses(kernel, Store)]
    assert stored == ["@u.0", "u"]


def test_reading_a_version_that_memory_does_not_hold_is_refused() -> None:
    graph, dims = Graph(), (I,)
    later = graph.input("u", dims, REAL, 1)
    fields = [("u", REAL, dims), ("out", REAL, dims)]
    lowered = make_program("odd", graph, fields, [("out", whole("out", dims), later)])
    with pytest.raises(ValueError, match="version 1 of 'u', where statements read version 0"):
        schedule(lowered, Variant(), RULES)


def averages(count: int) -> Lowered:
    """Return a chain of averages of two neighbours, each of three operations."""
    graph, dims = Graph(), (I, J)
    value = graph.input("u", dims, REAL)
    for _ in range(count):
        half = graph.map("mul", (graph.literal(REAL, "0.5"), graph.shift(value, I, 1)))
        value = graph.map("add", (graph.map("mul", (graph.literal(REAL, "0.5"), value)), half))
    fields = [("u", REAL, dims), ("out", REAL, dims)]
    return make_program("averages", graph, fields, [("out", whole("out", dims), value)])


def arrays_of(lowered: Lowered) -> list[str]:
    kernel, _ = schedule(lowered, Variant(), RULES)
    return [buffer.reason for buffer in kernel.buffers if buffer.memory == "arena"]


def test_a_chain_that_is_cheap_at_each_step_is_cut_where_much_is_computed_again() -> None:
    # Without the rule a value is stored only where it alone is repeated 11 times.
    assert arrays_of(averages(6)) == []
    (reason,) = arrays_of(averages(9))
    assert reason.endswith("is an array: 6 points x 1 operations, 45 again with those of its users")


def test_few_values_below_a_deep_chain_are_not_stored() -> None:
    # The last average before the input saves one operation, however deep the chain above it.
    assert arrays_of(averages(7)) == []


def test_an_expensive_value_is_stored_and_not_the_cheap_ones_that_share_it() -> None:
    graph, dims = Graph(), (I, J)
    u, w = (graph.input(name, dims, REAL) for name in ("u", "w"))
    zero = graph.literal(REAL, "0.0")
    ratio = u
    for _ in range(5):
        ratio = graph.map("div", (ratio, w))
    up, down = (graph.map(op, (ratio, zero)) for op in ("maximum", "minimum"))
    flux = graph.map("add", (graph.shift(up, I, 1), graph.shift(up, I, -1)))
    other = graph.map("add", (graph.shift(down, I, 1), graph.shift(down, I, -1)))
    value = graph.map("mul", (flux, other))
    fields = [(name, REAL, dims) for name in ("u", "w", "out")]
    lowered = make_program("split", graph, fields, [("out", whole("out", dims), value)])
    kernel, _ = schedule(lowered, Variant(), RULES)
    (array,) = [buffer for buffer in kernel.buffers if buffer.memory == "arena"]
    assert array.reason.endswith("2 points x 60 operations, 60 again > 29 to store")
    assert sum(note.endswith("4 beside shared arrays") for note in kernel.notes) == 2


def test_extrema_and_divisions_count_as_much_as_they_take() -> None:
    graph, dims = Graph(), (I, J)
    u, w = (graph.input(name, dims, REAL) for name in ("u", "w"))
    value = graph.map("maximum", (graph.map("div", (u, w)), u))
    around = [graph.shift(value, dim, n) for dim in (I, J) for n in (1, -1)]
    total = graph.map(
        "add", (graph.map("add", tuple(around[:2])), graph.map("add", tuple(around[2:])))
    )
    fields = [(name, REAL, dims) for name in ("u", "w", "out")]
    lowered = make_program("limited", graph, fields, [("out", whole("out", dims), total)])
    (reason,) = arrays_of(lowered)
    assert reason.endswith("is an array: 4 points x 16 operations, 48 again > 29 to store")
