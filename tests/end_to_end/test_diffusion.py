"""Horizontal diffusion: one stencil through every room, the same numbers everywhere."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.diffusion import HALO, I, J, K, diffuse

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
