"""A twin experiment: a true run, observations of it, a first guess, and the analysis.

The wind at the start is known, the thickness is not. The cost of a thickness at the start is that
of 4D-Var: half the square of its distance from the first guess, in units of the error that is
expected, plus the misfit of the run to what was seen. L-BFGS minimises it with the gradient that
`ff.reversed_loop` computes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.runtime.decomposition.pattern import LocalMesh

from ..icosahedral import Indices
from ..mesh_geometry import Numbers
from ..shallow_water.cases import DAY, RADIUS, initial_state
from ..shallow_water.grid import Cell, Edge, Grid, voronoi_grid
from ..shallow_water.simulation import time_step
from ..shallow_water.voronoi import optimised
from .model import WEIGHTS, Smooth, Sphere, recorded_step
from .programs import misfit
from .ranks import Comm, Share

LENGTH: Final = 1.5e6  # m, over which the errors of the first guess are alike
EXPECTED: Final = 50.0  # m, their deviation
AROUND: Final = 8.0e5  # m, of the weights of the mean whose sensitivity is shown


@attrs.frozen(kw_only=True)
class Experiment:
    """What is done.

    Attributes:
        case: of shallow water.
        level: of the grid.
        hours: the length of the run; heights are seen each hour.
        share: the part of the cells that is seen.
        noise: the deviation of the errors of observations, in metres.
        iterations: of the minimisation.
        checkpoints: how many states memory may hold.
        seed: of the errors.

    """

    case: str = "6"
    level: int = 4
    hours: int = 12
    share: float = 0.05
    noise: float = 1.0
    iterations: int = 30
    checkpoints: int | None = 20
    seed: int = 1


@attrs.frozen
class Iteration:
    """The cost after an iteration, the norm of its gradient, and the error of the thickness."""

    cost: float
    gradient: float
    error: float


@attrs.frozen(kw_only=True, eq=False)
class Analysis:
    """What came of it; thickness in metres, on cells.

    Attributes:
        experiment: what was done.
        grid: the sphere.
        truth: the thickness at the start of the true run.
        guess: the first guess.
        found: the analysis.
        cells: those that were seen.
        iterations: from the first guess on.
        sensitivity: of the mean thickness around the first of these cells at the end to that at
            the start.
        steps: of a run.
        gradients: how many gradients were computed.
        seconds: for all iterations.
        report: what a gradient took.

    """

    experiment: Experiment
    grid: Grid
    truth: Numbers
    guess: Numbers
    found: Numbers
    cells: Indices
    iterations: tuple[Iteration, ...]
    sensitivity: Numbers
    steps: int
    gradients: int
    seconds: float
    report: Any

    def error(self, thickness: Numbers) -> float:
        """Return the root of the mean square error of a thickness over the sphere."""
        return rms(thickness - self.truth, self.grid.cell_areas)


def rms(values: Numbers, areas: Numbers) -> float:
    """Return the root of the mean square over the sphere."""
    return float(np.sqrt(np.average(values**2, weights=areas)))


class Assimilation:
    """A twin experiment, ready for its minimisation.

    On ranks the runs are shared, and each rank minimises the same numbers with the same bits.

    Args:
        experiment: what is done.
        backend: of the programs, or its name.
        comm: a communicator of mpi4py; by default one rank does all.
        exchange_of: returns the exchange of halos for a part of the mesh.

    """

    def __init__(
        self,
        experiment: Experiment,
        backend: Any,
        comm: Comm | None = None,
        exchange_of: Callable[[LocalMesh], Any] | None = None,
    ) -> None:
        self.experiment = experiment
        self.grid = voronoi_grid(optimised(experiment.level), RADIUS)
        self.start = initial_state(experiment.case, self.grid)
        self.steps, dt = time_step(self.grid, experiment.hours * 3600 / DAY)
        share = None
        if comm is not None and comm.size > 1 and exchange_of is not None:
            share = Share(self.grid, comm)
            share.exchange = exchange_of(share.part)
        self.sphere = Sphere(self.grid, self.start, backend, share)
        self.step = recorded_step(self.sphere, self.start, dt)
        whole = self.sphere if share is None else Sphere(self.grid, self.start, backend)
        self.smooth = Smooth(whole, EXPECTED, LENGTH)
        rng = np.random.default_rng(experiment.seed)
        self.truth = self.start.h
        self.guess = self.truth + self.smooth.field(rng.normal(size=self.grid.cells))
        count = max(1, round(experiment.share * self.grid.cells))
        self.cells = np.sort(rng.permutation(self.grid.cells)[:count])
        self.seen = self._observed(rng)
        weight = np.zeros(self.grid.cells)
        weight[self.cells] = experiment.noise**-2
        self._misfit = ff.gradient(misfit.with_backend(backend), wrt=["h"])
        own = self._field(weight)
        if share is not None:  # the owner of a cell counts its misfit
            own[share.part.points[Cell].owned :] = 0.0
        self._given = {"weight": own, "out": self.sphere.zeros(Cell)}
        self.loop = self._loop(self._cost, tuple(self.seen))
        self.gradients = 0
        self._known: dict[bytes, tuple[float, float]] = {}  # cost and norm of the gradient

    def _observed(self, rng: np.random.Generator) -> Mapping[int, Any]:
        """Return what was seen of the true run, by the number of steps."""
        hours = self.experiment.hours
        at = {round(hour * self.steps / hours) for hour in range(1, hours + 1)}
        state = {"h": self._field(self.truth), "u": self._wind()}
        seen = {}
        for number in range(1, self.steps + 1):
            self.step(**state)
            if number in at:
                values = np.zeros(self.grid.cells)
                noise = self.experiment.noise * rng.normal(size=len(self.cells))
                values[self.cells] = self._whole(state["h"])[self.cells] + noise
                seen[number] = self._field(values)
        return seen

    def _loop(self, cost: Callable[..., Any], at: tuple[int, ...]) -> Any:
        return ff.reversed_loop(
            self.step, carry=["h", "u"], cost=cost, at=at, constant=WEIGHTS, progress=None,
            checkpoints=self.experiment.checkpoints,
        )  # fmt: skip

    def _field(self, values: Numbers) -> Any:
        return self.sphere.field((Cell,), values)

    def _whole(self, field: Any) -> Numbers:
        return self.sphere.whole(Cell, field)

    def _wind(self) -> Any:
        return self.sphere.field((Edge,), self.start.u)

    def _cost(self, number: int, h: Any, **_: Any) -> tuple[float, Mapping[str, Any]]:
        """Return the misfit of a state to what was seen then, and how it moves with the state."""
        found = self._misfit(h=h, seen=self.seen[number], **self._given)[1]
        return math.fsum(self._whole(self._given["out"])), found

    def cost(self, numbers: Numbers) -> tuple[float, Numbers]:
        """Return the cost of a start, given by the numbers of a smooth field, and its gradient."""
        start = self._field(self.guess + self.smooth.field(numbers))
        value, found = self.loop(steps=self.steps, h=start, u=self._wind())
        self.gradients += 1
        gradient = numbers + self.smooth.adjoint(self._whole(found["h"]))
        value += 0.5 * float(numbers @ numbers)
        self._known[numbers.tobytes()] = value, float(np.linalg.norm(gradient))
        return value, gradient

    def analyse(self, told: Callable[[int, int], None] = lambda _done, _all: None) -> Analysis:
        """Minimise the cost; `told` gets the iterations made and all of them."""
        from scipy.optimize import minimize

        first = np.zeros(self.grid.cells)
        most, began = self.experiment.iterations, time.perf_counter()
        self.cost(first)
        done = [self._iteration(first)]

        def tell(intermediate_result: Any) -> None:
            done.append(self._iteration(intermediate_result.x))
            told(len(done) - 1, most)

        found = minimize(
            self.cost, first, jac=True, method="L-BFGS-B", callback=tell,
            options={"maxiter": most, "maxcor": most},
        )  # fmt: skip
        seconds = time.perf_counter() - began
        report, gradients = self.loop.report, self.gradients
        return Analysis(
            experiment=self.experiment, grid=self.grid, truth=self.truth, guess=self.guess,
            found=self.guess + self.smooth.field(found.x), cells=self.cells,
            iterations=tuple(done), sensitivity=self.sensitivity(), steps=self.steps,
            gradients=gradients, seconds=seconds, report=report,
        )  # fmt: skip

    def _iteration(self, numbers: Numbers) -> Iteration:
        error = rms(self.guess + self.smooth.field(numbers) - self.truth, self.grid.cell_areas)
        return Iteration(*self._known[numbers.tobytes()], error)

    def sensitivity(self) -> Numbers:
        """Return how the mean thickness around the first cell moves, at the end, with the start."""
        points = self.grid.cell_points
        away = RADIUS * np.linalg.norm(points - points[self.cells[0]], axis=1)
        around = self.grid.cell_areas * np.exp(-((away / AROUND) ** 2))
        around /= around.sum()

        def thickness(_number: int, h: Any, **_: Any) -> tuple[float, Mapping[str, Any]]:
            return float(around @ self._whole(h)), {"h": self._field(around)}

        loop = self._loop(thickness, (self.steps,))
        _, found = loop(steps=self.steps, h=self._field(self.truth), u=self._wind())
        return self._whole(found["h"])
