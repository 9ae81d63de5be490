from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fieldforge.runtime.fields.field import make
from fieldforge.runtime.language.domain import Domain
from fieldforge.runtime.process.errors import (
    ArgumentError,
    DomainError,
    IndexOutOfBounds,
    OverlapError,
)
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.interpret.evaluation import interpret
from fieldforge.stages.interpret.stage import Entry, Interpret
from fieldforge.stages.ir import syntax
from fieldforge.stages.ir.bounds import evaluate
from fieldforge.stages.ir.dataflow import Dataflow, Input, Leaf, Statement, Store
from fieldforge.stages.ir.dataflow_text import parse
from fieldforge.stages.lower.boxes.infer_boxes import Walk, infer_boxes
from fieldforge.stages.lower.domains import whole
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.lower.passes import PASSES, lower

from ..lower.trees import LINE, I, J, K, Tree, parsed, program


def field(array, start=0, dim=I):
    array = np.asarray(array)
    return make(array, Domain((dim, (start, start + len(array)))))


def line(*numbers, start=0):
    return field(np.array(numbers, dtype=np.float64), start)


def entry(tree, variant=None):
    (made,) = Interpret().run(lowered=lower(tree, variant or Variant())).values()
    return made


def swap():
    tree = Tree()
    pair = tree.tuple(tree.name("b", LINE), tree.name("a", LINE))
    return tree.operator("swap", {"a": LINE, "b": LINE}, syntax.Return(pair))


PAIRED = """\
program run(pair, out)
dimension I horizontal
field pair.0: [I] float64
scalar pair.1: int32
field out: [I] float64
%0 = input pair.0 : [I] float64
%1 = scalar pair.1 : int32
%2 = cast %1 : float64
%3 = mul %0 %2 : [I] float64
statement
  out[I: 0 .. pair.1] = %3
"""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((line(1),), "missing 1 required positional argument: 'out'"),
        (((line(1), np.int64(1)), line(1)), "'pair.1' to be of type 'int32', got 'int64'"),
        (((line(1), True), line(1)), "'pair.1' to be of type 'int32', got 'bool'"),
        (((line(1), 2**40), line(1)), "'pair.1' to be of type 'int32', got 'int64'"),
        (((line(1), 1.5), line(1)), "'pair.1' to be of type 'int32', got 'float64'"),
        ((line(1), line(1)), "'pair' to be a tuple or collection of 2 elements, got 'Field"),
        (((np.zeros((3, 3)), 1), line(1)), "got 'array with 2 axes of float64'"),
        (((field(np.zeros(3), dim=J), 1), line(1)), r"got 'Field\[\[J\], float64\]'"),
        (((field(np.zeros(3, "f")), 1), line(1)), r"got 'Field\[\[I\], float32\]'"),
    ],
)
def test_an_argument_of_the_wrong_type_is_refused(arguments, words):
    with pytest.raises(ArgumentError, match=words):
        Entry(Lowered(parse(PAIRED)[0]))(*arguments)


def test_outputs_that_share_memory_are_refused():
    array = np.zeros(4)
    operator = swap()
    root = program(
        dict.fromkeys("abcd", LINE),
        (operator, ["a", "b"], [syntax.Output("c", ()), syntax.Output("d", ())]),
    )

    with pytest.raises(
        OverlapError, match="'c' and 'd' are written by one statement and share memory"
    ):
        entry(parsed(root, operator))(
            line(1, 2, 3), line(1, 2, 3), field(array[:3]), field(array[1:])
        )


HALO = 12
LEAVES = (
    Leaf("u", (0,), "field", "float64", (I, J, K)),
    Leaf("p", (1,), "field", "float64", (I, J)),
    Leaf("a", (2,), "field", "float64", (K,)),
    Leaf("x", (3,), "scalar", "float64"),
    Leaf("b", (4,), "scalar", "bool"),
    Leaf("out", (5,), "field", "float64", (I, J, K)),
    Leaf("w", (6,), "field", "float64", (I, J)),
)


@st.composite
def random_programs(draw):
    """Two statements over values with different dimensions, shifts, selects and literals."""
    graph = Graph()
    pool = [graph.input(leaf.name, leaf.dims, "float64") for leaf in LEAVES[:3]]
    pool += [graph.scalar("x", "float64"), graph.literal("float64", "1.0")]
    pool += [graph.literal("float64", draw(st.sampled_from(["0.0", "-0.0", "2.0", "0.1"])))]
    flag = graph.scalar("b", "bool")
    shifts = 0
    for _ in range(draw(st.integers(1, 14))):
        pick = st.sampled_from(pool)
        op = draw(
            st.sampled_from(
                ["add", "sub", "mul", "div", "neg", "select", "maximum", "pow"] + ["shift"] * 4
            )
        )
        if op == "shift" and shifts < HALO // 2:
            shifts += 1
            made = graph.shift(
                draw(pick), draw(st.sampled_from([I, J, K])), draw(st.sampled_from([-2, -1, 1, 2]))
            )
        elif op == "select":
            condition = draw(st.sampled_from([flag, graph.map("lt", (draw(pick), draw(pick)))]))
            made = graph.map("select", (condition, draw(pick), draw(pick)))
        elif op in ("neg", "shift"):
            made = graph.map("neg", (draw(pick),))
        elif op == "pow":
            made = graph.map("pow", (draw(pick), graph.literal("float64", "2.0")))
        else:
            made = graph.map(op, (draw(pick), draw(pick)))
        pool.append(made)
    flat = [ref for ref in pool if set(graph[ref].dims) <= {I, J}]
    statements = (
        Statement(
            (Store("out", whole(LEAVES[5]), pool[-1]), Store("w", whole(LEAVES[6]), flat[-1]))
        ),
        Statement((Store("w", whole(LEAVES[6]), draw(st.sampled_from(flat))),)),
    )
    names = tuple(leaf.name for leaf in LEAVES)
    return Dataflow("run", names, LEAVES, tuple(graph.values), statements)


def results(lowered, seed):
    random = np.random.default_rng(seed)
    size = {I: 4, J: 3, K: 2}

    def data(dims, halo):
        domain = Domain(*((dim, (-halo, size[dim] + halo)) for dim in dims))
        return make(random.integers(-3, 4, [size[dim] + 2 * halo for dim in dims]) / 2, domain)

    arguments = {leaf.name: data(leaf.dims, HALO) for leaf in LEAVES[:3]}
    arguments |= {"x": np.float64(random.normal()), "b": np.bool_(seed % 2)}
    arguments |= {leaf.name: data(leaf.dims, 0) for leaf in LEAVES[5:]}
    interpret(lowered, arguments)
    return [arguments[name].ndarray.copy() for name in ("out", "w")]


@given(random_programs(), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_every_pass_keeps_every_bit(run, seed):
    expected = results(Lowered(run), seed)

    for step in (*PASSES, lambda each: infer_boxes(each).program):
        run = step(run)
        for ours, theirs in zip(results(Lowered(run), seed), expected, strict=True):
            # NaN equals NaN here: their bits are no part of the language
            np.testing.assert_array_equal(ours, theirs)
            assert (np.signbit(ours) == np.signbit(theirs))[~np.isnan(ours)].all()


@given(random_programs())
@settings(max_examples=40, deadline=None)
def test_fields_of_exactly_the_range_that_is_read_are_large_enough_and_no_larger(run):
    lowered = infer_boxes(run)
    needed = hulls((read.name, read.box) for read in lowered.reads)
    hard = hulls(hard_reads(run))

    Entry(lowered)(*exact(needed))

    for name, ends in needed.items():
        for axis, (start, stop) in enumerate(ends):
            smaller = {**needed, name: [*ends[:axis], (start, stop - 1), *ends[axis + 1 :]]}
            if name in hard and hard[name][axis][1] == stop:
                with pytest.raises(DomainError, match=f"'{name}' is too small: .* reads"):
                    Entry(lowered)(*exact(smaller))
            elif stop - start > 1:
                with suppress(IndexOutOfBounds):  # where the mask takes what is missing
                    Entry(lowered)(*exact(smaller))


def hulls(boxes):
    """Return the smallest ranges around the boxes of each name."""
    found: dict[str, list[tuple[int, int]]] = {}
    for name, box in boxes:
        ends = [(at(each.start), at(each.stop)) for each in box]
        old = found.get(name, ends)
        found[name] = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(ends, old, strict=True)]
    return found


def hard_reads(run):
    """Yield what must exist of each input: not what `where` may hide."""
    walk = Walk.of(run)
    for statement in run.statements:
        for ref, need in walk.needs(statement).items():
            part, value = walk.areas.hard(need), run.values[ref]
            if isinstance(value, Input) and part:
                yield value.name, walk.areas.of(value.dims, part)


def at(bound):
    return evaluate(bound, lambda symbol: 0 if symbol.end == "start" else 3)


def exact(ranges):
    """Arguments whose inputs live on the given ranges, and whose outputs on 0 .. 3."""
    arguments: list[object] = []
    for leaf in LEAVES:
        if leaf.kind == "scalar":
            arguments.append(1.0 if leaf.dtype == "float64" else True)
            continue
        ends = ranges.get(leaf.name, [(0, 3)] * len(leaf.dims))
        domain = Domain(*zip(leaf.dims, ends, strict=True))
        arguments.append(make(np.zeros([stop - start for start, stop in ends]), domain))
    return arguments
