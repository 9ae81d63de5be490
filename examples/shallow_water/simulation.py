"""Run a case on any number of ranks and measure errors and conserved quantities."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, TypeAlias

import attrs

import fieldforge as ff
from fieldforge.runtime.decomposition.exchange import LostRankError
from fieldforge.runtime.decomposition.pattern import LocalMesh
from fieldforge.runtime.decomposition.scattering import scattered

from ..mesh_geometry import Numbers
from .cases import DAY, RADIUS, State, initial_state
from .grid import Cell, Edge, Grid, voronoi_grid
from .inputs import Inputs, inputs_of
from .model import ShallowWater, in_global_order, parts_of
from .norms import Conserved, Norms, conserved, norms
from .ranks import close, exchanges_of
from .saved_state import SavedState
from .voronoi import Quality, kept, quality

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


@attrs.frozen(eq=False)
class Whole:
    """The sphere, which one process makes and cuts: the case's start, and the first state."""

    quality: Quality
    grid: Grid
    start: State
    first: State
    parts: Sequence[LocalMesh]


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
    by: str = "mpi",
    generators: Path | None = None,
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
        by: what exchanges halos on the ranks of `comm`: "mpi", "ghex" or "nccl".
        generators: a file that keeps the grid; it is made if it is not there.
        hours: keep a frame about each so many hours; the first and the last state are kept anyway.
    """
    ranks = comm.size if comm is not None else ranks
    is_first = comm is None or comm.rank == 0
    whole = _whole(case, since, ranks, generators) if is_first else None
    inputs, steps, dt = _on_this_process(case, whole, comm)
    first_days = 0.0 if since is None else since.days
    began = time.perf_counter()
    exchanges = exchanges_of([each.part for each in inputs], comm, by)
    with ff.plan() as plan:
        models = _models(inputs, dt, backend, exchanges)
    plan.build(progress=None, **({} if comm is None else {"comm": comm}))
    ready = time.perf_counter()

    def frame(done: int) -> Frame | None:
        owned = [model.owned() for model in models]
        owned = owned if comm is None else comm.gather(owned[0])
        if whole is None:
            return None
        h, u = (
            in_global_order(whole.parts, dim, [each[column] for each in owned])
            for column, dim in enumerate((Cell, Edge))
        )
        days = first_days + done * dt / DAY
        return Frame(days, h, u, conserved(whole.grid, whole.start, h, u))

    loop_seconds, frames = 0.0, [frame(0)]
    with plan.loop() as report:
        for done, until in pairwise(_stops(steps, dt, hours)):
            ready_to_run = time.perf_counter()
            _run(models, until - done, _told_from(done, steps, told))
            loop_seconds += time.perf_counter() - ready_to_run
            frames.append(frame(until))
    close(exchanges)
    if whole is None:
        return None
    kept = [each for each in frames if each is not None]
    last, grid, start = kept[-1], whole.grid, whole.start
    exact = conserved(grid, start, start.h, start.u)
    return Result(
        case=attrs.evolve(case, days=first_days + case.days), grid=grid, start=start,
        quality=whole.quality, ranks=ranks, steps=steps, dt=dt,
        setup_seconds=ready - began, loop_seconds=loop_seconds, compiled_in_loop=report.count,
        h=last.h, u=last.u, conserved=last.conserved, drift=last.conserved.drift(exact),
        height_norms=norms(last.h, start.h, grid.cell_areas) if start.is_steady else None,
        frames=kept,
    )  # fmt: skip


def _whole(case: Case, since: SavedState | None, ranks: int, generators: Path | None) -> Whole:
    mesh = kept(case.level, generators)
    grid = voronoi_grid(mesh, RADIUS)
    start = initial_state(case.name, grid)
    first = start if since is None else attrs.evolve(start, h=since.h, u=since.u)
    return Whole(quality(mesh), grid, start, first, parts_of(grid, ranks))


def _on_this_process(case: Case, whole: Whole | None, comm: Any) -> tuple[list[Inputs], int, float]:
    """Return the inputs of the ranks of this process, the number of steps and their length."""
    made = None
    if whole is not None:
        steps, dt = time_step(whole.grid, case.days)
        each = inputs_of(whole.grid, whole.first, whole.parts)
        if comm is None:
            return list(each), steps, dt
        made = ((inputs, steps, dt) for inputs in each)
    inputs, steps, dt = scattered(comm, made)
    return [inputs], steps, dt


def _told_from(before: int, steps: int, told: Progress) -> Progress:
    return lambda done, _: told(before + done, steps)


def _stops(steps: int, dt: float, hours: float | None) -> list[int]:
    """Return after how many steps there are frames, with 0 and all steps."""
    if hours is None:
        return [0, steps]
    every = max(1, round(hours * 3600 / dt))
    return [*range(0, steps, every), steps]


def _models(
    inputs: Sequence[Inputs], dt: float, backend: Any, exchanges: Sequence[Any]
) -> list[ShallowWater]:
    return [
        ShallowWater(each, dt, backend, exchange)
        for each, exchange in zip(inputs, exchanges, strict=True)
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
        model.wait()
    except BaseException:
        model.abandon()
        raise
