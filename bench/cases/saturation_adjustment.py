"""Saturation adjustment: exponentials and divisions at every point, no neighbours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import in_precision

from .by_hand import Grid, variant
from .case import Case

SATURATION, NEWTON = 13, 7  # the exponential counted as one
FLOPS = 2 + 1 + 2 + 6 * SATURATION + 4 * NEWTON + 1
VARIANTS = ("library", "vectors", "polynomial", "polynomial2")
INPUTS = ("t", "vapour", "cloud", "density")
OUTPUTS = ("new_t", "new_vapour", "new_cloud")


def saturation_adjustment(dtype: str, scale: float) -> Case:
    """256 x 256 x 80."""
    program = in_precision("saturation_adjustment", dtype)
    ni, nj, nk = round(256 * scale), round(256 * scale), round(80 * scale)
    data = _air((ni, nj, nk), dtype)
    grid = Grid(ni, nj, nk, np.dtype(dtype))
    inputs = [grid.array(each) for each in data]
    core = {program.I: ni, program.J: nj, program.K: nk}
    given = {
        name: ff.as_field(core, each, allocator=ff.cpu)
        for name, each in zip(INPUTS, data, strict=True)
    }
    made = {name: ff.zeros(core, np.dtype(dtype).type, allocator=ff.cpu) for name in OUTPUTS}
    return Case(
        name="saturation adjustment",
        size=f"{ni}x{nj}x{nk}",
        dtype=dtype,
        program=program.adjust,
        arguments={**given, **made},
        tables={},
        outputs=OUTPUTS,
        by_hand={
            name: variant("saturation_adjustment", name, grid, inputs, OUTPUTS) for name in VARIANTS
        },
        in_numpy=lambda: _in_numpy(program, *data),
        moved=7 * data[0].nbytes,
        operations=FLOPS * data[0].size,
        same_bits=False,
    )


CASES: tuple[Callable[[str, float], Case], ...] = (saturation_adjustment,)


def _air(shape: tuple[int, int, int], dtype: str) -> tuple[np.ndarray, ...]:
    """Make air from -10 to 25 degrees, half of it beyond saturation, some with cloud."""
    numbers = np.random.default_rng(5)
    t = numbers.uniform(263.0, 298.0, shape)
    density = numbers.uniform(0.6, 1.2, shape)
    pressure = 610.78 * np.exp(17.2693882 * (t - 273.16) / (t - 35.86))
    vapour = numbers.uniform(0.85, 1.1, shape) * pressure / (density * 461.51 * t)
    cloud = np.maximum(numbers.uniform(-1e-3, 1e-3, shape), 0.0)
    return tuple(each.astype(dtype) for each in (t, vapour, cloud, density))


def _in_numpy(
    program: ModuleType, t: np.ndarray, vapour: np.ndarray, cloud: np.ndarray, density: np.ndarray
) -> Mapping[str, np.ndarray]:
    real = t.dtype.type
    heating, slope, pole = real(program.HEATING), real(program.SLOPE), real(program.POLE)
    melting, one = real(program.MELTING), real(1.0)
    per_density = one / (density * real(program.VAPOUR_GAS))
    water, dry = vapour + cloud, t - heating * cloud

    def saturation(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        off_pole, per_t = one / (t - pole), one / t
        pressure = real(program.PRESSURE) * np.exp(slope * (t - melting) * off_pole)
        ratio = pressure * per_density * per_t
        steep = real(program.STEEPNESS)
        return ratio, ratio * (steep * off_pole * off_pole - per_t)

    most, warm = saturation(dry)[0], t
    for _ in range(4):
        ratio, growth = saturation(warm)
        excess = warm - dry + heating * (ratio - water)
        warm = warm - excess / (one + heating * growth)
    held, cloudy = saturation(warm)[0], water > most
    return {
        "new_t": np.where(cloudy, warm, dry),
        "new_vapour": np.where(cloudy, held, water),
        "new_cloud": np.where(cloudy, water - held, real(0.0)),
    }
