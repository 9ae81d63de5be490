"""Run a case on any number of ranks and measure errors and conserved quantities."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any, Final, TypeAlias

import attrs

import fieldforge as ff
from fieldforge.runtime.decomposition.exchange import LostRankError, MpiExchange, local_exchanges

from ..mesh_geometry import Numbers
from .cases import DAY, RADIUS, State, initial_state
from .grid import Cell, Edge, Grid, voronoi_grid
from .model import ShallowWater, in_global_order, parts_of
from .norms import Conserved, Norms, conserved, norms
from .saved_state import SavedState
from .voronoi import Quality, optimised, quality

FASTEST: Final = 300.0  # m/s: gravity waves and wind of all cases
COURANT: Final = 0.5  # the method of fourth order is stable up to about twice this
Progress: TypeAlias = Callable[[int, int], None]  # takes the steps done and all steps


def silent(_done: int, _steps: int) -> None:
    """Show no progress."""


@attrs.frozen(kw_only=True)
class Case:
    """What is run: a test case, the level of the grid, the length of the run in days."""

    name: str
    level: int
    days: float


@attrs.frozen(eq=False)
class Frame:
    """A state in global order: `h` (cells,) and `u` (edges,), and what it should conserve."""

    days: float
    h: Numbers
    u: Numbers
    conserved: Conserved


@attrs.frozen(kw_only=True, eq=False)
class Result:
    """The last state in global order, and measures of it.

    `frames` begins with the first state and ends with the last one.

    `height_norms` and `wind_norms` are None where the exact solution is not known. `h` is the
    thickness (cells,) in metres, `u` the normal velocity (edges,) in m/s.
    """

    case: Case
    grid: Grid
    start: State
    quality: Quality
    ranks: int
    steps: int
    dt: float
    setup_seconds: float
    loop_seconds: float
    compiled_in_loop: int
    h: Numbers
    u: Numbers
    conserved: Conserved
    drift: Conserved
    height_norms: Norms | None
    frames: Sequence[Frame]


def time_step(grid: Grid, days: float) -> tuple[int, float]:
    """Return the number of steps and their length in seconds, by the shortest distance of cells."""
    longest = COURANT * float(grid.cell_distances.min()) / FASTEST
    steps = max(1, math.ceil(days * DAY / longest))
    return steps, days * DAY / steps


def simulate(
    case: Case,
    backend: Any,
    *,
    ranks: int = 1,
    comm: Any = None,
    since: SavedState | None = None,
    told: Progress = silent,
    hours: float | None = None,
) -> Result | None:
    """Run a case and return the result; on the ranks of MPI but the first, None.

    A run in two parts has the bits of one run if the time step is the same.

    Args:
        case: what to run.
        backend: of the programs, or None to run embedded.
        ranks: how many parts the sphere is cut into; each runs on a thread of this process.
        comm: a communicator of mpi4py: each process is a rank, `ranks` is not used.
        since: begin here and run `case.days` more; on all ranks of MPI.
        told: is called after each step of the first rank with the steps done and all steps.
        hours: keep a frame about each so many hours; the first and the last state are kept anyway.
    """
    mesh = optimised(case.level)
    grid = voronoi_grid(mesh, RADIUS)
    start = initial_state(case.name, grid)
    first, days = start, case.days
    if since is not None:
        first = attrs.evolve(start, h=since.h, u=since.u)
        days += since.days
    steps, dt = time_step(grid, case.days)
    ranks = comm.size if comm is not None else ranks
    parts = parts_of(grid, ranks)
    began = time.perf_counter()
    with ff.plan() as plan:
        models = _models(grid, first, parts, dt, backend, comm)
    plan.build(progress=None, **({} if comm is None else {"comm": comm}))
    ready = time.perf_counter()
    first_days = days - case.days

    def frame(done: int) -> Frame | None:
        h, u = _gathered(models, parts, comm) or (None, None)
        if h is None or u is None:
            return None
        return Frame(first_days + done * dt / DAY, h, u, conserved(grid, start, h, u))

    loop_seconds, frames = 0.0, [frame(0)]
    with plan.loop() as report:
        for done, until in pairwise(_stops(steps, dt, hours)):
            ready_to_run = time.perf_counter()
            _run(models, until - done, _told_from(done, steps, told))
            loop_seconds += time.perf_counter() - ready_to_run
            frames.append(frame(until))
    kept = [each for each in frames if each is not None]
    if not kept:
        return None
    last, exact = kept[-1], conserved(grid, start, start.h, start.u)
    return Result(
        case=attrs.evolve(case, days=days), grid=grid, start=start, quality=quality(mesh),
        ranks=ranks, steps=steps, dt=dt,
        setup_seconds=ready - began, loop_seconds=loop_seconds, compiled_in_loop=report.count,
        h=last.h, u=last.u, conserved=last.conserved, drift=last.conserved.drift(exact),
        height_norms=norms(last.h, start.h, grid.cell_areas) if start.is_steady else None,
        frames=kept,
    )  # fmt: skip


def _told_from(before: int, steps: int, told: Progress) -> Progress:
    return lambda done, _: told(before + done, steps)


def _stops(steps: int, dt: float, hours: float | None) -> list[int]:
    """Return after how many steps there are frames, with 0 and all steps."""
    if hours is None:
        return [0, steps]
    every = max(1, round(hours * 3600 / dt))
    return [*range(0, steps, every), steps]


def _gathered(
    models: Sequence[ShallowWater], parts: Sequence[Any], comm: Any
) -> tuple[Numbers, Numbers] | None:
    """Return `h` and `u` in global order; on the ranks of MPI but the first, None."""
    owned = [model.owned() for model in models]
    if comm is not None:
        gathered = comm.gather(owned[0])
        if gathered is None:
            return None
        owned = gathered
    h, u = (
        in_global_order(tuple(parts), dim, [each[column] for each in owned])
        for column, dim in enumerate((Cell, Edge))
    )
    return h, u


def _models(
    grid: Grid, start: State, parts: Sequence[Any], dt: float, backend: Any, comm: Any
) -> list[ShallowWater]:
    if comm is not None:
        part = parts[comm.rank]
        exchange: Any = MpiExchange(comm, part.patterns) if len(parts) > 1 else None
        return [ShallowWater(grid, start, part, dt, backend, exchange)]
    exchanges: Sequence[Any] = [None]
    if len(parts) > 1:
        exchanges = local_exchanges([part.patterns for part in parts])
    return [
        ShallowWater(grid, start, part, dt, backend, each)
        for part, each in zip(parts, exchanges, strict=True)
    ]


def _run(models: Sequence[ShallowWater], steps: int, told: Progress) -> None:
    """Run all models of this process; the first one tells how far it is."""
    if len(models) == 1:
        _loop(models[0], steps, told)
        return
    with ThreadPoolExecutor(len(models)) as pool:
        runs = [
            pool.submit(_loop, model, steps, silent if n else told)
            for n, model in enumerate(models)
        ]
        try:
            wait(runs, return_when=FIRST_EXCEPTION)
        finally:  # after an error or an interrupt nobody waits for anybody
            if not all(each.done() for each in runs):
                for model in models:
                    model.abandon()
    errors = [error for each in runs if (error := each.exception()) is not None]
    for error in sorted(errors, key=lambda each: isinstance(each, LostRankError)):
        raise error


def _loop(model: ShallowWater, steps: int, told: Progress) -> None:
    try:
        for done in range(steps):
            model.step()
            told(done + 1, steps)
    except BaseException:
        model.abandon()
        raise
