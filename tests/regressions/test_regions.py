from __future__ import annotations

import signal

import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64, int32
from fieldforge.experimental import concat_where

from .executions import agree

I, J = ff.Dimension("I"), ff.Dimension("J")

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

    def arguments():
        return {"a": ff.zeros({I: 5, J: (-2, 3)}), "out": ff.zeros({I: 5, J: (-2, 3)}), "n": 1}

    meant = agree(run, arguments)

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

    def arguments():
        return {"a": ff.zeros({I: 4, J: (2, 3)}), "out": ff.ones({I: 4, J: 5}), "n": 9}

    meant = agree(run, arguments)

    assert meant["out"][0].tolist() == [0.5, 0.5, 0.0, 0.5, 0.5]


@ff.field_operator(backend=None)
def beyond(a: Field[Dims[J], float64], n: int32) -> Field[Dims[I, J], float64]:
    return concat_where(n < I, a, 0.0)


@ff.program(backend=None)
def beyond_some(a: Field[Dims[J], float64], out: Field[Dims[I, J], float64], n: int32):
    beyond(a, n, out=out)


def test_a_part_without_points_requires_nothing_of_fields_without_its_dimension():
    """The rest of the output has points (seed 31000: 29 programs)."""

    def arguments():
        return {"a": ff.zeros({J: 1}), "out": ff.ones({I: 3, J: 4}), "n": 100}

    assert not agree(beyond_some, arguments)["out"].any()
