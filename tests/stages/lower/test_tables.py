import pytest

from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.types import FieldType, OffsetType
from fieldforge.runtime.process.errors import DSLError, MissingOffsetError
from fieldforge.stages.ir import syntax
from fieldforge.stages.ir.dataflow import Table
from fieldforge.stages.lower.tables import Tables

from .trees import FLOAT64

Cell, Edge = Dimension("Cell"), Dimension("Edge")
Local, Other = (Dimension(name, DimensionKind.LOCAL) for name in ("E2C", "Other"))
E2C = OffsetType("E2C", Cell, (Edge, Local))
NAMED_APART = OffsetType("edges", Cell, (Edge, Other))


def tables(*offsets: OffsetType, given=(("E2C", 2, True), ("edges", 3, False))) -> Tables:
    type_ = FieldType((Edge, Local), FLOAT64)
    nodes = tuple(syntax.Neighbours(field=0, offset=offset, type=type_) for offset in offsets)
    return Tables.of(given, [nodes])


def test_a_table_has_the_dimensions_of_its_offset_and_the_facts_of_the_call():
    found = tables(E2C)

    assert found.at(E2C) == Table("E2C", Cell, Edge, Local, 2, True)
    assert list(found.used) == ["E2C"]


def test_a_reduction_finds_the_table_of_its_dimension_by_name():
    assert tables(E2C).along(Local, (Edge, Local)).name == "E2C"
    assert tables(E2C, NAMED_APART).along(Other, (Edge, Other)).name == "edges"


def test_a_sparse_field_says_whose_neighbours_it_holds():
    found = tables()

    assert found.along(Local, (Edge, Local)).target is Edge
    with pytest.raises(DSLError, match="has no unique target dimension") as refused:
        found.along(Local, (Local,))
    (hint,) = refused.value.hints
    assert hint == f"Reduce a field with exactly one horizontal dimension besides '{Local.value}'."


def test_an_offset_that_comes_later_says_where_the_neighbours_lie():
    found = tables()
    found.along(Local, (Edge, Local))

    assert found.at(E2C).source is Cell
    assert found.used["E2C"].source is Cell


def test_a_table_that_the_call_does_not_give_is_named():
    with pytest.raises(MissingOffsetError, match="'E2C' not found in offset provider"):
        tables(E2C, given=()).at(E2C)


def test_two_offsets_of_one_name_and_other_dimensions_are_refused():
    found = tables(E2C)
    found.at(E2C)

    with pytest.raises(DSLError, match="Two offsets of different dimensions"):
        found.at(OffsetType("E2C", Edge, (Cell, Local)))
