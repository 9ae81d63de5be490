"""An output that is an input too: all loads of a point come before its stores."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.runtime.fields.field import make
from fieldforge.workflows.backends.backend import BACKENDS

from ...dimensions import I, K

Levels = Field[Dims[I, K], float64]


@ff.scan_operator(axis=K, forward=False, init=(3.25, 1.0), backend=None)
def from_above(state: tuple[float64, float64], a: float64) -> tuple[float64, float64]:
    return a, state[0]


@ff.field_operator(backend=None)
def one_up(a: Levels) -> Levels:
    return from_above(a)[1]


@ff.program(backend=None)
def shift(a: Levels):
    one_up(a, out=a)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_scan_takes_its_next_state_before_its_store_overwrites_it(order):
    levels = np.arange(15.0).reshape(3, 5)
    a = make(np.array(levels, order=order), ff.domain({I: (0, 3), K: (0, 5)}))

    shift.with_backend(BACKENDS["rows"])(a)

    expected = np.concatenate([levels[:, 1:], np.full((3, 1), 3.25)], axis=1)
    np.testing.assert_array_equal(a.asnumpy(), expected)
