"""The interpreter on programs that a person wrote, against the same arithmetic in plain Python."""

import itertools

import numpy as np
import pytest

from fieldforge.runtime.embedded.builtins import astype, float32, float64, int32
from fieldforge.runtime.fields.field import make
from fieldforge.runtime.language.capture import capture
from fieldforge.runtime.language.domain import Domain
from fieldforge.stages.artifacts import Lowered, Variant
from fieldforge.stages.interpret.stage import Entry
from fieldforge.stages.lower.passes import lower
from fieldforge.stages.parse.trees import parse_all

from ...dimensions import I, Line


class Defined:
    def __init__(self, function, kind):
        self.__definition__ = capture(function, kind)


def operator(function):
    return Defined(function, "field_operator")


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


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize(("n", "f"), list(itertools.product([1, 2, 5, 7], [False, True])))
def test_branches_and_returns_are_those_of_python(n, f, static):
    a = np.random.default_rng(n).normal(size=8)
    variant = Variant(static=(("f", str(f)), ("n", str(n)))) if static else None
    outs = [make(np.zeros(6), Domain((I, (1, 7)))) for _ in range(2)]

    entry(branches, variant)(make(a, Domain((I, (0, 8)))), np.int32(n), f, tuple(outs))

    expected = [in_python(a[i - 1 : i + 2], n, f) for i in range(1, 7)]
    assert list(zip(*(out.ndarray.tolist() for out in outs), strict=True)) == expected
