"""Horizontal diffusion: one stencil through every room, the same numbers everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.diffusion import HALO, I, J, K, diffuse, diffused

NI, NJ, NK = 12, 9, 5


def by_hand(u: np.ndarray, coeff: np.ndarray) -> np.ndarray:
    """The same arithmetic in NumPy; `u` has a halo of two cells along its first two axes."""
    lap = 4.0 * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    flx = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flx = np.where(flx * (u[2:-1, 2:-2] - u[1:-2, 2:-2]) > 0.0, 0.0, flx)
    fly = lap[1:-1, 1:] - lap[1:-1, :-1]
    fly = np.where(fly * (u[2:-2, 2:-1] - u[2:-2, 1:-2]) > 0.0, 0.0, fly)
    divergence = flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1]
    return u[2:-2, 2:-2] - coeff * divergence


@pytest.fixture
def arrays() -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(42)
    u = numbers.normal(size=(NI + 2 * HALO, NJ + 2 * HALO, NK))
    return u, numbers.uniform(0.0, 0.1, size=(NI, NJ, NK))


BACKENDS = [
    pytest.param(None, id="embedded", marks=pytest.mark.filterwarnings("ignore::UserWarning")),
    pytest.param("reference", id="reference"),
    pytest.param("cpu", id="cpu", marks=pytest.mark.needs_compiler),
]


@pytest.mark.parametrize("name", BACKENDS)
def test_every_backend_gives_the_bits_of_numpy(name, arrays):
    backend = name and getattr(ff, name).with_options(numerics="strict")
    u_data, coeff_data = arrays
    u = ff.as_field({I: (-HALO, NI + HALO), J: (-HALO, NJ + HALO), K: NK}, u_data, allocator=ff.cpu)
    coeff = ff.as_field({I: NI, J: NJ, K: NK}, coeff_data, allocator=ff.cpu)
    out = ff.zeros({I: NI, J: NJ, K: NK}, allocator=ff.cpu)

    diffuse.with_backend(backend)(u, coeff, out)

    np.testing.assert_array_equal(out.asnumpy(), by_hand(u_data, coeff_data))


@pytest.mark.parametrize("name", BACKENDS)
def test_an_operator_called_directly_writes_the_domain_it_is_given(name, arrays):
    backend = name and getattr(ff, name).with_options(numerics="strict")
    u_data, coeff_data = arrays
    u = ff.as_field({I: (-HALO, NI + HALO), J: (-HALO, NJ + HALO), K: NK}, u_data)
    coeff = ff.as_field({I: NI, J: NJ, K: NK}, coeff_data)
    out = ff.full({I: NI, J: NJ, K: NK}, -1.0)

    diffused.with_backend(backend)(u, coeff, out=out, domain={I: (2, 7), J: (0, NJ), K: (1, 3)})

    expected = np.full((NI, NJ, NK), -1.0)
    expected[2:7, :, 1:3] = by_hand(u_data, coeff_data)[2:7, :, 1:3]
    np.testing.assert_array_equal(out.asnumpy(), expected)


@pytest.mark.needs_compiler
def test_any_strides_are_accepted(arrays):
    u_data, coeff_data = arrays
    orders = [np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]]
    for order in orders:
        u = wrap({I: (-HALO, NI + HALO), J: (-HALO, NJ + HALO), K: NK}, order(u_data))
        coeff = wrap({I: NI, J: NJ, K: NK}, order(coeff_data))
        out = wrap({I: NI, J: NJ, K: NK}, order(np.zeros((NI, NJ, NK))))

        diffuse.with_backend(ff.cpu.with_options(numerics="strict"))(u, coeff, out)

        np.testing.assert_array_equal(out.asnumpy(), by_hand(u_data, coeff_data))


def wrap(where: dict, array: np.ndarray) -> ff.Field:
    """Make a field over the very array, strides and all."""
    domain = ff.domain(where)
    return ff.Field(array, domain.dims, tuple(r.start for r in domain.ranges))


@pytest.mark.parametrize(
    "name", ["reference", pytest.param("cpu", marks=pytest.mark.needs_compiler)]
)
def test_a_halo_that_is_too_small_is_refused_by_name(name, arrays):
    u_data, coeff_data = arrays
    u = ff.as_field({I: (-1, NI + HALO), J: (-HALO, NJ + HALO), K: NK}, u_data[1:])
    coeff = ff.as_field({I: NI, J: NJ, K: NK}, coeff_data)
    out = ff.zeros({I: NI, J: NJ, K: NK})

    with pytest.raises(ff.errors.DomainError, match=r"'u'.*'I'.*-2:14.*-1:14"):
        diffuse.with_backend(getattr(ff, name))(u, coeff, out)

    assert not out.asnumpy().any()
