"""`differentiable`: programs as functions of arrays, alone, in JAX and in PyTorch."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.runtime import gpu

from ...dimensions import E2C, Cell, E2CDim, Edge, I, Line

TABLE = {"E2C": ff.as_connectivity([Edge, E2CDim], Cell, np.array([[0, 1], [1, 2], [2, 0]]))}


@ff.field_operator
def both(u: Line, w: Line, by: ff.float64) -> tuple[Line, Line]:
    return by * w * (u(I + 1) - u), u * u


@ff.program(backend="rows")
def change(u: Line, w: Line, by: ff.float64, rise: Line, square: Line):
    both(u, w, by, out=(rise, square), domain={I: (0, 4)})


@ff.field_operator
def jump(c: ff.Field[ff.Dims[Cell], ff.float64]) -> ff.Field[ff.Dims[Edge], ff.float64]:
    return c(E2C[1]) * c(E2C[0])


@ff.program(backend="rows")
def jumps(c: ff.Field[ff.Dims[Cell], ff.float64], out: ff.Field[ff.Dims[Edge], ff.float64]):
    jump(c, out=out)


ANYWHERE = pytest.mark.parametrize(
    "backend", ["rows", pytest.param("gpu", marks=pytest.mark.needs_gpu)]
)


def function(backend="rows"):
    return ff.differentiable(
        change.with_backend(backend),
        wrt={"u": {I: 5}, "w": {I: 4}},
        of={"rise": {I: 4}, "square": {I: (0, 4)}},
        by=2.0,
    )


def drawn(*sizes):
    rng = np.random.default_rng(0)
    return [rng.normal(size=size) for size in sizes]


def test_values_and_adjoints_are_those_of_the_program():
    u, w, a, b = drawn(5, 4, 4, 4)

    rise, square = function().value([u, w])
    u_b, w_b = function().pull([u, w], [a, b])

    assert_allclose(rise, 2.0 * w * np.diff(u))
    assert_allclose(square, u[:4] ** 2)
    assert_allclose(w_b, 2.0 * a * np.diff(u))
    expected = np.append(2.0 * u[:4] * b - 2.0 * a * w, 0.0)
    expected[1:] += 2.0 * a * w
    assert_allclose(u_b, expected)


def test_arguments_are_given_once():
    with pytest.raises(ArgumentError, match="'w' of 'change' is given 0 times"):
        ff.differentiable(change, wrt={"u": {I: 5}}, of={"rise": {I: 4}, "square": {I: 4}}, by=2.0)
    with pytest.raises(ArgumentError, match="Expected 2 arrays, got 1"):
        function().value(drawn(5))


@ANYWHERE
def test_jax_differentiates_through_a_program(backend, monkeypatch):
    monkeypatch.setenv("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else it takes the memory
    jax = pytest.importorskip("jax", reason="for those who have JAX")
    u, w = drawn(5, 4)
    with jax.enable_x64():
        own = function(backend).jax

        def ours(u, w):
            rise, square = own(jax.numpy.sin(u), w)
            return (rise * rise).sum() + (jax.numpy.exp(square) * rise).sum()

        def plain(u, w):
            u = jax.numpy.sin(u)
            rise, square = 2.0 * w * jax.numpy.diff(u), u[:4] * u[:4]
            return (rise * rise).sum() + (jax.numpy.exp(square) * rise).sum()

        given = jax.numpy.asarray(u), jax.numpy.asarray(w)
        expected = jax.value_and_grad(plain, (0, 1))(*given)
        direct = jax.value_and_grad(ours, (0, 1))(*given)
        inside = jax.jit(jax.value_and_grad(ours, (0, 1)))(*given)
        for found in (direct, inside):
            for one, other in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
                assert_allclose(one, other, rtol=1e-13)


@ANYWHERE
def test_torch_differentiates_through_a_program(backend):
    torch = pytest.importorskip("torch", reason="for those who have PyTorch")
    own = function(backend).torch
    place = {"device": "cuda" if backend == "gpu" else "cpu", "requires_grad": True}
    u, w = (torch.tensor(each, **place) for each in drawn(5, 4))

    def ours(u, w):
        rise, square = own(torch.sin(u), w)
        return (rise * rise).sum() + (torch.exp(square) * rise).sum()

    def plain(u, w):
        u = torch.sin(u)
        rise, square = 2.0 * w * torch.diff(u), u[:4] * u[:4]
        return (rise * rise).sum() + (torch.exp(square) * rise).sum()

    assert torch.autograd.gradcheck(own, (u, w))
    for found, expected in zip(
        torch.autograd.grad(ours(u, w), (u, w)),
        torch.autograd.grad(plain(u, w), (u, w)),
        strict=True,
    ):
        assert found.device == u.device
        assert_allclose(found.cpu(), expected.cpu(), rtol=1e-13)


@pytest.mark.needs_gpu
def test_arrays_of_a_gpu_stay_where_they_are():
    u, w = drawn(5, 4)
    there = [gpu.Array.from_host(each) for each in (u, w)]
    rise, square = function("gpu").value(there)
    expected = function().value([u, w])
    for found, own in zip((rise, square), expected, strict=True):
        assert isinstance(found, gpu.Array)
        assert_array_equal(found.to_host(), own)
    assert_array_equal(function("gpu").value([u, w])[0].to_host(), expected[0])


def test_torch_trains_through_one_result():
    torch = pytest.importorskip("torch", reason="for those who have PyTorch")
    own = ff.differentiable(
        jumps, wrt={"c": {Cell: 3}}, of={"out": {Edge: 3}}, offset_provider=TABLE
    ).torch
    c = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)  # of single precision
    wanted = own(torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64))
    steps = torch.optim.SGD([c], lr=0.02)

    def miss():
        return ((own(c) - wanted) ** 2).sum()

    before = miss().item()
    for _ in range(200):
        steps.zero_grad()
        miss().backward()
        steps.step()

    assert c.grad.dtype == torch.float32
    assert miss().item() < 1e-3 * before


def test_jax_takes_one_result_of_a_mesh():
    jax = pytest.importorskip("jax", reason="for those who have JAX")
    with jax.enable_x64():
        own = ff.differentiable(
            jumps, wrt={"c": {Cell: 3}}, of={"out": {Edge: 3}}, offset_provider=TABLE
        ).jax

        found = jax.grad(lambda c: own(c).sum())(jax.numpy.array([1.0, 2.0, 4.0]))

    assert_array_equal(found, [6.0, 5.0, 3.0])
