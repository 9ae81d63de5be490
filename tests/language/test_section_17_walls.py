"""Section 17: walls on all sides by nested regions, of any order at the call."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, int32
from fieldforge.experimental import concat_where

from ..dimensions import I, J, K, Plane
from .support import Box, Slab, field, random, run

HALO = 3
# The index after the second wall, and the domain that is written: walls inside, one upon the other,
# the first after the last, beyond the domain, within one point of each other, and no domain.
ODD = [
    (8, (0, 8)),
    (8, (2, 5)),
    (1, (0, 4)),
    (0, (0, 4)),
    (-2, (-3, 4)),
    (20, (0, 6)),
    (3, (-2, 8)),
    (2, (0, 1)),
    (5, (4, 4)),
]
odd = pytest.mark.parametrize(("n", "ends"), ODD)


@ff.field_operator(backend=None)
def ghosts(f: Plane, west: float64, east: float64, lid: float64, n: int32) -> Plane:
    along = concat_where(I < 0, west, concat_where(n <= I, east, f))
    return concat_where(J < 0, f(J + 1), concat_where(n <= J, lid, along))


@ff.field_operator(backend=None)
def cavity(u: Plane, v: Plane, lid: float64, n: int32) -> tuple[Plane, Plane]:
    last = n - 1
    a, b = ghosts(u, 0.5, -0.5, lid, n), ghosts(v, 1.5, 2.5, 0.0, n)
    du, dv = a(I + 1) - a(I - 1), b(J + 1) - b(J - 1)
    mixed = u * du + v * dv + a(I + 2) + b(J - 2)
    return (
        concat_where(last == I, lid, concat_where(J == 0, u, concat_where(I == 0, v, mixed))),
        concat_where(last == J, 0.0, concat_where(J == 0, lid, concat_where(I == 0, u, du - dv))),
    )


@ff.field_operator(backend=None)
def in_a_box(a: Box, n: int32) -> Box:
    last = n - 1
    inner = a(I + 1) * a(J - 1) + a(K + 1) - a(K - 1)
    k = concat_where(last == K, 1.0, concat_where(K == 0, a, inner))
    j = concat_where(last == J, 2.0, concat_where(J == 0, a(J + 1), k))
    return concat_where(last == I, 3.0, concat_where(I == 0, a(I + 1), j))


@ff.scan_operator(axis=K, forward=True, init=0.0)
def total(state: float64, x: float64) -> float64:
    return 0.5 * state + x


@ff.field_operator(backend=None)
def summed(a: Slab, n: int32) -> Slab:
    last = n - 1
    inner = concat_where(last == K, 7.0, concat_where(K > 0, total(a - a(K - 1)), 1.0))
    return concat_where(I == 0, 5.0, concat_where(last == I, 6.0, inner))


def halved(*dims: ff.Dimension, seed: int, **where: object) -> ff.Field:
    """Return a field with a halo wide enough for every case; sums of it are exact."""
    ends = (-HALO - 3, 24 + HALO)
    values = np.random.default_rng(seed).integers(-8, 9, [ends[1] - ends[0]] * len(dims)) / 2.0
    return ff.as_field(dict.fromkeys(dims, ends), values, **where)


def place(field_: ff.Field, indices: list[np.ndarray]) -> np.ndarray:
    return field_.asnumpy()[tuple(each + HALO + 3 for each in indices)]


@odd
def test_walls_of_a_cavity(backend, n, ends):
    u, v = halved(I, J, seed=1), halved(I, J, seed=2)
    outs = tuple(ff.zeros(dict.fromkeys((I, J), ends)) for _ in range(2))

    cavity.with_backend(backend)(u, v, 3.0, n, out=outs, offset_provider={})

    last = n - 1
    i, j = np.meshgrid(np.arange(*ends), np.arange(*ends), indexing="ij")

    def walled(f, west, east, lid):
        def at(di, dj):
            x, y = i + di, j + dj
            along = np.where(x < 0, west, np.where(x >= n, east, place(f, [x, y])))
            return np.where(y < 0, place(f, [x, y + 1]), np.where(y >= n, lid, along))

        return at

    a, b = walled(u, 0.5, -0.5, 3.0), walled(v, 1.5, 2.5, 0.0)
    here, other = place(u, [i, j]), place(v, [i, j])
    du, dv = a(1, 0) - a(-1, 0), b(0, 1) - b(0, -1)
    mixed = here * du + other * dv + a(2, 0) + b(0, -2)
    first = np.where(i == last, 3.0, np.where(j == 0, here, np.where(i == 0, other, mixed)))
    second = np.where(j == last, 0.0, np.where(j == 0, 3.0, np.where(i == 0, here, du - dv)))
    assert np.array_equal(outs[0].asnumpy(), first)
    assert np.array_equal(outs[1].asnumpy(), second)


@odd
def test_six_walls_of_a_box(backend, n, ends):
    a = halved(I, J, K, seed=3)

    out = run(in_a_box, a, n, on=dict.fromkeys((I, J, K), ends), backend=backend)

    last = n - 1
    i, j, k = np.meshgrid(*[np.arange(*ends)] * 3, indexing="ij")

    def at(di, dj, dk):
        return place(a, [i + di, j + dj, k + dk])

    inner = at(1, 0, 0) * at(0, -1, 0) + at(0, 0, 1) - at(0, 0, -1)
    inner = np.where(k == last, 1.0, np.where(k == 0, at(0, 0, 0), inner))
    inner = np.where(j == last, 2.0, np.where(j == 0, at(0, 1, 0), inner))
    assert np.array_equal(out, np.where(i == last, 3.0, np.where(i == 0, at(1, 0, 0), inner)))


@odd
def test_a_scan_between_walls(backend, n, ends):
    a = halved(I, K, seed=4)

    out = run(summed, a, n, on=dict.fromkeys((I, K), ends), backend=backend)

    embedded = ff.zeros(dict.fromkeys((I, K), ends), allocator=ff.cpu)
    summed(halved(I, K, seed=4, allocator=ff.cpu), n, out=embedded, offset_provider={})
    assert np.array_equal(out, embedded.asnumpy())


def test_walls_of_a_line(backend):
    a = random(9)

    @ff.field_operator(backend=None)
    def line(x: ff.Field[ff.Dims[I], float64], n: int32) -> ff.Field[ff.Dims[I], float64]:
        wide = concat_where(I < 1, 1.0, concat_where(n <= I, 2.0, concat_where(I == 4, 3.0, x)))
        before = n - 2
        return wide + concat_where(before == I, x, 0.0)

    out = run(line, field(I, a), 8, on={I: 9}, backend=backend)

    expected = np.array([1.0, *a[1:8], 2.0])
    expected[4] = 3.0
    expected[6] += a[6]
    assert np.array_equal(out, expected)
