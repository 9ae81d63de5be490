"""Derivatives of generated programs: a few of what `make fuzz DERIVATIVES=1` runs."""

import warnings
from collections import Counter

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cache.memory import Memory

from . import derivatives


def test_derivatives_of_generated_programs_agree_with_the_tape():
    counts: Counter[str] = Counter()
    with ff.using(ff.Engine(Memory())), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, case in derivatives.drawn(seed=0, count=60):
            try:
                derivatives.compare(case)
                counts["agree"] += 1
            except (derivatives.Incomparable, ff.errors.DerivativeError):
                counts["incomparable"] += 1

    assert counts["agree"] >= 8


def test_another_derivative_is_noticed():
    one, other = ff.ones({ff.Dimension("I"): 2}), ff.zeros({ff.Dimension("I"): 2})

    with pytest.raises(AssertionError, match=r"tangent of 'f0' at \(0,\): meant 0.0, got 1.0"):
        derivatives._equal("tangent of 'f0'", one, other, other, derivatives.DOUBLE)


I = ff.Dimension("I")


@ff.field_operator(backend=None)
def cancelled(u: ff.Field[ff.Dims[I], ff.float64]) -> ff.Field[ff.Dims[I], ff.float64]:
    return 3.0 * u - 3.0 * u


def test_terms_of_a_derivative_do_not_cancel():
    u, one = ff.ones({I: 2}), [ff.ones({I: 2})]

    with derivatives._terms():
        _, terms = ff.jvp(cancelled, [u], one)
    _, moved = ff.jvp(cancelled, [u], one)

    np.testing.assert_array_equal(terms.asnumpy(), [6.0, 6.0])
    np.testing.assert_array_equal(moved.asnumpy(), [0.0, 0.0])
