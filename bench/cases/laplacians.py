"""Laplacians of 7 and of 27 points."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType

import numpy as np

import fieldforge as ff
from fieldforge.examples.precision import in_precision

from .by_hand import Grid, variant
from .case import Case

Array = np.ndarray


def seven_points(dtype: str, scale: float) -> Case:
    """256 x 256 x 80."""
    variants = {name: f"seven_{name}" for name in ("loop", "blocks", "streamed")}
    return _case("seven_points", dtype, scale, variants, 5 + 2, _seven_in_numpy)


def twenty_seven_points(dtype: str, scale: float) -> Case:
    """256 x 256 x 80."""
    variants = {name: f"all_{name}" for name in ("loop", "rows", "blocks", "streamed")}
    return _case("twenty_seven_points", dtype, scale, variants, 6 + 5 + 4 + 3, _all_in_numpy)


CASES: tuple[Callable[[str, float], Case], ...] = (seven_points, twenty_seven_points)


def _case(
    name: str,
    dtype: str,
    scale: float,
    variants: Mapping[str, str],
    flops: int,
    in_numpy: Callable[[ModuleType, Array], Array],
) -> Case:
    program = in_precision("laplacians", dtype)
    ni, nj, nk = round(256 * scale), round(256 * scale), round(80 * scale)
    numbers = np.random.default_rng(4)
    u = numbers.normal(size=(ni + 2, nj + 2, nk + 2)).astype(dtype)
    grid = Grid(ni, nj, nk, np.dtype(dtype), halo=1, levels=1)
    inputs = [grid.array(u, (-1, -1, -1))]
    dims = program.I, program.J, program.K
    around = {dim: (-1, n + 1) for dim, n in zip(dims, (ni, nj, nk), strict=True)}
    core = dict(zip(dims, (ni, nj, nk), strict=True))
    return Case(
        name=name.replace("_", " "),
        size=f"{ni}x{nj}x{nk}",
        dtype=dtype,
        program=getattr(program, name),
        arguments={
            "u": ff.as_field(around, u, allocator=ff.cpu),
            "out": ff.zeros(core, u.dtype.type, allocator=ff.cpu),
        },
        tables={},
        outputs=("out",),
        by_hand={
            short: variant("laplacians", full, grid, inputs, ("out",))
            for short, full in variants.items()
        },
        in_numpy=lambda: {"out": in_numpy(program, u)},
        moved=2 * ni * nj * nk * u.dtype.itemsize,
        operations=flops * ni * nj * nk,
    )


def _seven_in_numpy(program: ModuleType, u: Array) -> Array:
    inner = u[1:-1, 1:-1, 1:-1]
    ends = u[2:, 1:-1, 1:-1] + u[:-2, 1:-1, 1:-1]
    rest = ends + u[1:-1, 2:, 1:-1] + u[1:-1, :-2, 1:-1] + u[1:-1, 1:-1, 2:] + u[1:-1, 1:-1, :-2]
    return rest - u.dtype.type(6.0) * inner


def _all_in_numpy(program: ModuleType, u: Array) -> Array:
    weights = (program.CENTRE, program.FACE, program.EDGE, program.CORNER)
    centre, face, edge, corner = (u.dtype.type(each) for each in weights)
    near = u[:, :-2, 1:-1] + u[:, 2:, 1:-1] + u[:, 1:-1, :-2] + u[:, 1:-1, 2:]
    far = u[:, :-2, :-2] + u[:, 2:, :-2] + u[:, :-2, 2:] + u[:, 2:, 2:]
    u = u[:, 1:-1, 1:-1]
    result = centre * u[1:-1] + face * (u[:-2] + u[2:] + near[1:-1])
    return result + edge * (near[:-2] + near[2:] + far[1:-1]) + corner * (far[:-2] + far[2:])
