from hypothesis import given, settings, strategies as st

from fieldforge.stages.ir.bounds import evaluate
from fieldforge.stages.ir.dataflow import Const, Region, ScalarSymbol
from fieldforge.stages.lower import regions
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.lower.worklist import finish

from .trees import I, J

n, m = ScalarSymbol("n"), ScalarSymbol("m")

ATOMS = st.tuples(
    st.sampled_from([I, J]),
    st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]),
    st.sampled_from([n, m]) | st.integers(-2, 4).map(Const),
)
FORMULAS = st.recursive(
    ATOMS,
    lambda inner: st.tuples(st.sampled_from(["and", "or"]), inner, inner),
    max_leaves=6,
)
COMPARE = {
    "lt": int.__lt__, "le": int.__le__, "gt": int.__gt__, "ge": int.__ge__,
    "eq": int.__eq__, "ne": int.__ne__,
}  # fmt: skip
numbers = st.integers(-3, 5)


def made(formula):
    if formula[0] in ("and", "or"):
        return regions.pair(formula[0], made(formula[1]), made(formula[2]))
    return regions.inside(*formula)


def truth(formula, point, at):
    if formula[0] in ("and", "or"):
        both = [truth(each, point, at) for each in formula[1:]]
        return all(both) if formula[0] == "and" else any(both)
    dim, op, bound = formula
    return COMPARE[op](point[dim], evaluate(bound, at))


def holds(box, point, at):
    return all(
        (side.start is None or evaluate(side.start, at) <= point[side.dim])
        and (side.stop is None or point[side.dim] < evaluate(side.stop, at))
        for side in box
    )


def chosen(graph, ref, point, at):
    """Follow the regions to the branch of a point."""
    while isinstance(value := graph[ref], Region):
        ref = value.then if any(holds(box, point, at) for box in value.boxes) else value.otherwise
    return value.text


@settings(max_examples=80, deadline=None)
@given(FORMULAS, numbers, numbers, numbers, numbers)
def test_a_choice_by_a_region_is_the_one_by_its_condition(formula, i, j, first, second):
    at, point = {n: first, m: second}.__getitem__, {I: i, J: j}
    graph = Graph()
    yes, no = (graph.literal("bool", text) for text in ("True", "False"))

    root = finish(regions.choice(graph, made(formula), yes, no))

    assert chosen(graph, root, point, at) == str(truth(formula, point, at))


@settings(max_examples=80, deadline=None)
@given(st.lists(st.lists(ATOMS, max_size=3), max_size=3), numbers, numbers, numbers, numbers)
def test_what_is_around_boxes_is_in_parts_that_do_not_overlap(atoms, i, j, first, second):
    at, point = {n: first, m: second}.__getitem__, {I: i, J: j}
    boxes = [made(("and", a, b)) for a, b, *_ in (each for each in atoms if len(each) > 1)]
    boxes = tuple(box for box in boxes if isinstance(box, tuple))

    around = regions.without(regions.EVERYWHERE, boxes)

    inside = any(holds(box, point, at) for box in boxes)
    assert sum(holds(part, point, at) for part in around) == (not inside)


def test_a_long_condition_is_one_region_for_each_part_and_needs_no_recursion():
    graph = Graph()
    yes, no = (graph.literal("bool", text) for text in ("True", "False"))
    left = right = regions.inside(I, "eq", Const(0))
    for index in range(1, 3000):
        left = regions.pair("or", left, regions.inside(I, "eq", Const(2 * index)))
        right = regions.pair("or", regions.inside(I, "eq", Const(2 * index)), right)

    for formula in (left, right):
        before = len(graph.values)
        finish(regions.choice(graph, formula, yes, no))
        assert len(graph.values) - before <= 3000


def test_what_is_surely_empty_is_no_region():
    graph = Graph()
    yes, no = (graph.literal("bool", text) for text in ("True", "False"))
    never = regions.pair("and", regions.inside(I, "lt", n), regions.inside(I, "ge", n))

    assert finish(regions.choice(graph, never, yes, no)) == no
    assert regions.is_empty(regions.met(never, regions.inside(I, "lt", m)))
