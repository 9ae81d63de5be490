"""The interpreter on neighbours, scans and regions agrees with embedded execution, bit for bit."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Field, broadcast, field_operator, float64, int32, neighbor_sum, scan_operator
from fieldforge.experimental import as_offset, concat_where
from fieldforge.runtime.process.errors import ArgumentError, MissingOffsetError
from fieldforge.stages.interpret.stage import Entry

from ...dimensions import C2C, C2E, E2C, C2CDim, C2EDim, Cell, E2CDim, Edge, K, Koff
from .mesh import PROVIDER, SIZES, assert_agreement, field, interpreted

Cells = Field[[Cell, K], float64]
Edges = Field[[Edge, K], float64]


@field_operator
def there_and_back(u: Cells) -> Cells:
    return neighbor_sum(neighbor_sum(u(E2C), axis=E2CDim)(C2E), axis=C2EDim)


@field_operator
def displaced(u: Cells, by: Field[[Edge, K], int32]) -> Edges:
    return (u * 2.0)(E2C[0])(as_offset(Koff, by + 1))


@field_operator
def counted(u: Cells) -> Cells:
    return neighbor_sum(broadcast(1.0, (Cell, K))(C2C), axis=C2CDim) * u


def test_neighbours_of_a_number_are_counted():
    assert_agreement(counted, field(Cell, K), out=field(Cell, K))


def test_a_displacement_far_away_is_read_from_inside():
    by = ff.as_field([Edge, K], np.full((SIZES[Edge], SIZES[K]), 2**30, np.int32))
    out = field(Edge, K)

    interpreted(displaced, (field(Cell, K), by), out)

    assert np.isfinite(out.asnumpy()).all()


@field_operator
def two_parts(a: Field[[K], float64], b: Cells, n: int32) -> Cells:
    return concat_where(n > K, a, b + a(K - 1))


@field_operator
def many_parts(a: Cells, b: Cells, n: int32, m: int32) -> Cells:
    t = a * b
    inner = concat_where((Cell >= 1) & (Cell < m) & (K != 2), t * 2.0, b(K - 1))
    return concat_where((K == 0) | (n - 1 == K), t, inner) + concat_where(K != 3, a, t)


@field_operator
def around_parts(u: Cells, n: int32) -> Cells:
    v = concat_where(n > K, u, neighbor_sum(u(C2C), axis=C2CDim))
    w = concat_where((Cell > 2) & (Cell < 6), v(K + 1), v * 2.0)
    sums = neighbor_sum(concat_where(Cell != 4, w(C2C) - v, w(C2C)), axis=C2CDim)
    return sums + concat_where(Cell == 3, w, w(C2C[3]))  # cell 3 has no such neighbour


@pytest.mark.parametrize("n", [-3, 0, 1, 3, 6, 9])
def test_regions_agree_wherever_they_end(n):
    a, b, inner = field(Cell, K), field(Cell, K, seed=1), {Cell: (1, 7), K: (1, SIZES[K])}

    assert_agreement(two_parts, field(K), b, np.int32(n), out=field(Cell, K, seed=2), domain=inner)
    for m in (-1, 0, 4, 20):
        assert_agreement(
            many_parts, a, b, np.int32(n), np.int32(m), out=field(Cell, K), domain=inner
        )
    assert_agreement(
        around_parts,
        a,
        np.int32(n),
        out=field(Cell, K),
        domain={Cell: (0, 9), K: (0, SIZES[K] - 1)},
    )


@scan_operator(axis=K, forward=True, init=0.0)
def total(state: float64, a: float64, b: float64) -> float64:
    return state * b + a


@scan_operator(axis=K, forward=False, init=(0.0, 1))
def upwards(state: tuple[float64, int32], a: float64) -> tuple[float64, int32]:
    x, n = state
    if n > 3:  # noqa: SIM108 - what is tested
        y = x - a
    else:
        y = x + a
    return y, n + 1


@field_operator
def guarded(a: Cells, b: Field[[Cell], float64]) -> Cells:
    down = total(a, b)
    return concat_where(K > 0, down(K - 1), 7.0)


@field_operator
def chosen(a: Cells, b: Field[[Cell], float64], flag: bool) -> Cells:
    if flag:  # noqa: SIM108 - what is tested
        r = total(a, b)
    else:
        r = upwards(a)[0]
    return r


def test_a_scan_may_be_shifted_under_a_guard_and_chosen_by_a_scalar():
    args = (field(Cell, K), field(Cell))

    assert_agreement(guarded, *args, out=field(Cell, K))
    for flag in (True, False):
        assert_agreement(chosen, *args, np.bool_(flag), out=field(Cell, K))


def test_a_table_that_is_missing_or_another_is_refused():
    lowered = interpreted(there_and_back, (field(Cell, K),), field(Cell, K))

    entry, args = Entry(lowered), (field(Cell, K), field(Cell, K))

    with pytest.raises(MissingOffsetError, match="'C2E' not found"):
        entry(*args, offset_provider={"E2C": PROVIDER["E2C"]})
    with pytest.raises(ArgumentError, match=r"neighbour table over \(Cell, C2E\)"):
        entry(*args, offset_provider={**PROVIDER, "C2E": PROVIDER["E2C"]})
    wider = ff.as_connectivity([Cell, C2EDim], Edge, np.zeros((9, 4), int))
    with pytest.raises(ArgumentError, match="has 4 neighbours; the program was built for 3"):
        entry(*args, offset_provider={**PROVIDER, "C2E": wider})
