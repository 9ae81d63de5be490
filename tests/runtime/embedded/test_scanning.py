"""Section 6: scans walk columns level by level, against loops over points written by hand."""

import numpy as np
import pytest

from fieldforge.runtime.embedded import embedded
from fieldforge.runtime.embedded.builtins import (
    concat_where,
    float32,
    float64,
    maximum,
    sqrt,
)
from fieldforge.runtime.fields.constructors import as_field, zeros
from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.language.annotations import Dims
from fieldforge.runtime.language.capture import capture
from fieldforge.runtime.language.definition import ScanOptions
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.process.errors import (
    ArgumentError,
    EmbeddedExecutionError,
    IndexOutOfBounds,
)

I, J = Dimension("I"), Dimension("J")
K = Dimension("K", DimensionKind.VERTICAL)
IKField = Field[Dims[I, K], float64]
IField = Field[Dims[I], float64]


class Decorated:
    """What the decorators make of a function, as far as embedded execution is concerned."""

    def __init__(self, function, kind="field_operator", scan=None):
        self.__definition__ = capture(function, kind, scan=scan)

    def __call__(self, *args, out=None, domain=None, **kwargs):
        return embedded.run_operator(self.__definition__, args, kwargs, out=out, domain=domain)


def scan(axis=K, forward=True, init=0.0):
    def decorate(function):
        return Decorated(function, "scan_operator", ScanOptions(axis, forward, init))

    return decorate


def program(function):
    made = Decorated(function, "program")

    def call(*args, **kwargs):
        with pytest.warns(UserWarning, match="runs embedded"):
            embedded.run_program(made.__definition__, args, kwargs)

    return call


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


def test_6_columns_that_disagree_on_conditions_go_their_own_ways(a):
    @Decorated
    def limited(x: float64, top: float64) -> float64:
        return maximum(x, top) if x > top else x - 1.0

    @scan(init=(0.0, False))
    def physics(state: tuple[float64, bool], x: float64) -> tuple[float64, bool]:
        total, full = state
        if full:
            return total, True
        if x > 0.0:
            step = sqrt(x)
        elif x < -1.0:
            step = 2.0 if not full else 1.0
        else:
            step = limited(x, total)
        total = total + step
        return total, total > 1.5

    total, full = zeros({I: 4, K: 6}), zeros({I: 4, K: 6}, dtype=bool)
    physics(as_field([I, K], a), out=(total, full))

    for i in range(4):
        state, done = 0.0, False
        for k in range(6):
            x = a[i, k]
            if not done:
                if x > 0.0:
                    state += np.sqrt(x)
                elif x < -1.0:
                    state += 2.0
                else:
                    state += max(x, state) if x > state else x - 1.0
                done = state > 1.5
            assert (total.asnumpy()[i, k], full.asnumpy()[i, k]) == (state, done)


def test_6_a_state_keeps_its_dtype():
    @scan(init=float32(0.0))
    def total(state: float32, x: float32) -> float32:
        return state + x

    x = np.array([1e8, 1.0, -1e8, 1.0], dtype=np.float32)
    out = zeros({K: 4}, dtype=float32)
    total(as_field([K], x), out=out)

    assert out.asnumpy().tolist() == [1e8, 1e8, 0.0, 1.0]


def test_6_arguments_of_several_pieces_are_walked_piece_by_piece(a):
    @Decorated
    def composed(x: IKField) -> IKField:
        return running_sum(concat_where((I < 2) & (K >= 3), x, 1.0))

    out = zeros({I: 4, K: 6})
    composed(as_field({I: 2, K: (3, 6)}, a[:2, 3:]), out=out)

    whole = np.ones((4, 6))
    whole[:2, 3:] = a[:2, 3:]
    assert np.array_equal(out.asnumpy(), walked(whole, range(6)))


def test_7_a_scan_in_a_program_walks_the_levels_of_its_statement(a):
    @program
    def both(x: IKField, low: IKField, high: IKField):
        running_sum(x, out=low[:, :-2])
        running_sum(x, out=high, domain={I: (0, 4), K: (1, 6)})

    low, high = zeros({I: 4, K: 6}), zeros({I: 4, K: 6})
    both(as_field([I, K], a), low, high)

    assert np.array_equal(low.asnumpy()[:, :4], walked(a, range(4))[:, :4])
    assert not low.asnumpy()[:, 4:].any()
    assert np.array_equal(high.asnumpy()[:, 1:], walked(a, range(1, 6))[:, 1:])


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


def test_6_a_scan_whose_result_nobody_needs_walks_nothing():
    @Decorated
    def pointwise(x: IField) -> IField:
        unused = running_sum(1.0)  # noqa: F841
        return x + 1.0

    out = zeros({I: 2})
    pointwise(as_field([I], [1.0, 2.0]), out=out)

    assert out.asnumpy().tolist() == [2.0, 3.0]


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
