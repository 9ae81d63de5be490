"""`explain`: what an adjoint does with each value of its program."""

import re

import pytest

import fieldforge as ff
from fieldforge import exp, maximum, sqrt, where

from ...dimensions import Line


@ff.field_operator(backend=None)
def inner(u: Line) -> Line:
    return where(u > 0.0, sqrt(u), 0.0)


@ff.field_operator(backend=None)
def flux_of(u: Line, w: Line) -> Line:
    return exp(maximum(u, 1.0)) * (w / 2.0)


@ff.field_operator(backend=None)
def squared(flux: Line) -> Line:
    return flux * flux + inner(flux)


@ff.program(backend=None)
def step(u: Line, w: Line, flux: Line, out: Line):
    flux_of(u, w, out=flux)
    squared(flux, out=out)


def lines_of(**options):
    return ff.explain(ff.adjoint(step, of=("out",), **options)).splitlines()


def told(lines, value):
    return next(line for line in lines if f" {value}" in line and line.startswith("%"))


def test_values_are_computed_again_for_the_adjoints_that_need_them():
    lines = lines_of(wrt=("u",))

    assert re.search(r" active; computed again, for the adjoint of %\d+", told(lines, "exp"))
    assert "not active; read" in told(lines, "input w")
    assert "not active; computed again" in told(lines, "gt")


def test_what_is_kept_is_not_computed_again():
    lines = lines_of(wrt=("w",), keep=("flux",))

    assert "kept in 'flux'" in told(lines, "region")
    assert "; computed again, for the adjoint of" in told(lines, "exp")  # w multiplies it
    assert "The adjoint moves 4 fields: reads u, flux, out_b; writes w_b." in lines


def test_lines_with_kinks_are_named():
    lines = lines_of(wrt=("u",))

    kinks = [line for line in lines if line.startswith("line ")]
    words = [re.sub(r"line \d+ of test_explaining.py, ", "", line) for line in kinks]
    assert words == [
        "'where': the derivative is that of the side taken.",
        "'sqrt': the derivative is 0 at 0.",
        "'maximum': the derivative is that of the larger operand, on ties the second.",
    ]


@pytest.mark.parametrize("program", [step, ff.tangent(step)], ids=["program", "tangent"])
def test_what_is_no_adjoint_is_refused(program):
    with pytest.raises(ff.errors.DerivativeError, match="Adjoints are explained, got"):
        ff.explain(program)
