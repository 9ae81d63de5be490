"""Mixing in a limited area: what theory says of waves, columns and boundaries."""

import numpy as np
import pytest

from fieldforge.examples.limited_area_mixing import HALO, Mixing

INNER = (slice(HALO, -HALO), slice(HALO, -HALO))
BACKENDS = [
    "numpy",
    pytest.param("gt:cpu_ifirst", marks=pytest.mark.needs_compiler),
]


@pytest.fixture(params=BACKENDS)
def mixing(request):
    return Mixing((8, 10, 12), request.param)


def place(mixing):
    return {"origin": (HALO, HALO, 0), "domain": mixing.shape}


def test_hyperdiffusion_damps_a_wave_by_the_square_of_its_eigenvalue(mixing):
    q, smoothed = mixing.field(), mixing.field()
    i, j, _ = np.meshgrid(*(np.arange(n) for n in q.shape), indexing="ij")
    q[...] = np.sin(0.7 * i + 0.4 * j)

    mixing.smooth(q, smoothed, 1.0 / 64.0, **place(mixing))

    eigenvalue = 2.0 * (np.cos(0.7) - 1.0) + 2.0 * (np.cos(0.4) - 1.0)
    expected = (1.0 - eigenvalue**2 / 64.0) * q[INNER]
    np.testing.assert_allclose(smoothed[INNER], expected, rtol=0.0, atol=1e-14)


def test_limited_hyperdiffusion_makes_no_new_extremum(mixing):
    q, smoothed = mixing.field(), mixing.field()
    q[6:, :, :] = 1.0

    mixing.smooth(q, smoothed, 1.0 / 16.0, **place(mixing))

    assert smoothed[INNER].min() >= 0.0
    assert smoothed[INNER].max() <= 1.0
    assert 0.0 < smoothed[5, 5, 0] < smoothed[6, 5, 0] < 1.0


def mix(mixing, q, diffusivity, dt):
    origins = {"_all_": (HALO, HALO, 0), "emission": (0, 0), "thickness": (0,)}
    mixing.mix(
        q, diffusivity, mixing.thickness, mixing.emission, mixing.mixed, dt,
        origin=origins, domain=mixing.shape,
    )  # fmt: skip
    return mixing.mixed[INNER]


def test_implicit_diffusion_damps_the_modes_of_a_column(mixing):
    nk, mode, dt = mixing.shape[2], 3, 5.0
    q, diffusivity = mixing.field(), mixing.field()
    q[...] = np.cos(np.pi * mode * (np.arange(nk) + 0.5) / nk)
    diffusivity[...] = 0.8

    mixed = mix(mixing, q, diffusivity, dt)

    factor = 1.0 / (1.0 + dt * 0.8 * 4.0 * np.sin(0.5 * np.pi * mode / nk) ** 2)
    np.testing.assert_allclose(mixed, factor * q[INNER], rtol=0.0, atol=1e-14)


def test_columns_conserve_what_is_in_them_and_what_comes_from_the_ground(mixing):
    random = np.random.default_rng(4)
    q, diffusivity = mixing.field(), mixing.field()
    q[...] = random.random(q.shape)
    diffusivity[...] = random.random(q.shape)
    mixing.thickness[...] = 0.5 + random.random(mixing.thickness.shape)
    mixing.emission[...] = random.random(mixing.emission.shape)

    mixed = mix(mixing, q, diffusivity, 2.0)

    before = (q[INNER] * mixing.thickness).sum(axis=2) + 2.0 * mixing.emission
    np.testing.assert_allclose((mixed * mixing.thickness).sum(axis=2), before, rtol=1e-13)


def test_outer_rows_are_nested_in_the_driving_model(mixing):
    q, driving = mixing.field(), mixing.field()
    driving[...] = 1.0
    nested = mixing.field()

    mixing.nest(q, driving, nested, **place(mixing))

    across = [1.0, 0.5, 0.25, 0.0, 0.0, 0.25, 0.5, 1.0]
    assert nested[INNER][:, 5, 0].tolist() == across
    assert nested[INNER][0, :, 0].tolist() == [1.0] * 10
    assert nested[INNER][1, 1, 0] == 0.5
    assert nested[INNER][2, 4, 0] == 0.25


def test_steps_spread_a_puff_and_keep_the_halo(mixing):
    q, driving, diffusivity = (mixing.field() for _ in range(3))
    q[4:8, 5:9, 2:5] = 1.0
    diffusivity[...] = 0.3

    for _ in range(3):
        mixing.step(q, driving, diffusivity, 1.0 / 16.0, 1.0)

    assert 0.0 < q[INNER].max() < 1.0
    assert abs(q.min()) < 0.02 * q.max()  # the limiter looks along one axis at a time
    assert (q[5, 6, :] > 0.0).all()
    assert not q[:HALO].any()
