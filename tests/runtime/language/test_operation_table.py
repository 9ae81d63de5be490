"""The table of operations: its rows are complete, consistent and true."""

import warnings

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.language.operation_table import NUMBERS, TABLE
from fieldforge.runtime.language.operations import BY_NAME, POINTWISE
from fieldforge.runtime.language.types import FLOATS, SCALARS

from ...sources import names_of

I = ff.Dimension("I")


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_a_row_can_be_documented(row):
    assert row.meaning[0].isupper()
    assert row.meaning.endswith(".")
    assert row.example
    assert set(row.takes) <= set(SCALARS)


def test_names_are_unique():
    assert len(BY_NAME) == len(TABLE)
    assert len(POINTWISE) == sum(bool(row.builtin) for row in TABLE)


def test_rows_are_frozen():
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        BY_NAME["add"].cost = 2


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_the_function_of_a_row_has_its_arity_and_dtypes(row):
    for dtype in row.takes:
        operands = [np.array([1], dtype)] * row.arity
        if row.name == "select":
            operands[0] = np.array([True])

        target = [np.dtype("int32")] if row.gives == "target" else []
        with np.errstate(all="ignore"):
            result = row.compute(*operands, *target)

        expected = {"operand": dtype, "bool": "bool", "target": "int32"}[row.gives]
        assert result.dtype == expected, dtype


@pytest.mark.parametrize("backend", [None, ff.reference], ids=["embedded", "reference"])
@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
def test_the_example_of_a_row_is_true(row, backend):
    text = f"def holds() -> B:\n    return broadcast({row.example}, (I,))\n"
    names = {"I": I, "B": ff.Field[ff.Dims[I], ff.bool]}
    names |= {name: getattr(ff, name) for name in ("broadcast", "astype", "int32", "float64")}
    names |= {name: getattr(ff, name) for name in POINTWISE}
    holds = names_of(text, **names)["holds"]
    out = ff.zeros({I: 2}, dtype=bool)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # embedded execution says that it is slow
        ff.field_operator(holds, backend=backend)(out=out, offset_provider={})

    assert out.asnumpy().all()


def test_inexact_operations_have_the_bounds_that_are_documented():
    bounds = {row.name: row.ulps for row in TABLE if row.ulps}

    assert bounds.pop("gamma") == 10
    assert set(bounds.values()) == {4}
    assert all(BY_NAME[name].takes in (FLOATS, NUMBERS) for name in bounds)
