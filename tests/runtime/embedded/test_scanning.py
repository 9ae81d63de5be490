"""Section 6: scans walk columns level by level, against loops over points written by hand."""

import numpy as np
import pytest

from fieldforge.runtime.embedded import embedded
from fieldforge.runtime.embedded.builtins import float64
from fieldforge.runtime.fields.constructors import as_field, zeros
from fieldforge.runtime.language.definition import ScanOptions
from fieldforge.runtime.process.errors import (
    ArgumentError,
    EmbeddedExecutionError,
    IndexOutOfBounds,
)

from ...dimensions import I, K
from .decorated import Decorated


def scan(axis=K, forward=True, init=0.0):
    def decorate(function):
        return Decorated(function, "scan_operator", ScanOptions(axis, forward, init))

    return decorate


@pytest.fixture
def a():
    return np.random.default_rng(1).standard_normal((4, 6))


@scan()
def running_sum(state: float64, x: float64) -> float64:
    return state * 0.5 + x


def walked(x, levels, state=0.0):
    result = np.full_like(x, np.nan)
    state = np.full(x.shape[:-1], state)
    for k in levels:
        state = state * 0.5 + x[..., k]
        result[..., k] = state
    return result


@pytest.mark.parametrize("empty", [{I: (0, 4), K: (6, 6)}, {I: (2, 2), K: (0, 6)}])
def test_6_where_nothing_is_written_no_level_is_needed(a, empty):
    out = zeros({I: 4, K: 6})

    running_sum(as_field([I, K], a)[:, 2:4], out=out, domain=empty)
    running_sum(1.0, out=zeros({K: 0}))

    assert not out.asnumpy().any()


def test_6_arguments_must_have_all_levels(a):
    with pytest.raises(IndexOutOfBounds, match=r"walks the levels \(0:7\) along 'K'"):
        running_sum(as_field([I, K], a), out=zeros({I: 4, K: 7}))


def test_6_init_and_arguments_have_the_declared_types(a):
    @scan(init=0)
    def wrong(state: float64, x: float64) -> float64:
        return state + x

    with pytest.raises(ArgumentError, match=r"'init'.* must have same type"):
        wrong(as_field([I, K], a), out=zeros({I: 4, K: 6}))
    with pytest.raises(ArgumentError, match="Expected argument 'x' to be of type 'float64'"):
        running_sum(as_field([I, K], a.astype(np.int64)), out=zeros({I: 4, K: 6}))


def test_6_a_scan_that_writes_nothing_walks_the_levels_of_its_arguments(a):
    value = embedded.call_operator(running_sum.__definition__, (as_field([I, K], a),))

    assert np.array_equal(value.asnumpy(), walked(a, range(6)))
    with pytest.raises(EmbeddedExecutionError, match="cannot tell which levels"):
        embedded.call_operator(running_sum.__definition__, (1.0,))
