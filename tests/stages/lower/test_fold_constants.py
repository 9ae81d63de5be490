import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fieldforge.runtime.language import operations
from fieldforge.runtime.language.operation_table import NUMBERS
from fieldforge.runtime.language.operations import BY_NAME
from fieldforge.runtime.language.types import FLOATS
from fieldforge.stages.ir.dataflow import Dataflow, Input, Leaf, Literal, Map, Statement, Store
from fieldforge.stages.ir.literal import number, spell
from fieldforge.stages.lower.fold_constants import INEXACT, fold_constants, keeps_values
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.lower.rewrite import remove_dead


def folded(build):
    """Fold out = build(graph) and return the values that are left."""
    graph = Graph()
    root = build(graph)
    dtype = graph[root].dtype
    leaves = [
        Leaf("x", (0,), "field", "float64"),
        Leaf("k", (1,), "scalar", "int32"),
        Leaf("b", (2,), "scalar", "bool"),
        Leaf("out", (3,), "field", dtype),
    ]
    program = Dataflow(
        "run",
        ("x", "k", "b", "out"),
        tuple(leaves),
        tuple(graph.values),
        (Statement((Store("out", (), root),)),),
    )
    return remove_dead(fold_constants(program)).values


def x(graph):
    return graph.input("x", (), "float64")


def k(graph):
    return graph.scalar("k", "int32")


def f(graph, text):
    return graph.literal("float64", text)


def i(graph, text):
    return graph.literal("int32", text)


def only_literal(values):
    assert len(values) == 1
    assert isinstance(values[0], Literal)
    return values[0].text


@pytest.mark.parametrize(
    ("op", "dtype", "args", "expected"),
    [
        ("add", "float64", ("0.1", "0.2"), "0.30000000000000004"),
        ("add", "float32", ("0.1", "0.2"), "0.3"),
        ("div", "int32", ("-5", "2"), "-2"),
        ("floordiv", "int32", ("-5", "2"), "-3"),
        ("mod", "int32", ("-5", "3"), "1"),
        ("div", "int32", ("1", "0"), "0"),
        ("add", "int32", ("2147483647", "1"), "-2147483648"),
        ("mul", "float64", ("-1.0", "0.0"), "-0.0"),
        ("div", "float64", ("1.0", "0.0"), "inf"),
        ("sqrt", "float64", ("2.0",), "1.4142135623730951"),
        ("lt", "int32", ("1", "2"), "True"),
        ("pow", "int32", ("3", "4"), "81"),
    ],
)
def test_literals_are_computed(op, dtype, args, expected):
    values = folded(lambda g: g.map(op, [g.literal(dtype, text) for text in args]))

    assert only_literal(values) == expected


@pytest.mark.parametrize("op", sorted(INEXACT))
def test_what_libraries_disagree_on_is_not_computed(op):
    values = folded(lambda g: g.map(op, [f(g, "0.5")] * BY_NAME[op].arity))

    assert values[-1].op == op


def test_a_nan_is_not_computed_but_left_to_the_machine():
    values = folded(lambda g: g.map("sub", (f(g, "inf"), f(g, "inf"))))

    assert isinstance(values[-1], Map)


@pytest.mark.parametrize(
    "same",
    [
        lambda g: g.map("mul", (x(g), f(g, "1.0"))),
        lambda g: g.map("mul", (f(g, "1.0"), x(g))),
        lambda g: g.map("div", (x(g), f(g, "1.0"))),
        lambda g: g.map("sub", (x(g), f(g, "0.0"))),
        lambda g: g.map("pow", (x(g), f(g, "1.0"))),
        lambda g: g.map("neg", (g.map("neg", (x(g),)),)),
        lambda g: g.map("cast", (x(g),), "float64"),
        lambda g: g.map("select", (g.literal("bool", "True"), x(g), f(g, "3.0"))),
        lambda g: g.map("select", (g.scalar("b", "bool"), x(g), x(g))),
    ],
)
def test_what_changes_nothing_vanishes(same):
    (value,) = folded(same)

    assert isinstance(value, Input)


@pytest.mark.parametrize(
    "other",
    [
        lambda g: g.map("add", (x(g), f(g, "0.0"))),  # -0.0 + 0.0 is 0.0
        lambda g: g.map("sub", (x(g), f(g, "-0.0"))),
        lambda g: g.map("mul", (x(g), f(g, "0.0"))),
        lambda g: g.map("sub", (x(g), x(g))),
        lambda g: g.map("floordiv", (x(g), f(g, "1.0"))),
        lambda g: g.map("pow", (x(g), f(g, "3.0"))),
        lambda g: g.map("pow", (x(g), f(g, "0.5"))),
        lambda g: g.map("cast", (g.map("cast", (x(g),), "float32"),), "float64"),
        lambda g: g.map("cast", (g.map("cast", (x(g),), "int32"),), "float64"),
    ],
)
def test_what_only_looks_the_same_stays(other):
    graph = Graph()
    root = other(graph)

    assert folded(other)[-1] == graph[root]


def test_integers_have_a_neutral_zero():
    assert folded(lambda g: g.map("add", (i(g, "0"), k(g))))[0].name == "k"


def test_a_square_is_a_product_and_a_cube_is_not():
    values = folded(lambda g: g.map("pow", (x(g), f(g, "2.0"))))

    assert (values[-1].op, values[-1].args) == ("mul", (0, 0))


def test_a_condition_that_is_known_leaves_one_branch():
    def build(g):
        condition = g.map("and", (g.map("gt", (i(g, "4"), i(g, "3"))), g.scalar("b", "bool")))
        return g.map("select", (condition, x(g), g.map("neg", (x(g),))))

    values = folded(build)

    assert [value.op for value in values if isinstance(value, Map)] == ["neg", "select"]


def test_a_lossless_cast_inside_a_cast_vanishes():
    values = folded(lambda g: g.map("cast", (g.map("cast", (k(g),), "float64"),), "int64"))

    assert [type(value).__name__ for value in values] == ["Scalar", "Map"]
    assert values[1].dtype == "int64"


@pytest.mark.parametrize("source", ["bool", "int8", "int32", "uint32", "int64", "float32"])
@pytest.mark.parametrize("target", ["int32", "int64", "float32", "float64"])
def test_a_cast_that_keeps_values_brings_every_value_back(source, target):
    if not keeps_values(source, target):
        return
    kind = np.dtype(source)
    edges = [0, 1] if kind.kind in "bf" else [np.iinfo(kind).min, np.iinfo(kind).max - 1]

    for edge in edges:
        value = kind.type(edge)
        there = operations.apply("cast", value, dtype=target)
        assert operations.apply("cast", there, dtype=source) == value


PURE = sorted(name for name, row in BY_NAME.items() if row.takes in (NUMBERS, FLOATS))


@given(
    st.sampled_from(PURE),
    st.sampled_from(["float32", "float64", "int32", "int64"]),
    st.lists(st.sampled_from([-3, -1, 0, 1, 2, 7]), min_size=3, max_size=3),
)
@settings(deadline=None)
def test_folding_gives_the_bits_of_the_operation(op, dtype, numbers):
    row = BY_NAME[op]
    operands = [np.dtype(dtype).type(each) for each in numbers[: row.arity]]
    if dtype not in row.takes or (row.ulps and dtype in FLOATS):
        return
    expected = operations.apply(op, *operands)

    values = folded(lambda g: g.map(op, [g.literal(dtype, spell(each)) for each in operands]))

    if isinstance(values[-1], Literal):
        result = number(values[-1].text, values[-1].dtype)
        assert result.tobytes() == np.dtype(values[-1].dtype).type(expected).tobytes()


def test_a_float_between_two_integers_stays_where_it_saturates_and_a_cast_would_wrap():
    def cast(source, between, target):
        def build(graph):
            inner = graph.map("cast", (graph.input("x", (), source),), between)
            return graph.map("cast", (inner,), target)

        graph = Graph()
        root = build(graph)
        out = Leaf("out", (1,), "field", target)
        leaves = (Leaf("x", (0,), "field", source), out)
        store = Statement((Store("out", (), root),))
        program = Dataflow("run", ("x", "out"), leaves, tuple(graph.values), (store,))
        return len(remove_dead(fold_constants(program)).values) - 1

    assert cast("int8", "float64", "uint32") == 2
    assert cast("int8", "float64", "int32") == 1
    assert cast("uint8", "float64", "uint32") == 1
    assert cast("int8", "int64", "uint32") == 1
    assert cast("int8", "float64", "float32") == 1
