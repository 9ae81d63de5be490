"""A Runge-Kutta step of shallow water on the sphere, and its adjoint, for `adjoint.py`.

The step is the one that the example `assimilation` records: four stages of two programs each. The
adjoint gets the adjoints of the state after the step, and gives those of the state before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from cases.case import Case

import fieldforge as ff

NAME: Final = "shallow water step"
LEVEL: Final = 6  # of the grid at scale 1; a level less has a quarter of the cells
NUMBERS: Final = 528  # that must move for each cell
SLOTS: Final = ("h", "u")
Call = Callable[[], object]


def prepared_step(
    scale: float, backend: Any = ff.cpu
) -> tuple[Case, Mapping[str, Call], Mapping[str, Any], dict[str, float]]:
    """Record a step and derive it; return case, calls, adjoints, and the seconds of both builds."""
    from fieldforge.examples.assimilation.model import WEIGHTS, Sphere, recorded_step
    from fieldforge.examples.shallow_water.cases import DAY, RADIUS, initial_state
    from fieldforge.examples.shallow_water.grid import Cell, Edge, voronoi_grid
    from fieldforge.examples.shallow_water.simulation import time_step
    from fieldforge.examples.shallow_water.voronoi import optimised

    level = max(2, LEVEL + round(np.log2(scale) / 2))
    grid = voronoi_grid(optimised(level), RADIUS)
    start = initial_state("6", grid)
    sphere = Sphere(grid, start, backend)
    dims = dict(zip(SLOTS, (Cell, Edge), strict=True))
    rng = np.random.default_rng(11)
    seeds = {n: sphere.field((dim,), rng.normal(size=sphere.sizes[dim])) for n, dim in dims.items()}
    given = {f"{name}_b": sphere.zeros(dim) for name, dim in dims.items()}

    def state() -> dict[str, Any]:
        return {name: sphere.field((dim,), getattr(start, name)) for name, dim in dims.items()}

    moving, still = state(), state()
    began = time.perf_counter()
    step = recorded_step(sphere, start, time_step(grid, 1e6 / DAY)[1])
    recorded = time.perf_counter()
    back = step.adjoint(wrt=SLOTS, of=SLOTS, constant=WEIGHTS)

    def reverse() -> None:
        for name, seed in seeds.items():  # a slot that is read and written has one adjoint
            given[f"{name}_b"].ndarray[...] = seed.ndarray
        back(**still, **given)

    reverse()
    built = {"forward": recorded - began, "adjoint": time.perf_counter() - recorded}
    case = Case(
        name=NAME, size=f"level {level}", dtype="float64", program=step, arguments={},
        tables=sphere.tables, outputs=SLOTS, by_hand={}, in_numpy=dict,
        moved=8 * NUMBERS * grid.cells, operations=0,
    )  # fmt: skip
    return case, {"forward": lambda: step(**moving), "adjoint": reverse}, given, built
