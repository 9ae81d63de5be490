from itertools import product

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64, int32
from fieldforge.experimental import concat_where

from ..dimensions import I, K
from .executions import agree

Columns = Field[Dims[I, K], float64]

pytestmark = pytest.mark.needs_compiler


@ff.scan_operator(axis=K, forward=True, init=(0.0, 1.0), backend=None)
def upwards(state: tuple[float64, float64], a: float64) -> tuple[float64, float64]:
    return state[0] + a, state[1] * 2.0


@ff.scan_operator(axis=K, forward=False, init=0.0, backend=None)
def downwards(state: float64, a: float64) -> float64:
    return state + a


@ff.field_operator(backend=None)
def differences(a: Columns) -> tuple[Columns, Columns]:
    return upwards(a - a(K - 1))


@ff.field_operator(backend=None)
def sweeps(a: Columns, n: int32, flag: bool) -> tuple[Columns, Columns]:
    """A solver as models write it: nothing is known below level 0, where a branch has a number."""
    first, second = concat_where(K > 0, differences(a), (broadcast(0.0, (I,)), -1.0))
    kept = concat_where(n > K, downwards(first), a)
    chosen = concat_where((K > 0) & (n > K), differences(a)[0] if flag else second, 7.0)
    return kept, chosen


@ff.program(backend=None)
def run(
    a: Columns, n: int32, flag: bool, kept: Columns, chosen: Columns, start: int32, stop: int32
):  # fmt: skip
    sweeps(a, n, flag, out=(kept, chosen), domain={I: (0, 3), K: (start, stop)})


LEVELS = [(0, 5), (0, 6), (2, 5), (1, 1), (0, 1), (5, 6)]


def cases():
    """Return every case; each `n` and each range of levels has one or two that always run."""
    for place, (n, levels) in enumerate(product([0, 1, 4, 9], LEVELS)):
        for flag in (False, True):
            always = (n == 4 and place % 2 == flag) or (levels == (0, 5) and flag)
            yield pytest.param(n, levels, flag, marks=() if always else pytest.mark.in_full)


@pytest.mark.parametrize(("n", "levels", "flag"), list(cases()))
def test_a_scan_in_a_branch_walks_the_levels_of_the_branch(n, levels, flag):
    values = np.arange(18.0).reshape(3, 6) ** 2 % 17

    def arguments():
        out = {name: ff.full({I: 3, K: 6}, -3.0) for name in ("kept", "chosen")}
        start, stop = map(int32, levels)
        return {
            "a": ff.as_field([I, K], values), "n": int32(n), "flag": flag,
            "start": start, "stop": stop, **out,
        }  # fmt: skip

    meant = agree(run, arguments)

    if levels == (0, 5) and n == 4:
        steps = np.diff(values, axis=1, prepend=values[:, :1])
        first = np.cumsum(steps, axis=1)
        np.testing.assert_array_equal(
            meant["kept"][:, :4], np.cumsum(first[:, 3::-1], axis=1)[:, ::-1]
        )
        np.testing.assert_array_equal(meant["kept"][:, 4], values[:, 4])
        if not flag:  # the walk begins at level 1
            assert meant["chosen"][0].tolist() == [7.0, 2.0, 4.0, 8.0, 7.0, -3.0]


def test_a_guarded_read_beyond_the_walk_makes_it_no_longer():
    @ff.field_operator(backend=None)
    def below(a: Columns, k: Field[Dims[K], int32], n: int32) -> tuple[Columns, Columns]:
        up, down = upwards(a)[0], downwards(a)
        return ff.where(k > n, up(K - 1), up), ff.where(k < n, down(K + 1), down)

    @ff.program(backend=None)
    def go(a: Columns, k: Field[Dims[K], int32], n: int32, first: Columns, second: Columns):
        below(a, k, n, out=(first, second), domain={I: (0, 1), K: (n, n + 1)})
        below(a, k, 1, out=(first, second), domain={I: (0, 1), K: (1, 4)})

    def arguments():
        out = {name: ff.zeros({I: 1, K: 6}) for name in ("first", "second")}
        levels = ff.as_field([K], np.arange(6, dtype=np.int32))
        a = ff.as_field([I, K], np.arange(1.0, 7.0).reshape(1, 6))
        return {"a": a, "k": levels, "n": int32(5), **out}

    meant = agree(go, arguments)

    # both walks begin at the ends of the written levels, though the guarded reads lead beyond
    assert meant["first"].tolist() == [[0.0, 2.0, 2.0, 5.0, 0.0, 6.0]]
    assert meant["second"].tolist() == [[0.0, 9.0, 7.0, 4.0, 0.0, 6.0]]


def test_a_scan_beside_a_branch_walks_the_levels_of_the_statement():
    @ff.field_operator(backend=None)
    def both(a: Columns) -> tuple[Columns, Columns]:
        total = downwards(a)
        return total + 0.0, concat_where(K < 3, total, a)

    @ff.program(backend=None)
    def go(a: Columns, first: Columns, second: Columns):
        both(a, out=(first, second))

    def arguments():
        out = {name: ff.zeros({I: 1, K: 5}) for name in ("first", "second")}
        return {"a": ff.as_field([I, K], np.arange(5.0).reshape(1, 5)), **out}

    meant = agree(go, arguments)

    assert meant["first"].tolist() == [[10.0, 10.0, 9.0, 7.0, 4.0]]
    assert meant["second"].tolist() == [[3.0, 3.0, 2.0, 3.0, 4.0]]


@pytest.mark.parametrize("flag", [False, True])
def test_regions_that_are_no_boxes_have_walks_of_the_statement(flag):
    @ff.field_operator(backend=None)
    def apart(a: Columns, n: int32) -> tuple[Columns, Columns, Columns, Columns]:
        total = downwards(a)
        return (
            concat_where((K < 1) | (K > 3), total, a),
            concat_where(K == 2, a, total),
            concat_where(n != K, a, total),
            concat_where(n <= K, a, total),
        )

    @ff.program(backend=None)
    def go(a: Columns, n: int32, p: Columns, q: Columns, r: Columns, s: Columns):
        apart(a, n, out=(p, q, r, s))

    def arguments():
        out = {name: ff.zeros({I: 1, K: 5}) for name in "pqrs"}
        values = np.arange(5.0).reshape(1, 5)
        return {"a": ff.as_field([I, K], values), "n": int32(2 + flag), **out}

    meant = agree(go, arguments)

    assert meant["p"].tolist() == [[10.0, 1.0, 2.0, 3.0, 4.0]]
    assert meant["q"].tolist() == [[10.0, 10.0, 2.0, 7.0, 4.0]]
    assert meant["s"][0, : 2 + flag].tolist() == ([3.0, 3.0, 2.0] if flag else [1.0, 1.0])
