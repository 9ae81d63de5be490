"""Horizontal diffusion with flux limiter: high and flat domains."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import in_precision

from .by_hand import Grid, variant
from .case import Case

FLOPS = 5 + 2 * 4 + 6  # lap, two limited fluxes, the divergence: each once
VARIANTS = {"recompute": 0, "rows": 0, "arrays": 3, "tiled": 0, "streamed": 0}


def high(dtype: str, scale: float) -> Case:
    """256 x 256 x 80."""
    return _case(dtype, (round(256 * scale), round(256 * scale), round(80 * scale)))


def flat(dtype: str, scale: float) -> Case:
    """1024 x 1024 x 8."""
    return _case(dtype, (round(1024 * scale), round(1024 * scale), max(1, round(8 * scale))))


CASES: tuple[Callable[[str, float], Case], ...] = (high, flat)


def _case(dtype: str, shape: tuple[int, int, int]) -> Case:
    program = in_precision("diffusion", dtype)
    halo = program.HALO
    ni, nj, nk = shape
    numbers = np.random.default_rng(1)
    u = numbers.random((ni + 2 * halo, nj + 2 * halo, nk)).astype(dtype)
    coeff = (0.05 * numbers.random(shape)).astype(dtype)
    grid = Grid(ni, nj, nk, np.dtype(dtype), halo)
    inputs = [grid.array(u, (-halo, -halo, 0)), grid.array(coeff)]
    return Case(
        name="diffusion",
        size=f"{ni}x{nj}x{nk}",
        dtype=dtype,
        program=program.diffuse,
        arguments=_arguments(program, u, coeff),
        tables={},
        outputs=("out",),
        by_hand={
            name: variant("diffusion", name, grid, inputs, ("out",), spare)
            for name, spare in VARIANTS.items()
        },
        in_numpy=lambda: _in_numpy(u, coeff),
        moved=3 * ni * nj * nk * np.dtype(dtype).itemsize,
        operations=FLOPS * ni * nj * nk,
    )


def _arguments(program: ModuleType, u: np.ndarray, coeff: np.ndarray) -> Mapping[str, object]:
    (ni, nj, nk), h = coeff.shape, program.HALO
    I, J, K = program.I, program.J, program.K
    around, core = {I: (-h, ni + h), J: (-h, nj + h), K: nk}, {I: ni, J: nj, K: nk}
    return {
        "u": ff.as_field(around, u, allocator=ff.cpu),
        "coeff": ff.as_field(core, coeff, allocator=ff.cpu),
        "out": ff.zeros(core, u.dtype.type, allocator=ff.cpu),
    }


def _in_numpy(u: np.ndarray, coeff: np.ndarray) -> Mapping[str, np.ndarray]:
    four, zero = u.dtype.type(4), u.dtype.type(0)
    lap = four * u[1:-1, 1:-1] - (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
    flx = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flx = np.where(flx * (u[2:-1, 2:-2] - u[1:-2, 2:-2]) > zero, zero, flx)
    fly = lap[1:-1, 1:] - lap[1:-1, :-1]
    fly = np.where(fly * (u[2:-2, 2:-1] - u[2:-2, 1:-2]) > zero, zero, fly)
    out = u[2:-2, 2:-2] - coeff * (flx[1:] - flx[:-1] + fly[:, 1:] - fly[:, :-1])
    return {"out": out}
