"""Section 6: scans walk columns level by level, against loops over points written by hand."""

import numpy as np
import pytest

from fieldforge.runtime.embedded import embedded
from fieldforge.runtime.embedded.builtins import concat_where, float64
from fieldforge.runtime.fields.constructors import as_field, zeros
from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.language.annotations import Dims
from fieldforge.runtime.language.definition import ScanOptions
from fieldforge.runtime.process.errors import (
    ArgumentError,
    EmbeddedExecutionError,
    IndexOutOfBounds,
)

from ...dimensions import I, K
from .decorated import Decorated

IKField = Field[Dims[I, K], float64]


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


def test_6_the_levels_are_those_of_the_output_whatever_consumers_shift(a):
    @Decorated
    def shifted(x: IKField) -> IKField:
        return concat_where(K > 0, running_sum(x)(K - 1), 7.0) + running_sum(x)

    out = zeros({I: 4, K: 6})
    shifted(as_field([I, K], a), out=out)

    sums = walked(a, range(6))
    before = np.concatenate([np.full((4, 1), 7.0), sums[:, :-1]], axis=1)
    assert np.array_equal(out.asnumpy(), before + sums)


def test_6_each_output_is_walked_on_its_own_levels(a):
    @Decorated
    def nested(x: IKField) -> tuple[IKField, tuple[IKField]]:
        total = running_sum(x)
        return total, (total * 2.0,)

    whole, part = zeros({I: 4, K: 6}), zeros({I: 4, K: (2, 5)})
    nested(as_field([I, K], a), out=(whole, (part,)))

    assert np.array_equal(whole.asnumpy(), walked(a, range(6)))
    assert np.array_equal(part.asnumpy(), 2.0 * walked(a, range(2, 5))[:, 2:5])


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
