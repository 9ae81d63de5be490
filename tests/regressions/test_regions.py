import signal

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64, int32
from fieldforge.experimental import as_offset, concat_where

from ..dimensions import C2C, C2CDim, Cell, I, J, K, Koff
from .executions import agree

pytestmark = pytest.mark.needs_compiler


@pytest.fixture
def patience():
    """Fail instead of hanging."""

    def late(*_):
        raise TimeoutError("The program is still being lowered after a minute.")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("patience")
def test_nested_regions_over_two_dimensions_are_lowered_at_all():
    """Took minutes in 'infer_boxes': parts around boxes were cut again and again."""

    @ff.field_operator(backend=None)
    def choose(a: Field[Dims[I, J], float64], n: int32) -> Field[Dims[I, J], float64]:
        inner = ((I != 3) & (n - 1 == J)) | ((n + 1 == I) | (J != -1))
        return concat_where(I == 2, a, concat_where(inner, a + 1.0, a + 2.0))

    @ff.program(backend=None)
    def run(a: Field[Dims[I, J], float64], out: Field[Dims[I, J], float64], n: int32):
        choose(a, n, out=out)

    given = {"a": ff.zeros({I: 5, J: (-2, 3)}), "out": ff.zeros({I: 5, J: (-2, 3)}), "n": 1}

    meant = agree(run, given)

    assert meant["out"][2].tolist() == [0.0] * 5
    assert meant["out"][1].tolist() == [1.0, 2.0, 1.0, 1.0, 1.0]


def test_a_box_of_a_region_that_lies_outside_of_the_output_asks_for_nothing():
    """'I == 9' is empty here, but its levels were asked for all the same."""

    @ff.field_operator(backend=None)
    def choose(a: Field[Dims[I, J], float64], n: int32) -> Field[Dims[I, J], float64]:
        return concat_where((J == 2) | (n == I), a, 0.5)

    @ff.program(backend=None)
    def run(a: Field[Dims[I, J], float64], out: Field[Dims[I, J], float64], n: int32):
        choose(a, n, out=out)

    given = {"a": ff.zeros({I: 4, J: (2, 3)}), "out": ff.ones({I: 4, J: 5}), "n": 9}

    meant = agree(run, given)

    assert meant["out"][0].tolist() == [0.5, 0.5, 0.0, 0.5, 0.5]


@ff.field_operator(backend=None)
def beyond(a: Field[Dims[J], float64], n: int32) -> Field[Dims[I, J], float64]:
    return concat_where(n < I, a, 0.0)


@ff.program(backend=None)
def beyond_some(a: Field[Dims[J], float64], out: Field[Dims[I, J], float64], n: int32):
    beyond(a, n, out=out)


def test_a_part_without_points_requires_nothing_of_fields_without_its_dimension():
    """The rest of the output has points (seed 31000: 29 programs)."""

    given = {"a": ff.zeros({J: 1}), "out": ff.ones({I: 3, J: 4}), "n": 100}

    assert not agree(beyond_some, given)["out"].any()


Levels = Field[Dims[K], float64]
Cells = Field[Dims[Cell], float64]


@ff.field_operator(backend=None)
def in_no_cell(short: Levels, b: Cells, n: int32):
    """The short field is read in cell 5 on level n, if that is cell 0 or above n: nowhere."""
    return concat_where(((Cell == 0) | (n + 1 <= K)) & ((Cell == 5) & (n == K)), short, b)


@ff.field_operator(backend=None)
def in_every_cell_but_one(short: Levels, b: Cells, n: int32):
    return concat_where(((Cell != 0) & (n + 1 > K)) | ((Cell != 5) | (n != K)), b, short) + 1.0


@ff.field_operator(backend=None)
def of_itself(short: Levels, b: Cells, n: int32):
    return in_no_cell(short, b, n) + 1.0


@ff.field_operator(backend=None)
def of_a_neighbour(short: Levels, b: Cells, n: int32):
    return in_no_cell(short, b, n)(C2C[0])


@ff.field_operator(backend=None)
def of_all_neighbours(short: Levels, b: Cells, n: int32):
    return ff.neighbor_sum(in_no_cell(short, b, n)(C2C), axis=C2CDim)


@ff.field_operator(backend=None)
def of_another_level(short: Levels, b: Cells, n: int32):
    return in_no_cell(short, b, n)(K - 1) + 1.0


@ff.field_operator(backend=None)
def of_a_displaced_level(short: Levels, b: Cells, n: int32):
    return in_no_cell(short, b, n)(as_offset(Koff, broadcast(n - 1, (K,)))) + 1.0


@ff.field_operator(backend=None)
def of_a_pair(short: Levels, b: Cells, n: int32):
    condition = ((Cell == 0) | (n + 1 <= K)) & ((Cell == 5) & (n == K))
    first, second = concat_where(condition, (short, short), (b, 2.0 * b))
    return first + second


@ff.field_operator(backend=None)
def of_a_nested_one(short: Levels, b: Cells, n: int32):
    return concat_where(Cell < 7, in_no_cell(short, b, n), 2.0) + 1.0


@ff.scan_operator(axis=K, init=0.0)
def accumulated(above: float64, value: float64) -> float64:
    return above + value


@ff.field_operator(backend=None)
def of_a_scan(short: Levels, b: Cells, n: int32):
    return accumulated(in_no_cell(short, b, n))


@pytest.mark.parametrize(
    "operator",
    [
        of_itself, of_a_neighbour, of_all_neighbours, of_another_level, of_a_displaced_level,
        of_a_pair, of_a_nested_one, of_a_scan, in_every_cell_but_one,
    ],
)  # fmt: skip
def test_a_box_and_alternatives_without_a_common_point_require_nothing(operator):
    """Seed 72000, 236/58: the hull of both alternatives met the box, so 'short' was required."""

    given = {
        "short": ff.ones({K: (-2, -1)}),
        "b": ff.as_field([Cell], np.arange(8.0)),
        "n": 1,
        "out": ff.zeros({Cell: 8, K: 4}),
    }

    entries = np.array([[(cell + 1) % 8, (cell + 3) % 8] for cell in range(8)], np.int32)
    agree(operator, given, tables={"C2C": ff.as_connectivity([Cell, C2CDim], Cell, entries)})
