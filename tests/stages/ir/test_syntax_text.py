"""The typed tree as text."""

import pytest

from fieldforge.runtime.language.dimension import Dimension, DimensionKind, flip_staggered
from fieldforge.runtime.language.types import (
    DomainType,
    FieldType,
    OffsetType,
    ScalarType,
    TupleType,
)
from fieldforge.stages.ir import syntax
from fieldforge.stages.ir.syntax_text import show

I, Ih = Dimension("I"), flip_staggered(Dimension("I"))
L = Dimension("E2C", DimensionKind.LOCAL)
E2C = OffsetType("E2C", Dimension("Cell"), (Dimension("Edge"), L))
REGION = DomainType((I,))
FLOAT, BOOL, INT = ScalarType("float64"), ScalarType("bool"), ScalarType("int32")
FIELD = FieldType((I,), FLOAT)
PAIR = TupleType((FIELD, FLOAT))


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (syntax.Name(id="u", type=FIELD), "u : Field[[I], float64]"),
        (syntax.Literal(text="-0.5", type=FLOAT), "literal -0.5 : float64"),
        (syntax.Operation(op="add", args=(0, 1), type=FLOAT), "add %0 %1 : float64"),
        (syntax.Select(condition=0, then=1, otherwise=2, type=FLOAT), "select %0 %1 %2 : float64"),
        (syntax.TupleOf(elements=(0, 1), type=PAIR), f"tuple %0 %1 : {PAIR}"),
        (syntax.TupleOf(elements=(), type=TupleType(())), "tuple : tuple[]"),
        (syntax.Element(of=3, index=1, type=FLOAT), "element %3[1] : float64"),
        (
            syntax.ShiftBy(field=0, dim=I, offset=2, type=FIELD),
            "shift %0 I+2 : Field[[I], float64]",
        ),
        (
            syntax.ShiftBy(field=0, dim=I, offset=-1, type=FIELD),
            "shift %0 I-1 : Field[[I], float64]",
        ),
        (
            syntax.ShiftBy(field=0, dim=I, offset=0, onto=Ih, type=FIELD),
            "shift %0 I+0 onto _StaggeredI : Field[[I], float64]",
        ),
        (
            syntax.Displace(field=0, dim=I, by=2, type=FIELD),
            "displace %0 I %2 : Field[[I], float64]",
        ),
        (
            syntax.Neighbour(field=0, offset=E2C, index=1, type=FLOAT),
            "neighbour %0 E2C[1] : float64",
        ),
        (syntax.Neighbours(field=0, offset=E2C, type=FLOAT), "neighbours %0 E2C : float64"),
        (syntax.Reduction(op="max", field=0, dim=L, type=FLOAT), "reduce max %0 E2C : float64"),
        (syntax.LocalElement(field=0, dim=L, index=2, type=FLOAT), "slot %0 E2C[2] : float64"),
        (syntax.Inside(dim=I, op="lt", bound=0, type=REGION), "inside I lt %0 : Domain[I]"),
        (syntax.Regions(op="or", left=0, right=1, type=REGION), "or of regions %0 %1 : Domain[I]"),
        (
            syntax.ConcatWhere(region=0, then=1, otherwise=2, type=FLOAT),
            "concat %0 %1 %2 : float64",
        ),
        (syntax.Broadcast(arg=0, type=FIELD), "broadcast %0 : Field[[I], float64]"),
        (syntax.Cast(arg=0, type=INT), "cast %0 : int32"),
        (syntax.CallOf(callee="lap:12ab", args=(0,), type=FLOAT), "call lap:12ab %0 : float64"),
        (syntax.CallOf(callee="one:12ab", args=(), type=FLOAT), "call one:12ab : float64"),
    ],
)
def test_a_node_is_one_line(node, text):
    operator = syntax.Operator("f", (), (node,), (syntax.Return(0),), node.type)

    assert show(operator, {}).split("\n") == [
        f"operator f() -> {node.type}", f"  %0  {text}", "  return %0",
    ]  # fmt: skip


def test_a_scan_says_how_it_walks():
    state = syntax.Parameter("s", FLOAT)
    scan = syntax.Scan("f", (state,), (), (syntax.Return(0),), FLOAT, I, False, ("0.5",))

    assert show(scan, {}).split("\n")[:2] == [
        "scan f(s: float64) -> float64", "  along I backward from 0.5",
    ]  # fmt: skip


def test_statements_stand_behind_the_nodes_and_branches_are_indented():
    body = (
        syntax.Unpack(("a", "rest"), 1, 0),
        syntax.Unpack(("only",), -1, 0),
        syntax.If(
            0,
            (syntax.Assign("x", 1), syntax.If(1, (syntax.Return(1),), ())),
            (syntax.Return(0),),
        ),
        syntax.Return(1),
    )

    text = show(syntax.Operator("f", (syntax.Parameter("p", PAIR),), (), body, FLOAT), {})

    assert text == "\n".join([
        f"operator f(p: {PAIR}) -> float64",
        "  a, *rest = %0",
        "  only, = %0",
        "  if %0:",
        "    x = %1",
        "    if %1:",
        "      return %1",
        "  else:",
        "    return %0",
        "  return %1",
    ])  # fmt: skip


def test_something_else_is_no_node():
    operator = syntax.Operator("f", (), (syntax.Expression(type=FLOAT),), (), FLOAT)

    with pytest.raises(TypeError, match="'Expression' is not a node"):
        show(operator, {})
