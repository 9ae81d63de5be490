"""A tridiagonal system in each column."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import in_precision

from .by_hand import Grid, variant
from .case import Case

FLOPS = 2 + 1 + 3 + 2  # the pivot, cp, dp; x
VARIANTS = {
    "whole": 2,
    **dict.fromkeys(("chunks128", "chunks256", "chunks512"), 0),
    **dict.fromkeys(("streamed128", "streamed256", "streamed512"), 0),
}


def tridiagonal(dtype: str, scale: float) -> Case:
    """256 x 256 x 80."""
    program = in_precision("tridiagonal", dtype)
    shape = ni, nj, nk = round(256 * scale), round(256 * scale), round(80 * scale)
    numbers = np.random.default_rng(2)
    a, c, d = (numbers.uniform(-1.0, 1.0, shape).astype(dtype) for _ in range(3))
    a[..., 0] = c[..., -1] = 0.0
    b = numbers.uniform(2.5, 3.0, shape).astype(dtype)
    grid = Grid(ni, nj, nk, np.dtype(dtype))
    inputs = [grid.array(each) for each in (a, b, c, d)]
    core = {program.I: ni, program.J: nj, program.K: nk}
    fields = {
        name: ff.as_field(core, data, allocator=ff.cpu)
        for name, data in zip("abcd", (a, b, c, d), strict=True)
    }
    return Case(
        name="tridiagonal",
        size=f"{ni}x{nj}x{nk}",
        dtype=dtype,
        program=program.solve,
        arguments={**fields, "x": ff.zeros(core, np.dtype(dtype).type, allocator=ff.cpu)},
        tables={},
        outputs=("x",),
        by_hand={
            name: variant("tridiagonal", name, grid, inputs, ("x",), spare)
            for name, spare in VARIANTS.items()
        },
        in_numpy=lambda: _in_numpy(a, b, c, d),
        moved=5 * a.nbytes,
        operations=FLOPS * a.size,
    )


CASES: tuple[Callable[[str, float], Case], ...] = (tridiagonal,)


def _in_numpy(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray
) -> Mapping[str, np.ndarray]:
    cp, dp, x = np.zeros_like(a), np.zeros_like(a), np.zeros_like(a)
    above = below = np.zeros_like(a[..., 0])
    before = above, above
    levels = a.shape[-1]
    for k in range(levels):
        pivot = b[..., k] - a[..., k] * before[0]
        before = c[..., k] / pivot, (d[..., k] - a[..., k] * before[1]) / pivot
        cp[..., k], dp[..., k] = before
    for k in reversed(range(levels)):
        below = x[..., k] = dp[..., k] - cp[..., k] * below
    return {"x": x}
