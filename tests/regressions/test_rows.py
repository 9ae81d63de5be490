"""Programs on which the first tier once differed from all other executions."""

# ruff: noqa: SIM300 - in a condition on a dimension either side may be the number

import numpy as np

import fieldforge as ff
from fieldforge.experimental import as_offset, concat_where
from fieldforge.workflows.backends.backend import BACKENDS

from ..dimensions import I, J, K, Koff
from .executions import agree, all_values

Plane = ff.Field[ff.Dims[I, K], ff.float32]
Flags = ff.Field[ff.Dims[I], ff.bool]

ROWS = BACKENDS["rows"]


@ff.field_operator(backend=None)
def hidden(n: ff.int32, a: Plane, b: Plane, flags: Flags):
    only_once = concat_where(I == 1, True, False)
    chosen = ff.where(only_once, ff.where(flags, a, ff.float32(7.0)), b)
    return concat_where((K > 1) & (I <= n), a, chosen), ff.broadcast(ff.float32(2.0), (I,))


@ff.program(backend=None)
def beside_hidden(
    b: Plane, c: ff.Field[ff.Dims[I], ff.float32], a: Plane, flags: Flags, n: ff.int32
):
    hidden(n, a, b, flags, out=(b[:, 3:], c[:1]))


def test_statements_that_share_an_array_need_not_have_what_only_others_read():
    """`a` is read where a condition holds, but not for `c` (seed 81000)."""

    def arguments():
        values = np.arange(44, dtype=np.float32).reshape(11, 4)
        return {
            "b": ff.as_field({I: (0, 11), K: (-3, 1)}, values),
            "c": ff.as_field({I: (0, 12)}, np.zeros(12, np.float32)),
            "a": ff.as_field({I: (1, 2), K: (0, 1)}, np.array([[0.5]], np.float32)),
            "flags": ff.as_field({I: (0, 12)}, np.arange(12) % 3 == 1),
            "n": np.int32(100),
        }

    agree(beside_hidden, arguments, ROWS)


Box = ff.Field[ff.Dims[I, J, K], ff.float32]


@ff.field_operator(backend=None)
def below_six(a: ff.Field[ff.Dims[I, J], ff.float32]) -> Box:
    return ff.where(concat_where(K <= 5, True, False), a, ff.float32(1e10))


@ff.program(backend=None)
def few_lanes(a: ff.Field[ff.Dims[I, J], ff.float32], out: Box, n: ff.int32):
    below_six(a, out=out, domain={I: (0, n), J: (0, 5), K: (0, 7)})


def test_many_rows_read_numbers_of_which_a_row_has_few():
    """What all rows read was copied for the lanes of one row only (seed 81002)."""

    given = {
        "a": ff.as_field({I: 1, J: 5}, np.arange(5, dtype=np.float32).reshape(1, 5)),
        "out": ff.as_field({I: 1, J: 5, K: 7}, np.zeros((1, 5, 7), np.float32)),
        "n": np.int32(1),
    }

    agree(few_lanes, given, ROWS)


Whole = ff.Field[ff.Dims[I, J, K], ff.int32]
Steps = ff.Field[ff.Dims[J, K], ff.int32]


@ff.field_operator(backend=None)
def led(a: Whole, steps: Steps) -> Whole:
    return a(as_offset(Koff, steps % 3 - 1))(J + 1)


@ff.program(backend=None)
def lead(a: Whole, steps: Steps, out: Whole):
    led(a, steps, out=out[:, 1:-1, 1:-1])


def test_many_rows_read_no_array_that_keeps_one():
    """The indices of many rows were loaded from an array of a single row (seed 82000)."""

    def arguments():
        random = np.random.default_rng(0)
        return {
            "a": ff.as_field(
                {I: 9, J: 7, K: 6}, random.integers(99, size=(9, 7, 6), dtype=np.int32)
            ),
            "steps": ff.as_field({J: 7, K: 6}, random.integers(9, size=(7, 6), dtype=np.int32)),
            "out": ff.as_field({I: 9, J: 7, K: 6}, np.zeros((9, 7, 6), np.int32)),
        }

    values = all_values(lead.with_backend(ROWS), **arguments())
    agree(lead, arguments, ROWS.with_options(arrays=values))


Column = ff.Field[ff.Dims[K], ff.float32]
Marks = ff.Field[ff.Dims[K], ff.bool]


@ff.field_operator(backend=None)
def partly(marks: Marks, a: Column) -> Column:
    chosen = ff.where(marks, a * a, ff.float32(0.0))
    below = ff.where(concat_where(K < 2, True, False), a, chosen)
    return concat_where(K != 2, below, chosen)


def test_statements_that_share_an_array_require_their_own_part():
    """`marks` has no value where a condition hides it from one statement (seed 81002)."""

    given = {
        "marks": ff.as_field({K: (2, 4)}, np.array([True, False])),
        "a": ff.as_field({K: 4}, np.arange(1, 5, dtype=np.float32)),
        "out": ff.as_field({K: 4}, np.zeros(4, np.float32)),
    }

    values = all_values(partly.with_backend(ROWS), **given)
    agree(partly, given, ROWS.with_options(arrays=values[:1]))
