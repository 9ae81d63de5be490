"""`jvp` and `vjp`: the tape against differences, against each other, and at its edges."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import minimum, sqrt, where

from ...derivative_cases import CASES, I, Line, like, moved, moved_by, numbers


@pytest.mark.parametrize("case", CASES)
def test_the_tangent_agrees_with_differences(case):
    function, primals, domain, provider = CASES[case]
    given = {"domain": domain, "offset_provider": provider}
    tangents = like(primals, np.random.default_rng(3))

    out_d = numbers(ff.jvp(function, primals, tangents, **given)[1])

    def at(h):
        return numbers(ff.vjp(function, moved_by(primals, tangents, h), **given)[0])

    h = 1e-4
    fourth_order = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    np.testing.assert_allclose(out_d, fourth_order, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_tangent_and_adjoint_are_transposed(case):
    function, primals, domain, provider = CASES[case]
    given = {"domain": domain, "offset_provider": provider}
    rng = np.random.default_rng(4)
    tangents = like(primals, rng)

    out, out_d = ff.jvp(function, primals, tangents, **given)
    _, pull = ff.vjp(function, primals, **given)
    out_b = like(out, rng)
    found = pull(out_b)

    wanted = {name: each for name, each in tangents.items() if each is not None}
    left = numbers(out_b) * numbers(out_d)
    right = numbers({name: found[name] for name in wanted}) * numbers(wanted)
    scale = np.abs(left).sum() + np.abs(right).sum()
    assert abs(left.sum() - right.sum()) <= 10 * np.finfo(float).eps * scale


def test_integers_have_no_adjoint():
    function, primals, domain, provider = CASES["displacement"]

    _, pull = ff.vjp(function, primals, domain=domain, offset_provider=provider)

    assert pull(np.ones(4))["by"] is None


@ff.field_operator(backend=None)
def guarded(u: Line) -> Line:
    inverse = where(u > 0.0, 1.0 / u, 0.0)
    root = where(u > 0.0, sqrt(u), 0.0)
    length = sqrt(u * u)
    hidden = minimum(1.0 / u, 5.0)
    return inverse + root + length + hidden


def test_nothing_leaks_from_an_untaken_branch():
    u = ff.as_field([I], [0.0, 4.0])

    (u_b,) = ff.vjp(guarded, [u])[1](np.ones(2))
    _, u_d = ff.jvp(guarded, [u], [ff.ones({I: 2})])

    expected = [0.0, -1 / 16 + 1 / 4 + 1.0 - 1 / 16]
    np.testing.assert_allclose(u_b.asnumpy(), expected)
    np.testing.assert_allclose(u_d.asnumpy(), expected)


@ff.field_operator(backend=None)
def of_gamma(u: Line) -> Line:
    return ff.gamma(u)


def test_an_operation_without_derivative_is_named():
    with pytest.raises(ff.errors.DerivativeError, match="derivative of 'gamma' is not there yet"):
        ff.vjp(of_gamma, [ff.ones({I: 2})])


def test_a_derivative_of_another_shape_is_refused():
    _, pull = ff.vjp(moved, [ff.ones({I: 3})])

    with pytest.raises(ff.errors.ArgumentError, match=r"shape \(2,\) for 'the result', got \(3,\)"):
        pull(np.ones(3))


def test_an_unknown_argument_is_named():
    with pytest.raises(ff.errors.ArgumentError, match="'w' is no argument"):
        ff.jvp(moved, {"u": ff.ones({I: 3})}, {"w": ff.ones({I: 3})})
