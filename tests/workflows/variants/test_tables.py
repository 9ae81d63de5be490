import pytest

from fieldforge.runtime.fields.constructors import as_connectivity
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.process.errors import ArgumentError, MissingOffsetError
from fieldforge.workflows.variants.tables import tables_of

CELL, EDGE = Dimension("Cell"), Dimension("Edge")
LOCAL = Dimension("C2E", DimensionKind.LOCAL)


def table(rows, **options):
    return as_connectivity([CELL, LOCAL], EDGE, rows, **options)


FULL = table([[0, 1, 2], [2, 3, 4]])
HOLES = table([[0, 1, -1]])


@pytest.mark.parametrize(("given", "expected"), [(FULL, (3, False)), (HOLES, (3, True))])
def test_a_build_knows_width_and_holes_of_a_table(given, expected):
    assert tables_of({"C2E": given}, [("C2E", True)]) == (("C2E", *expected),)


def test_the_type_of_a_table_says_as_much_as_the_table():
    assert tables_of({"C2E": HOLES.__gt_type__()}, [("C2E", True)]) == (("C2E", 3, True),)


def test_further_entries_make_no_difference():
    provider = {"Koff": Dimension("K"), "C2E": FULL, "E2C": HOLES}

    assert tables_of(provider, [("C2E", True)]) == tables_of({"C2E": FULL}, [("C2E", True)])


@pytest.mark.parametrize("provider", [None, {}, {"C2E": Dimension("K")}])
def test_a_table_that_must_be_there_is_a_key_error(provider):
    with pytest.raises(MissingOffsetError, match="Offset 'C2E' not found in offset provider"):
        tables_of(provider, [("C2E", True)])


def test_a_table_that_may_be_there_may_be_missing():
    assert tables_of({}, [("C2E", False)]) == ()


def test_something_else_is_no_table():
    with pytest.raises(
        ArgumentError, match="to be a neighbour table, got an object of type 'list'"
    ):
        tables_of({"C2E": [[0, 1]]}, [("C2E", True)])
