"""Implicit vertical advection of a wind component."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import in_precision

from .by_hand import Grid, variant
from .case import Case

FLOPS = 2 + 4 + 1 + 4 + 5 + 7 + 4  # faces, fluxes and their sum, a and c and b, d, elimination, x
PER_STEP = 1.0 / 12.0  # time steps of 12 s
VARIANTS = {
    "whole": 2,
    **dict.fromkeys(("chunks128", "chunks256"), 0),
    **dict.fromkeys(("streamed128", "streamed256", "streamed512"), 0),
}


def vertical_advection(dtype: str, scale: float) -> Case:
    """256 x 256 x 80."""
    program = in_precision("vertical_advection", dtype)
    ni, nj, nk = round(256 * scale), round(256 * scale), round(80 * scale)
    numbers = np.random.default_rng(3)
    u, before, tendency = (numbers.normal(0.0, 10.0, (ni, nj, nk)).astype(dtype) for _ in range(3))
    w = numbers.normal(0.0, 0.05, (ni + 1, nj, nk + 1)).astype(dtype)
    grid = Grid(ni, nj, nk, np.dtype(dtype), halo=1, levels=1)
    inputs = [grid.array(each) for each in (u, before, w, tendency)]
    return Case(
        name="vertical advection",
        size=f"{ni}x{nj}x{nk}",
        dtype=dtype,
        program=program.advect,
        arguments=_arguments(program, u, before, w, tendency),
        tables={},
        outputs=("new_tendency",),
        by_hand={
            name: variant(
                "vertical_advection", name, grid, inputs, ("new_tendency",), spare, (PER_STEP,)
            )
            for name, spare in VARIANTS.items()
        },
        in_numpy=lambda: _in_numpy(program, u, before, w, tendency),
        moved=4 * u.nbytes + w.nbytes,
        operations=FLOPS * u.size,
    )


CASES: tuple[Callable[[str, float], Case], ...] = (vertical_advection,)


def _arguments(
    program: ModuleType, u: np.ndarray, before: np.ndarray, w: np.ndarray, tendency: np.ndarray
) -> Mapping[str, object]:
    ni, nj, nk = u.shape
    core = {program.I: ni, program.J: nj, program.K: nk}
    faces = {program.I: ni + 1, program.J: nj, program.K: nk + 1}
    return {
        "u": ff.as_field(core, u, allocator=ff.cpu),
        "u_before": ff.as_field(core, before, allocator=ff.cpu),
        "w": ff.as_field(faces, w, allocator=ff.cpu),
        "tendency": ff.as_field(core, tendency, allocator=ff.cpu),
        "new_tendency": ff.zeros(core, u.dtype.type, allocator=ff.cpu),
        "per_step": u.dtype.type(PER_STEP),
        "last": nk - 1,
    }


def _in_numpy(
    program: ModuleType, u: np.ndarray, before: np.ndarray, w: np.ndarray, tendency: np.ndarray
) -> Mapping[str, np.ndarray]:
    real, levels = u.dtype.type, u.shape[-1]
    new, old, per_step = real(program.NEW), real(program.OLD), real(PER_STEP)
    flow = real(0.25) * (w[1:] + w[:-1])
    flow[..., 0] = flow[..., -1] = 0.0
    exchange = np.zeros_like(flow)
    exchange[..., 1:-1] = flow[..., 1:-1] * (u[..., 1:] - u[..., :-1])
    a, c = -new * flow[..., :-1], new * flow[..., 1:]
    b = per_step - a - c
    d = per_step * before + tendency - old * (exchange[..., :-1] + exchange[..., 1:])
    cp, dp = np.zeros_like(u), np.zeros_like(u)
    above = np.zeros_like(u[..., 0]), np.zeros_like(u[..., 0])
    for k in range(levels):
        inverse = real(1.0) / (b[..., k] - a[..., k] * above[0])
        above = c[..., k] * inverse, (d[..., k] - a[..., k] * above[1]) * inverse
        cp[..., k], dp[..., k] = above
    x, below = np.zeros_like(u), np.zeros_like(u[..., 0])
    for k in reversed(range(levels)):
        below = x[..., k] = dp[..., k] - cp[..., k] * below
    return {"new_tendency": per_step * (x - before)}
