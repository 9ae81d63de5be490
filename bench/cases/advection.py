"""One step of MPDATA with flux correction on a plane: a grid in cache, and a large one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import in_precision

from .by_hand import Grid, variant
from .case import Case

# each value once: two steps upwind, Courant numbers, extrema and room, limits
FLOPS = 2 * 18 + 2 * 22 + 42 + 2 * 9
SPARE = {"arrays": 7, "rings": 0}


def small(dtype: str, scale: float) -> Case:
    """200 x 200."""
    return _case(dtype, round(200 * scale))


def large(dtype: str, scale: float) -> Case:
    """1600 x 1600."""
    return _case(dtype, round(1600 * scale))


CASES: tuple[Callable[[str, float], Case], ...] = (small, large)


def _case(dtype: str, n: int) -> Case:
    program = in_precision("advection", dtype)
    halo = program.HALO
    numbers = np.random.default_rng(1)
    shape = (n + 2 * halo + 1, n + 2 * halo + 1)
    q = numbers.random(shape).astype(dtype)
    cx, cy = ((0.4 * numbers.random(shape) - 0.2).astype(dtype) for _ in range(2))
    q[: n // 3] = 0.0  # as most tracers are in most of a domain
    grid = Grid(n, n, 1, np.dtype(dtype), halo + 1)
    inputs = [grid.array(each[:, :, None], (-halo, -halo, 0)) for each in (q, cx, cy)]
    return Case(
        name="mpdata",
        size=f"{n}x{n}",
        dtype=dtype,
        program=program.step_corrected,
        arguments=_arguments(program, q, cx, cy, n),
        tables={},
        outputs=("out",),
        by_hand={name: _flat(name, grid, inputs, spare) for name, spare in SPARE.items()},
        in_numpy=lambda: _in_numpy(q, cx, cy, halo),
        moved=4 * n * n * np.dtype(dtype).itemsize,
        operations=FLOPS * n * n,
        same_bits=False,
    )


def _flat(
    name: str, grid: Grid, inputs: list, spare: int
) -> Callable[[], Mapping[str, np.ndarray]]:
    call = variant("mpdata", name, grid, inputs, ("out",), spare)
    return lambda: {"out": call()["out"][:, :, 0]}


def _arguments(
    program: ModuleType, q: np.ndarray, cx: np.ndarray, cy: np.ndarray, n: int
) -> Mapping[str, object]:
    cells, faces = (-program.HALO, n + program.HALO), (-program.HALO, n + program.HALO + 1)
    I, J, IW, JS = program.I, program.J, program.IW, program.JS
    return {
        "q": ff.as_field({I: cells, J: cells}, q[:-1, :-1], allocator=ff.cpu),
        "cx": ff.as_field({IW: faces, J: cells}, cx[:, :-1], allocator=ff.cpu),
        "cy": ff.as_field({I: cells, JS: faces}, cy[:-1, :], allocator=ff.cpu),
        "out": ff.zeros({I: n, J: n}, q.dtype.type, allocator=ff.cpu),
        "nx": n,
        "ny": n,
    }


def _in_numpy(q: np.ndarray, cx: np.ndarray, cy: np.ndarray, halo: int) -> Mapping[str, np.ndarray]:
    """Compute on whole arrays; what wraps around stays in the halo."""
    real, cut = q.dtype.type, slice(halo, -halo - 1)
    zero, half, one, eps = real(0), real(0.5), real(1), real(1e-15)

    def at(a: np.ndarray, i: int, j: int = 0) -> np.ndarray:
        return np.roll(a, (-i, -j), (0, 1))

    def flux(p: np.ndarray, c: np.ndarray, i: int, j: int) -> np.ndarray:
        return np.maximum(c, zero) * at(p, -i, -j) + np.minimum(c, zero) * p

    def upwind(p: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        west, south = flux(p, x, 1, 0), flux(p, y, 0, 1)
        return p - (at(west, 1) - west) - (at(south, 0, 1) - south)

    def against(p: np.ndarray, c: np.ndarray, other: np.ndarray, i: int, j: int) -> np.ndarray:
        pair = p + at(p, -i, -j)
        along = (p - at(p, -i, -j)) / (pair + eps)
        high, low = at(pair, j, i), at(pair, -j, -i)
        across = half * (high - low) / (high + low + eps)
        middle = half * (other + at(other, j, i))
        mean = middle + at(middle, -i, -j)
        return (np.abs(c) - c * c) * along - half * c * mean * across

    def limited(c: np.ndarray, more: np.ndarray, less: np.ndarray, i: int, j: int) -> np.ndarray:
        up = np.minimum(one, np.minimum(at(less, -i, -j), more))
        down = np.minimum(one, np.minimum(at(more, -i, -j), less))
        return up * np.maximum(c, zero) + down * np.minimum(c, zero)

    once = upwind(q, cx, cy)
    ax, ay = against(once, cx, cy, 1, 0), against(once, cy, cx, 0, 1)
    around = [at(each, i, j) for each in (q, once)
              for i, j in ((0, 0), (1, 0), (-1, 0), (0, 1), (0, -1))]  # fmt: skip
    top, bottom = np.maximum.reduce(around), np.minimum.reduce(around)
    west, south = flux(once, ax, 1, 0), flux(once, ay, 0, 1)
    east, north = at(west, 1), at(south, 0, 1)
    inflow = (np.maximum(west, zero) - np.minimum(east, zero)
              + np.maximum(south, zero) - np.minimum(north, zero))  # fmt: skip
    outflow = (np.maximum(east, zero) - np.minimum(west, zero)
               + np.maximum(north, zero) - np.minimum(south, zero))  # fmt: skip
    more, less = (top - once) / (inflow + eps), (once - bottom) / (outflow + eps)
    out = upwind(once, limited(ax, more, less, 1, 0), limited(ay, more, less, 0, 1))
    return {"out": out[cut, cut]}
