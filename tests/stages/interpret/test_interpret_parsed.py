"""The interpreter on programs that a person wrote, against the same arithmetic in plain Python."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fieldforge.runtime.embedded.builtins import astype, float32, float64, int32, where
from fieldforge.runtime.fields.field import Field, make
from fieldforge.runtime.language.capture import capture
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.domain import Domain
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.interpret.stage import Entry
from fieldforge.stages.lower.passes import lower
from fieldforge.stages.parse.trees import parse_all

I, J = Dimension("I"), Dimension("J")
K = Dimension("K", DimensionKind.VERTICAL)
Plane = Field[[I, J], float64]
Column = Field[[K], float64]
Line = Field[[I], float64]


class Defined:
    def __init__(self, function, kind):
        self.__definition__ = capture(function, kind)


def operator(function):
    return Defined(function, "field_operator")


def program(function):
    return Defined(function, "program")


@operator
def laplacian(u: Plane) -> Plane:
    return 4.0 * u - (u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1))


@operator
def limited(u: Plane, c: float64) -> Plane:
    lap = laplacian(u)
    flux = lap(I + 1) - lap
    flux = where(flux * (u(I + 1) - u) > 0.0, 0.0, flux)
    return u - c * (flux - flux(I - 1))


@program
def smooth(u: Plane, out: Plane, c: float64):
    limited(u, c, out=out[2:-2, 1:-1])


@operator
def branches(a: Line, n: int32, f: bool) -> tuple[Line, Line]:
    x = a
    if f:
        y = a + 1.0
        if n > 3:
            return (y, a)
        z = y * 2.0
    elif n == 2:
        z = a
    else:
        return (a(I + 1), a(I - 1) if n == 7 else a)
    p, q = (z, z + x)
    return (p, astype(astype(q, float32), float64) ** 2)


def in_python(a, n, f):
    """The same for one point; `a` are the values left of it, at it, and right of it."""
    left, here, right = a
    if f:
        y = here + 1.0
        if n > 3:
            return y, here
        z = y * 2.0
    elif n == 2:
        z = here
    else:
        return right, left if n == 7 else here
    return z, float(np.float32(z + here)) ** 2


def entry(defined, variant=None):
    lowered = lower(parse_all(defined.__definition__)["parsed"], variant or Variant())
    return Entry(Lowered.from_files(lowered.files()))


def test_a_limited_diffusion_gives_the_bits_of_numpy():
    u = np.random.default_rng(3).normal(size=(12, 9))
    out = np.zeros_like(u)
    domain = Domain((I, (0, 12)), (J, (0, 9)))

    entry(smooth)(make(u, domain), make(out, domain), 0.1)

    lap = 4.0 * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    flux = lap[1:] - lap[:-1]
    flux = np.where(flux * (u[2:-1, 1:-1] - u[1:-2, 1:-1]) > 0.0, 0.0, flux)
    np.testing.assert_array_equal(out[2:-2, 1:-1], u[2:-2, 1:-1] - 0.1 * (flux[1:] - flux[:-1]))
    assert not out[:2].any()


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize(("n", "f"), list(itertools.product([1, 2, 5, 7], [False, True])))
def test_branches_and_returns_are_those_of_python(n, f, static):
    a = np.random.default_rng(n).normal(size=8)
    variant = Variant(static=(("f", str(f)), ("n", str(n)))) if static else None
    outs = [make(np.zeros(6), Domain((I, (1, 7)))) for _ in range(2)]

    entry(branches, variant)(make(a, Domain((I, (0, 8)))), np.int32(n), f, tuple(outs))

    expected = [in_python(a[i - 1 : i + 2], n, f) for i in range(1, 7)]
    assert list(zip(*(out.ndarray.tolist() for out in outs), strict=True)) == expected


def test_what_a_static_argument_rules_out_is_not_read():
    a = make(np.arange(2.0), Domain((I, (0, 2))))  # no neighbours for 'a(I + 1)'
    outs = tuple(make(np.zeros(2), Domain((I, (0, 2)))) for _ in range(2))

    entry(branches, Variant(static=(("f", "True"), ("n", "5"))))(a, 5, True, outs)

    assert outs[0].ndarray.tolist() == [1.0, 2.0]
