"""Advection: what each scheme keeps, its order, and that compiled steps are the embedded ones."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import advection as example
from fieldforge.examples.advection import HALO, IW, JS, I, J, Rotation

SMALL = Rotation(size=24, steps=160)
SCHEMES = ("upwind", "mpdata", "corrected")
compiled = pytest.mark.needs_compiler


def inner(values):
    return values[HALO:-HALO, HALO:-HALO]


@compiled
@pytest.mark.parametrize("scheme", SCHEMES)
def test_compiled_steps_are_the_embedded_ones(scheme):
    one, other = (example.rotated(scheme, SMALL, 5 / 160, backend) for backend in ("cpu", None))

    assert not np.array_equal(one, inner(SMALL.cone()))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


@compiled
def test_a_cone_turns_around_the_centre():
    case = Rotation(size=64, steps=402)
    before, after = inner(case.cone()), example.rotated("corrected", case, 0.5)

    there = np.unravel_index(after.argmax(), after.shape)
    expected = np.unravel_index(before[::-1, ::-1].argmax(), before.shape)
    assert np.abs(np.subtract(there, expected)).max() <= 1
    assert np.sqrt(np.mean((after - before[::-1, ::-1]) ** 2)) < 0.12


@compiled
def test_one_turn_keeps_what_each_scheme_promises():
    case = Rotation(size=48, steps=302)
    before = inner(case.cone())
    highest = {}
    for scheme in SCHEMES:
        after = example.rotated(scheme, case)
        highest[scheme] = after.max()
        assert after.min() >= 0.0  # positive
        assert after.sum() <= before.sum() * (1.0 + 1e-12)  # nothing comes in
    assert highest["upwind"] < 0.5 * highest["mpdata"] < highest["mpdata"] < before.max()
    assert abs(highest["corrected"] / highest["mpdata"] - 1.0) < 0.15


@compiled
def test_mass_is_conserved_to_rounding_away_from_the_boundary():
    case = Rotation(size=48, steps=302)
    for scheme in SCHEMES:
        after = example.rotated(scheme, case, 2 / 302)
        assert abs(after.sum() / inner(case.cone()).sum() - 1.0) < 1e-12


@compiled
def test_only_flux_correction_makes_no_new_extrema_on_a_background():
    case = Rotation(size=48, steps=302, background=2.0)
    lowest = {scheme: example.rotated(scheme, case, 0.25).min() for scheme in SCHEMES}

    assert lowest["mpdata"] < 2.0 - 1e-3
    assert lowest["corrected"] >= 2.0 - 1e-12


@compiled
def test_mpdata_is_of_second_order_and_upwind_of_first():
    def error(scheme, n):
        """Carry a wave by half of a periodic plane along both axes."""
        step = example.STEPS[scheme].with_backend("cpu")
        domain = {I: (-HALO, n + HALO), J: (-HALO, n + HALO)}
        i, j = np.meshgrid(*[2.0 * np.pi * (np.arange(n) + 0.5) / n] * 2, indexing="ij")
        wave = 2.0 + np.sin(i) * np.sin(j)
        now, new = (ff.as_field(domain, np.pad(wave, HALO, mode="wrap")) for _ in range(2))
        faces = (-HALO, n + HALO + 1)
        cx = ff.full({IW: faces, J: domain[J]}, 0.25)
        cy = ff.full({I: domain[I], JS: faces}, 0.25)
        for _ in range(2 * n):
            step(now, cx, cy, new, n, n)
            new.ndarray[...] = np.pad(inner(new.asnumpy()), HALO, mode="wrap")
            now, new = new, now
        expected = np.roll(wave, (n // 2, n // 2), (0, 1))
        return np.sqrt(np.mean((inner(now.asnumpy()) - expected) ** 2))

    orders = {scheme: np.log2(error(scheme, 32) / error(scheme, 64)) for scheme in SCHEMES}

    assert 0.6 < orders["upwind"] < 1.3
    assert orders["mpdata"] > 1.8
    assert orders["corrected"] > 1.5
