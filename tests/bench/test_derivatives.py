"""Derivatives of all programs that are measured, by three tests that no rule can pass by mistake.

The dot product compares tangent and adjoint, complex steps compare the tangent with the truth, and
Taylor's remainder shows that it belongs to the program.
"""

import importlib
import inspect
import math
import sys
from functools import cache
from unittest.mock import MagicMock

import numpy as np
import pytest

import fieldforge as ff

SCALE = 0.06
ON_MESHES = ("mesh", "flux", "velocity")  # small at any scale
EPS = np.finfo(np.float64).eps
WRT = {  # where some inputs have no adjoint yet: sparse fields with missing neighbours, slots
    "mesh.nabla2": ("vn", "difference"),
    "velocity.velocity_tendency": ("vn", "w"),
    "mesh.nabla4": ("u", "v", "laplacian", "per_length", "per_height"),
}


@cache
def cases():
    """Return what makes each case; nothing by hand is compiled."""
    with pytest.MonkeyPatch.context() as patch:
        found = importlib.import_module("cases").all_cases()
        for name in ("by_hand", "mesh", "velocity"):
            patch.setattr(importlib.import_module(f"cases.{name}"), "compiled", MagicMock())
        return found


@cache
def case_of(name):
    with pytest.MonkeyPatch.context() as patch:
        for module in ("by_hand", "mesh", "velocity"):
            patch.setattr(importlib.import_module(f"cases.{module}"), "compiled", MagicMock())
        scale = SCALE / 3 if name.startswith(ON_MESHES) else SCALE
        return cases()[name]("float64", scale)


def leaves(value):
    return (
        [each for part in value for each in leaves(part)] if isinstance(value, tuple) else [value]
    )


def like(value, make):
    """Return fields like one, or like those of a collection."""
    if isinstance(value, tuple):
        return tuple(like(each, make) for each in value)
    return ff.as_field(value.domain, make(value))


def drawn(rng):
    return lambda field: rng.normal(size=field.shape).astype(field.ndarray.dtype)


def copied(value):
    return like(value, lambda field: field.asnumpy().copy())


def dot(one, other):
    """Return the sum of products, and the sum of their absolute values, both exact."""
    products = [
        a.asnumpy().astype(np.float64).ravel() * b.asnumpy().astype(np.float64).ravel()
        for a, b in zip(leaves(one), leaves(other), strict=True)
    ]
    every = np.concatenate(products) if products else np.zeros(0)
    return math.fsum(every), math.fsum(np.abs(every))


class Derivatives:
    """Tangent and adjoint of a case, on the values that it has."""

    def __init__(self, name, backend="rows"):
        self.case = case_of(name)
        program = self.case.program.with_backend(backend)
        self.adjoint = ff.adjoint(program, wrt=WRT.get(name), of=self.outputs)
        read = [each for each in parameters(self.adjoint) if each not in self.case.arguments]
        self.wrt = [
            each.removesuffix("_b") for each in read if each.removesuffix("_b") not in self.outputs
        ]
        self.tangent = ff.tangent(program, wrt=self.wrt)
        self.program = program

    @property
    def outputs(self):
        return self.case.outputs

    def drawn(self, names, seed):
        rng = np.random.default_rng(seed)
        return {each: like(self.case.arguments[each], drawn(rng)) for each in names}

    def run(self, derived, given, end):
        """Run a derivative on copies of the case; return the fields of its parameters."""
        fields = {}
        for each in parameters(derived):
            own = each.removesuffix(end)
            if each in self.case.arguments:
                value = self.case.arguments[each]
                fields[each] = value if not hasattr(value, "ndarray") else copied(value)
            elif own in given:
                fields[each] = copied(given[own])
            else:
                fields[each] = like(self.case.arguments[own], poisoned)
        derived(**fields, offset_provider=self.case.tables)
        return fields

    def pushed(self, moved):
        found = self.run(self.tangent, moved, "_d")
        return tuple(found[f"{each}_d"] for each in self.outputs)

    def pulled(self, seeds):
        found = self.run(self.adjoint, dict(zip(self.outputs, seeds, strict=True)), "_b")
        return tuple(found[f"{each}_b"] for each in self.wrt)


def poisoned(field):
    return np.full(field.shape, np.nan, field.ndarray.dtype)


def parameters(derived):
    return list(inspect.signature(derived.__definition__.function).parameters)


def marked(name):
    """Return a case; those that take long to build run with the marker only."""
    marks = [pytest.mark.in_full] if name.startswith(("advection", "limiter")) else []
    return pytest.param(name, marks=marks)


@pytest.mark.parametrize("name", [*map(marked, cases())])
def test_tangent_and_adjoint_agree(name):
    both = Derivatives(name)
    x = both.drawn(both.wrt, seed=5)
    y = tuple(both.drawn(both.outputs, seed=6).values())

    image = both.pushed(x)
    image = tuple(where_written(each, other) for each, other in zip(image, y, strict=True))
    there, size = dot(image, y)
    here, other = dot(tuple(x.values()), both.pulled(y))

    assert size > 0.0
    assert abs(there - here) <= 10 * EPS * max(size, other)


def where_written(found, seed):
    """Return a tangent with 0 where the program writes nothing, as its adjoint has no effect."""
    return like(found, lambda field: np.nan_to_num(field.asnumpy(), nan=0.0))


TWINS = {  # the same programs on whole arrays, which take complex numbers
    "diffusion.high": lambda module, _, a: module._in_numpy(a["u"], a["coeff"]),
    "tridiagonal.tridiagonal": lambda module, _, a: module._in_numpy(*(a[x] for x in "abcd")),
    "laplacians.seven_points": lambda module, program, a: {
        "out": module._seven_in_numpy(program, a["u"])
    },
    "vertical_advection.vertical_advection": lambda module, program, a: module._in_numpy(
        program, *(a[x] for x in ("u", "u_before", "w", "tendency"))
    ),
    "saturation_adjustment.saturation_adjustment": lambda module, program, a: module._in_numpy(
        program, *(a[x] for x in ("t", "vapour", "cloud", "density"))
    ),
    "upwind.upwind": lambda module, program, a: module._in_numpy(*_padded(a), program.HALO),
}
STEP = 1e-200  # of an imaginary part: no difference, so no cancellation


def _padded(arrays):
    """Return arrays that go one index further, as those of the bench do."""
    ends = {"q": ((0, 1), (0, 1)), "cx": ((0, 0), (0, 1)), "cy": ((0, 1), (0, 0))}
    return [np.pad(arrays[name], more) for name, more in ends.items()]


@pytest.mark.parametrize("name", TWINS)
def test_tangents_agree_with_complex_steps(name):
    both = Derivatives(name)
    x = both.drawn(both.wrt, seed=7)
    arrays = {
        each: value.asnumpy().astype(np.complex128) if hasattr(value, "ndarray") else value
        for each, value in both.case.arguments.items()
    }
    for each, moved in x.items():
        arrays[each] += 1j * STEP * moved.asnumpy()
    module = importlib.import_module(f"cases.{name.partition('.')[0]}")
    program = sys.modules[both.case.program.__definition__.function.__module__]

    expected = TWINS[name](module, program, arrays)

    for each, found in zip(both.outputs, both.pushed(x), strict=True):
        truth = expected[each].imag / STEP
        assert np.abs(truth).max() > 0.0
        np.testing.assert_allclose(
            found.asnumpy(), truth, rtol=1e-12, atol=1e-13 * np.abs(truth).max()
        )


def value_at(both, x, by):
    """Return the outputs at a distance from the case."""
    given = dict(both.case.arguments)
    for each, moved in x.items():
        given[each] = like(given[each], lambda own, v=moved: own.asnumpy() + by * v.asnumpy())
    for each in both.outputs:
        given[each] = copied(given[each])
    both.program(**given, offset_provider=both.case.tables)
    return np.concatenate([given[each].asnumpy().ravel() for each in both.outputs])


SMOOTH = ("tridiagonal.tridiagonal", "vertical_advection.vertical_advection")


@pytest.mark.parametrize("name", SMOOTH)
def test_taylor_remainders_shrink_with_the_square(name):
    both = Derivatives(name)
    x = both.drawn(both.wrt, seed=8)
    image = np.concatenate([each.asnumpy().ravel() for each in both.pushed(x)])
    steps = 10.0 ** -np.arange(3, 7)

    left = [
        np.linalg.norm(value_at(both, x, h) - value_at(both, x, 0.0) - h * image) for h in steps
    ]

    slopes = np.diff(np.log(left)) / np.diff(np.log(steps))
    assert ((slopes > 1.9) & (slopes < 2.1)).all(), slopes


def test_a_limiter_has_no_remainder_below_its_nearest_kink():
    both = Derivatives("diffusion.high")
    x = both.drawn(("u",), seed=9)
    both.tangent = ff.tangent(both.program, wrt=("u",))
    image = np.concatenate([each.asnumpy().ravel() for each in both.pushed(x)])

    def left(h):
        return np.abs(value_at(both, x, h) - value_at(both, x, 0.0) - h * image).max() / h

    assert left(1e-7) < 1e-8  # rounding alone
    assert left(1.0) > 1e-3


@pytest.mark.parametrize(
    "name", [*SMOOTH, "saturation_adjustment.saturation_adjustment", "upwind.upwind"]
)
def test_second_derivatives_are_symmetric(name):
    both = Derivatives(name)
    made = [f"{each}_b" for each in both.wrt]
    hessian = ff.tangent(both.adjoint, wrt=both.wrt, of=made, names="{}_e")
    seeds = both.drawn(both.outputs, seed=1)

    def times(v):
        fields = dict(both.case.arguments)
        fields |= {f"{each}_b": like(fields[each], poisoned) for each in both.wrt}
        fields |= {f"{each}_b": copied(seed) for each, seed in seeds.items()}
        fields |= {f"{each}_e": copied(moved) for each, moved in v.items()}
        fields |= {f"{each}_b_e": like(fields[each], poisoned) for each in both.wrt}
        wanted = {each: fields[each] for each in parameters(hessian)}
        hessian(**wanted)
        return tuple(wanted[f"{each}_b_e"] for each in both.wrt)

    v, w = both.drawn(both.wrt, seed=2), both.drawn(both.wrt, seed=3)
    here, size = dot(tuple(w.values()), times(v))
    there, other = dot(tuple(v.values()), times(w))

    assert size > 0.0
    assert abs(here - there) <= 100 * EPS * max(size, other)
