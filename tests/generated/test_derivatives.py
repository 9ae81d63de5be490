"""Derivatives of generated programs: a few of what `make fuzz DERIVATIVES=1` runs."""

import warnings
from collections import Counter

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.cache.memory import Memory

from . import derivative_calls, derivative_errors, derivatives, second_derivatives

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]


def test_derivatives_of_generated_programs_agree():
    counts: Counter[str] = Counter()
    with ff.using(ff.Engine(Memory())), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _, case in derivatives.drawn(seed=0, count=60):
            counts.update(derivatives.outcomes(case, None, second=True))

    assert counts["agree"] >= 8
    assert counts["second derivatives: agree"] >= 2


def test_another_derivative_is_noticed():
    one, other = ff.ones({I: 2}), ff.zeros({I: 2})

    with pytest.raises(AssertionError, match=r"tangent of 'f0' at \(0,\): meant 0.0, got 1.0"):
        derivative_errors.check_equal("tangent of 'f0'", one, other, other, limit=1e-9)


@ff.field_operator(backend=None)
def cancelled(u: Line) -> Line:
    return 3.0 * u - 3.0 * u


def test_terms_of_a_derivative_do_not_cancel():
    u, one = ff.ones({I: 2}), [ff.ones({I: 2})]

    with derivative_errors.terms():
        _, terms = ff.jvp(cancelled, [u], one)
    _, moved = ff.jvp(cancelled, [u], one)

    np.testing.assert_array_equal(terms.asnumpy(), [6.0, 6.0])
    np.testing.assert_array_equal(moved.asnumpy(), [0.0, 0.0])


@ff.field_operator(backend=None)
def curved(u: Line, v: Line) -> Line:
    return u(I + 1) * v - v * v * v


@ff.program(backend=None)
def partly(u: Line, v: Line, out: Line):
    curved(u, v, out=out[1:-1])
    curved(u, v, out=v, domain={I: (0, 2)})


@pytest.fixture
def subject():
    """Return a program that writes parts of fields, one of which it also reads."""
    rng = np.random.default_rng(0)

    def draw(*names):
        return {each: ff.as_field([I], rng.normal(size=5 + (each == "u"))) for each in names}

    return derivative_calls.Subject(
        partly, draw("u", "v", "out"), {}, draw("u", "v"), draw("v", "out"), is_single=False
    )


def test_parts_of_fields_that_are_not_written_agree(subject):
    derivatives.compare(subject)

    assert second_derivatives.compare_second(subject)


@pytest.mark.parametrize("name", ["u", "v"])
def test_an_error_far_below_that_of_the_tape_is_noticed(subject, name, monkeypatch):
    pulled = subject.pulled

    def wrong(_, backend):
        found = pulled(backend)
        found[name].asnumpy()[1] *= 1.0 + 1e-12  # the tape would allow 1e-9
        return found

    monkeypatch.setattr(derivative_calls.Subject, "pulled", wrong)
    with pytest.raises(AssertionError, match="dot product"):
        derivatives.compare(subject)


def test_another_second_derivative_is_noticed(subject, monkeypatch):
    found = second_derivatives.tangent_of_adjoint

    def wrong(each, backend):
        other = attrs.evolve(each, adjoints={**each.adjoints, "out": each.adjoints["v"]})
        return found(other, backend)

    monkeypatch.setattr(second_derivatives, "tangent_of_adjoint", wrong)
    with pytest.raises(AssertionError, match="second derivative of 'u'"):
        second_derivatives.compare_second(subject)


@ff.field_operator(backend=None)
def rounded(u: Line) -> Line:
    return (u * 1e12 / u) * u - 1e12 * u


@ff.program(backend=None)
def round_off(u: Line, out: Line):
    rounded(u, out=out)


def test_second_derivatives_that_are_rounding_errors_are_not_compared(subject):
    one = subject.given["out"]
    own = attrs.evolve(
        subject, run=round_off, given={"u": one, "out": one}, tangents={"u": one},
        adjoints={"out": one},
    )  # fmt: skip

    with pytest.raises(derivative_calls.Incomparable, match="terms cancel"):
        second_derivatives.compare_second(own)
