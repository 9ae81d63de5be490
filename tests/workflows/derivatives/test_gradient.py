"""`gradient`: a number and how it moves with the inputs of a program."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import float64, neighbor_sum

from ...dimensions import E2C, Cell, E2CDim, Edge, I, Line


@ff.field_operator
def squared(h: Line, seen: Line, weight: float64) -> Line:
    rise = h(I + 1) - seen
    return weight * rise * rise


@ff.program(backend=None)
def misfit(h: Line, seen: Line, weight: float64, out: Line):
    squared(h, seen, weight, out=out)


def arguments():
    rng = np.random.default_rng(0)
    return {
        "h": ff.as_field([I], rng.normal(size=7)),
        "seen": ff.as_field([I], rng.normal(size=5)),
        "weight": np.float64(0.5),
        "out": ff.zeros({I: 5}),
    }


@pytest.mark.parametrize("backend", [None, "rows", ff.gpu_host], ids=["none", "rows", "gpu-host"])
def test_a_gradient_is_that_of_the_sum(backend):
    given = arguments()
    gradient = ff.gradient(misfit.with_backend(backend), wrt=("h", "weight"))

    value, found = gradient(**given)

    rise = given["h"].asnumpy()[1:6] - given["seen"].asnumpy()
    assert value == pytest.approx(0.5 * (rise**2).sum(), rel=1e-14)
    assert value == pytest.approx(float(ff.sum(given["out"])), rel=1e-15)
    np.testing.assert_allclose(found["h"].asnumpy(), [0.0, *rise, 0.0], rtol=1e-14)
    assert found["weight"].asnumpy() == pytest.approx((rise**2).sum(), rel=1e-14)


def test_positions_and_missing_arguments_are_those_of_the_program():
    given = arguments()
    gradient = ff.gradient(misfit, wrt=("h",))

    assert gradient(*given.values())[0] == gradient(**given)[0]
    with pytest.raises(ff.errors.ArgumentError, match="misfit"):
        gradient(given["h"])


@ff.field_operator
def doubled(u: Line) -> Line:
    return u * u


@ff.program(backend=None)
def twice(u: Line):
    doubled(u, out=u)
    doubled(u, out=u)


def test_a_field_that_is_overwritten_has_the_gradient_of_its_initial_value():
    u = ff.as_field([I], [1.0, 2.0, -0.5])

    value, found = ff.gradient(twice)(u)

    assert value == 1.0 + 16.0 + 0.0625
    np.testing.assert_allclose(found["u"].asnumpy(), [4.0, 32.0, -0.5], rtol=1e-15)


@ff.field_operator
def between(u: ff.Field[ff.Dims[Cell], float64]) -> ff.Field[ff.Dims[Edge], float64]:
    return neighbor_sum(u(E2C), axis=E2CDim)


@ff.program(backend=None)
def sums(u: ff.Field[ff.Dims[Cell], float64], out: ff.Field[ff.Dims[Edge], float64]):
    between(u, out=out)


def test_transposed_tables_are_made_for_the_caller():
    ends = ff.as_connectivity([Edge, E2CDim], Cell, np.array([[0, 1], [1, 2], [2, 1]], np.int32))

    value, found = ff.gradient(sums)(
        ff.as_field([Cell], [1.0, 2.0, 4.0]), ff.zeros({Edge: 3}), offset_provider={"E2C": ends}
    )

    assert value == 3.0 + 6.0 + 6.0
    assert found["u"].asnumpy().tolist() == [1.0, 3.0, 2.0]


def test_operators_are_refused_with_a_hint():
    with pytest.raises(ff.errors.DerivativeError, match="'squared' is an operator"):
        ff.gradient(squared)
