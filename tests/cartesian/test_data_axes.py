"""Calls with data axes and tables: shapes, origins, layouts, checks."""

from __future__ import annotations

import numpy as np
import pytest

from fieldforge import storage
from fieldforge.cartesian.gtscript import (
    FORWARD,
    IJ,
    IJK,
    PARALLEL,
    Field,
    GlobalTable,
    computation,
    interval,
)

from .stencils import COMPILED, INTERPRETED, made

BACKENDS = [INTERPRETED, COMPILED, "gt:cpu_ifirst", "rows", "dace:cpu"]
Vector = Field[IJK, (np.float64, (3,))]
Table = GlobalTable[(np.float64, (2, 4))]


def mixed(v: Vector, w: Vector, table: Table, n: int, last: Field[IJ, (np.float64, (2,))]):
    with computation(PARALLEL), interval(...):
        w = 2.0 * v
        w[0, 0, 0][n] = v[1, 0, 0][0] + table.A[1, n]
    with computation(FORWARD), interval(-1, None):
        last[0, 0][1] = w[0, 0, 0][n]


def expected(v, table, n):
    w = 2.0 * v[:-1]
    w[..., n] = v[1:, ..., 0] + table[1, n]
    return w


def values(shape):
    return np.random.default_rng(0).uniform(size=shape)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call(backend):
    v = storage.zeros((4, 3, 5), (np.float64, (3,)), backend=backend)
    v[...] = values((4, 3, 5, 3))
    w = storage.zeros((3, 3, 5), (np.float64, (3,)), backend=backend)
    last, table = np.zeros((3, 3, 2)), values((2, 4))

    made(mixed, backend)(v, w, table, 2, last)

    meant = expected(np.asarray(v), table, 2)
    np.testing.assert_array_equal(np.asarray(w), meant)
    np.testing.assert_array_equal(last[..., 1], meant[:, :, -1, 2])
    assert not last[..., 0].any()


@pytest.mark.parametrize("backend", BACKENDS[:2])
def test_origins_have_data_axes_or_not(backend):
    stencil = made(mixed, backend)
    v, table = values((6, 5, 7, 3)), values((2, 4))
    for origin in ((1, 1, 1, 0), (1, 1, 1)):
        w, last = np.zeros((3, 3, 5, 3)), np.zeros((3, 3, 2))

        stencil(v, w, table, 0, last, origin={"v": origin}, domain=(3, 3, 5))

        meant = expected(v[1:5, 1:4, 1:6], table, 0)
        np.testing.assert_array_equal(w, meant)
        np.testing.assert_array_equal(last[..., 1], meant[:, :, -1, 0])


def test_strides_of_any_kind():
    v, w = values((3, 5, 3, 4)).transpose(3, 2, 1, 0), values((3, 3, 5, 6))[..., ::2]
    table, last = values((4, 2)).T, np.zeros((2, 3, 3)).transpose(1, 2, 0)

    made(mixed, COMPILED)(v, w, table, 1, last)

    np.testing.assert_array_equal(w, expected(v, table, 1))


def test_arrays_that_do_not_fit():
    stencil = made(mixed, COMPILED)
    v, w, table, last = (
        values((4, 3, 5, 3)),
        values((3, 3, 5, 3)),
        values((2, 4)),
        np.zeros((3, 3, 2)),
    )

    for change, words in [
        ({"v": values((4, 3, 5, 2))}, "expects data dimensions \\(3,\\) but got \\(2,\\)"),
        ({"v": values((4, 3, 5))}, "has 3 dimensions but the API signature expects 4"),
        ({"table": values((2, 3))}, "expects data dimensions \\(2, 4\\) but got \\(2, 3\\)"),
        ({"v": values((3, 3, 5, 3)), "w": w}, None),
    ]:
        given = {"v": v, "w": w, "table": table, "n": 1, "last": last, **change}
        if words is None:
            with pytest.raises(ValueError, match="Compute domain too large"):
                stencil(**given, domain=(3, 3, 5))
        else:
            with pytest.raises(ValueError, match=words):
                stencil(**given)


def test_an_element_that_is_not_used_need_not_be_apart_from_others():
    def doubled(v: Vector):
        with computation(PARALLEL), interval(...):
            v[0, 0, 0][0] = 2.0 * v[0, 0, 0][0]

    v = np.lib.stride_tricks.as_strided(np.ones((2, 2, 2)), (2, 2, 2, 3), (32, 16, 8, 0))

    made(doubled, COMPILED)(v)

    assert (v == 2.0).all()
