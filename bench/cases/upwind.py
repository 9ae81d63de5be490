"""One step of upwind differences on a plane that fits the caches: what a call costs beside work."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import in_precision

from .by_hand import Grid, variant
from .case import Case

FLOPS = 18


def upwind(dtype: str, scale: float) -> Case:
    """128 x 128."""
    program = in_precision("advection", dtype)
    n, halo = round(128 * scale), program.HALO
    numbers = np.random.default_rng(6)
    shape = (n + 2 * halo + 1, n + 2 * halo + 1)
    q = numbers.random(shape).astype(dtype)
    cx, cy = ((0.4 * numbers.random(shape) - 0.2).astype(dtype) for _ in range(2))
    grid = Grid(n, n, 1, np.dtype(dtype), halo + 1)
    inputs = [grid.array(each[:, :, None], (-halo, -halo, 0)) for each in (q, cx, cy)]
    cells, faces = (-halo, n + halo), (-halo, n + halo + 1)
    I, J, IW, JS = program.I, program.J, program.IW, program.JS
    return Case(
        name="upwind",
        size=f"{n}x{n}",
        dtype=dtype,
        program=program.step_upwind,
        arguments={
            "q": ff.as_field({I: cells, J: cells}, q[:-1, :-1], allocator=ff.cpu),
            "cx": ff.as_field({IW: faces, J: cells}, cx[:, :-1], allocator=ff.cpu),
            "cy": ff.as_field({I: cells, JS: faces}, cy[:-1, :], allocator=ff.cpu),
            "out": ff.zeros({I: n, J: n}, q.dtype.type, allocator=ff.cpu),
            "nx": n,
            "ny": n,
        },
        tables={},
        outputs=("out",),
        by_hand={name: _flat(name, grid, inputs) for name in ("rows", "shared")},
        in_numpy=lambda: _in_numpy(q, cx, cy, halo),
        moved=4 * n * n * np.dtype(dtype).itemsize,
        operations=FLOPS * n * n,
        same_bits=False,
    )


CASES: tuple[Callable[[str, float], Case], ...] = (upwind,)


def _flat(name: str, grid: Grid, inputs: list) -> Callable[[], Mapping[str, np.ndarray]]:
    call = variant("upwind", name, grid, inputs, ("out",))
    return lambda: {"out": call()["out"][:, :, 0]}


def _in_numpy(q: np.ndarray, cx: np.ndarray, cy: np.ndarray, halo: int) -> Mapping[str, np.ndarray]:
    zero, cells = q.dtype.type(0), slice(halo, -halo - 1)
    faces, before = slice(halo, -halo), slice(halo - 1, -halo - 1)
    x, y = cx[faces, cells], cy[cells, faces]
    west = np.maximum(x, zero) * q[before, cells] + np.minimum(x, zero) * q[faces, cells]
    south = np.maximum(y, zero) * q[cells, before] + np.minimum(y, zero) * q[cells, faces]
    return {"out": q[cells, cells] - (west[1:] - west[:-1]) - (south[:, 1:] - south[:, :-1])}
