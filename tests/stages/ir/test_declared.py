"""A decoded tree is what its classes declare, part by part."""

import attrs
import pytest

from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.language.types import FieldType, ScalarType, TupleType
from fieldforge.stages.ir import declared, stencil, syntax
from fieldforge.stages.ir.declared import check

BOOL = ScalarType("bool")
LINE = FieldType((Dimension("I"),), ScalarType("float64"))
NAME = syntax.Name(type=LINE, id="u")
OPERATOR = syntax.Operator(
    "rise",
    (syntax.Parameter("u", LINE),),
    (NAME,),
    (syntax.If(0, (syntax.Return(0),), ()), syntax.Return(0)),
    TupleType((LINE, BOOL)),
)


def test_a_tree_of_the_declared_types_is_accepted():
    check(OPERATOR, syntax.Root)
    check(
        (OPERATOR, (("rise:1", OPERATOR),)),
        tuple[syntax.Root, tuple[tuple[str, syntax.Callee], ...]],
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 3}, "'Operator.name' must be str, got int"),
        ({"name": None}, "got NoneType"),
        ({"parameters": [NAME]}, r"must be tuple\[.*\], got list|must be tuple, got list"),
        ({"parameters": (NAME,)}, "'Operator.parameters' must be Parameter, got Name"),
        ({"nodes": (BOOL,)}, "'Operator.nodes' must be Expression, got ScalarType"),
        ({"body": (syntax.If(True, (), ()),)}, "'If.condition' must be int, got bool"),
        ({"body": (syntax.If(0, (NAME,), ()),)}, "'If.then' must be .*, got Name"),
        ({"result": "bool"}, "'Operator.result' must be .*, got str"),
        ({"name": "rise; x"}, "'Operator.name' must be a word, got 'rise; x'"),
        ({"name": "x" * 300}, "must be a word"),
    ],
)
def test_a_part_of_another_type_is_named(change, said):
    with pytest.raises(ValueError, match=said):
        check(attrs.evolve(OPERATOR, **change), syntax.Root)


def test_a_value_is_one_of_the_declared_ones():
    scalar = stencil.Variable("w", "scalar", "float64", "")

    check(scalar, stencil.Variable)
    with pytest.raises(ValueError, match=r"'Variable.kind' must be Literal, got str"):
        check(attrs.evolve(scalar, kind="anything"), stencil.Variable)


def test_a_tuple_has_the_declared_length():
    with pytest.raises(ValueError, match="got tuple"):
        check(("a", 1, 2), tuple[str, int])


def test_parts_that_are_shared_count_as_often_as_they_are_reached(monkeypatch):
    monkeypatch.setattr(declared, "MOST_PARTS", 1000)
    shared = LINE
    for _ in range(20):
        shared = TupleType((shared, shared))

    with pytest.raises(ValueError, match="more than 1000 parts"):
        check(syntax.Name(type=shared, id="u"), syntax.Expression)
