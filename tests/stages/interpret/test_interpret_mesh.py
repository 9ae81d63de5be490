"""The interpreter on neighbours, scans and regions agrees with embedded execution, bit for bit."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Field, broadcast, field_operator, float64, int32, neighbor_sum
from fieldforge.experimental import concat_where
from fieldforge.runtime.process.errors import ArgumentError, MissingOffsetError
from fieldforge.stages.interpret.stage import Entry

from ...dimensions import C2C, C2E, E2C, C2CDim, C2EDim, Cell, E2CDim, Edge, K
from .mesh import PROVIDER, SIZES, assert_agreement, field, interpreted

Cells = Field[[Cell, K], float64]


@field_operator
def there_and_back(u: Cells) -> Cells:
    return neighbor_sum(neighbor_sum(u(E2C), axis=E2CDim)(C2E), axis=C2EDim)


@field_operator
def counted(u: Cells) -> Cells:
    return neighbor_sum(broadcast(1.0, (Cell, K))(C2C), axis=C2CDim) * u


def test_neighbours_of_a_number_are_counted():
    assert_agreement(counted, field(Cell, K), out=field(Cell, K))


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
