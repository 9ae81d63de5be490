"""Checked calls report levels that values give and that a field does not have."""

from __future__ import annotations

import numpy as np
import pytest

from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import BACKWARD, FORWARD, PARALLEL, Field, computation, interval
from fieldforge.runtime.process.errors import CheckError


def ahead(a: Field[float], b: Field[float], n: int):
    with computation(PARALLEL), interval(...):
        if K + n < 4:  # noqa: F821, SIM108 - a name of GTScript; it has two branches
            b = a[0, 0, n]
        else:
            b = a.at(K=n + 2)  # above


def search(a: Field[float], b: Field[float]):
    with computation(FORWARD), interval(...):
        at = 0
        while at < 4 and a.at(K=at) < b:
            at += 1
        b = at


def endless(a: Field[float], b: Field[float]):
    with computation(FORWARD), interval(...):
        at = 0
        while a.at(K=at) < b:
            at += 1
        b = at


def sides(a: Field[float], b: Field[float], n: int):
    with computation(BACKWARD), interval(...):
        b = a[0, 0, n] if K + n < 4 and K + n >= 0 else -1.0  # noqa: F821 - the same


def put(a: Field[float], b: Field[float], n: int):
    with computation(FORWARD), interval(...):
        b[0, 0, n] = a


def temporary(a: Field[float], b: Field[float], n: int):
    with computation(PARALLEL), interval(...):
        t = 2.0 * a
    with computation(PARALLEL), interval(...):
        b = t[0, 0, n]


def checked(definition, backend="numpy", **numbers):
    a, b = np.arange(8.0).reshape(1, 2, 4), np.full((1, 2, 4), 100.0)
    gtscript.stencil(backend, definition).checked(a=a, b=b, **numbers)
    return b.ravel().tolist()


@pytest.mark.parametrize(
    ("definition", "numbers", "meant"),
    [
        (ahead, {"n": 1}, [1, 2, 3, 3, 5, 6, 7, 7]),
        (search, {}, [4, 4, 4, 4, 4, 4, 4, 4]),
        (sides, {"n": 2}, [2, 3, -1, -1, 6, 7, -1, -1]),
        (sides, {"n": -1}, [-1, 0, 1, 2, -1, 4, 5, 6]),
        (put, {"n": 0}, [0, 1, 2, 3, 4, 5, 6, 7]),
        (temporary, {"n": 0}, [0, 2, 4, 6, 8, 10, 12, 14]),
    ],
)
def test_levels_inside_of_fields_and_behind_conditions_pass(definition, numbers, meant):
    assert checked(definition, **numbers) == meant


@pytest.mark.parametrize(
    ("definition", "numbers", "words"),
    [
        (ahead, {"n": 2}, "'a' is read on level 4 by 'ahead' at I=0, J=0, K=2"),
        (ahead, {"n": -1}, "'a' is read on level -1 by 'ahead' at I=0, J=0, K=0"),
        (endless, {}, "'a' is read on level 4 by 'endless' at I=0, J=0, K=0"),
        (put, {"n": 1}, "'b' is written on level 4 by 'put' at I=0, J=0, K=3"),
        (temporary, {"n": 3}, "'t' is read on level 4 by 'temporary' at I=0, J=0, K=1"),
    ],
)
def test_levels_outside_are_reported_and_nothing_is_written(definition, numbers, words):
    a, b = np.arange(8.0).reshape(1, 2, 4), np.full((1, 2, 4), 100.0)

    with pytest.raises(CheckError, match=f"{words}, but has the levels 0 to 3: a call"):
        gtscript.stencil("numpy", definition).checked(a=a, b=b, **numbers)

    assert b.tolist() == np.full((1, 2, 4), 100.0).tolist()


@pytest.mark.needs_compiler
def test_compiled_stencils_report_the_same():
    assert checked(ahead, "gt:cpu_kfirst", n=1) == [1, 2, 3, 3, 5, 6, 7, 7]
    with pytest.raises(CheckError, match="'a' is read on level 4 by 'ahead'"):
        checked(ahead, "gt:cpu_kfirst", n=2)
