"""The model as a recorded step, whose adjoint fieldforge derives, and smooth fields."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, Final

import numpy as np

import fieldforge as ff

from ..mesh_geometry import Numbers
from ..shallow_water.cases import GRAVITY, State
from ..shallow_water.grid import Cell, Edge, Grid, Vertex, connectivities
from ..shallow_water.inputs import coefficients
from ..shallow_water.model import STAGES
from ..shallow_water.programs import advance, diagnose
from .programs import diffuse
from .ranks import Share

# Adjoints look these up along transposed tables once, because they never change.
WEIGHTS: Final = ("curl", "divergence", "kinetic", "share", "tangential")
AMOUNT: Final = 0.2  # of a step of diffusion, in squares of the distance of cells; stable to 0.25


class Sphere:
    """Fields, tables and coefficients on the sphere, or on what a rank has of it.

    Args:
        grid: the whole sphere.
        start: gives ground and Coriolis parameter.
        backend: of the programs, which allocates the fields, or its name; None to run embedded.
        share: what a rank has; None for all of it.

    """

    def __init__(self, grid: Grid, start: State, backend: Any, share: Share | None = None) -> None:
        self.grid, self.backend = grid, diagnose.with_backend(backend).backend
        self.share = share
        if share is None:
            self.tables = connectivities(grid.tables, allocator=self.backend)
            self.sizes = {Cell: grid.cells, Edge: grid.edges, Vertex: grid.vertices}
        else:
            self.tables = share.part.connectivities(self.backend)
            self.sizes = share.sizes
        whole = coefficients(grid) | {
            "coriolis": ((Vertex,), start.coriolis), "ground": ((Cell,), start.ground),
        }  # fmt: skip
        self.fixed = {name: self.field(dims, array) for name, (dims, array) in whole.items()}

    def field(self, dims: Any, array: Numbers) -> Any:
        """Return a field where the backend wants it, from an array over the whole sphere."""
        local = array if self.share is None else self.share.local(dims[0], array)
        return ff.as_field(dims, local, allocator=self.backend)

    def whole(self, dim: ff.Dimension, field: Any) -> Numbers:
        """Return the values of a field on the whole sphere."""
        values = np.array(field.asnumpy())
        return values if self.share is None else self.share.whole(dim, values)

    @property
    def ends(self) -> tuple[dict[str, ff.int32], dict[str, ff.int32]]:
        """How far `diagnose` and `advance` compute."""
        if self.share is not None:
            return self.share.ends
        cells, edges, vertices = map(ff.int32, self.sizes.values())
        return (
            {"flux_end": edges, "q_end": vertices, "q_edge_end": edges, "head_end": cells},
            {"h_end": cells, "u_end": edges},
        )

    def zeros(self, dim: ff.Dimension) -> Any:
        """Return a field of zeros."""
        return ff.zeros({dim: self.sizes[dim]}, allocator=self.backend)

    def bound(self, program: Any, *names: str, **more: Any) -> Any:
        """Return a program with the tables and some of the fixed arguments."""
        fixed = {name: self.fixed[name] for name in names}
        return program.with_backend(self.backend).bind(offset_provider=self.tables, **fixed, **more)


def recorded_step(sphere: Sphere, start: State, dt: float) -> Any:
    """Return a Runge-Kutta step of shallow water, which changes the slots `h` and `u` in place.

    On ranks it reads a state whose halo is there, and exchanges what each stage writes.
    """
    now = sphere.field((Cell,), start.h), sphere.field((Edge,), start.u)
    total, *stages = ((sphere.zeros(Cell), sphere.zeros(Edge)) for _ in range(3))
    flux, q_edge, head = sphere.zeros(Edge), sphere.zeros(Edge), sphere.zeros(Cell)
    between = {"flux": flux, "q_edge": q_edge, "head": head}
    exchange = None if sphere.share is None else sphere.share.exchange
    diagnosed, advanced = sphere.ends
    diagnosing = sphere.bound(
        diagnose, "coriolis", "ground", "curl", "share", "kinetic",
        gravity=GRAVITY, q=sphere.zeros(Vertex), **between, **diagnosed,
    )  # fmt: skip
    advancing = sphere.bound(
        advance, "divergence", "tangential", "per_distance",
        **between, h0=now[0], u0=now[1], **advanced,
    )  # fmt: skip
    with ff.record(h=now[0], u=now[1]) as step:
        for number, (a, w) in enumerate(STAGES):
            source = stages[number % 2] if number else now
            summed = total if number else now
            into = now if number == len(STAGES) - 1 else total
            following = stages[(number + 1) % 2]
            diagnosing(h=source[0], u=source[1])
            advancing(
                h_sum=summed[0], u_sum=summed[1], a=a * dt, w=w * dt,
                h_next=following[0], u_next=following[1], h_sum_out=into[0], u_sum_out=into[1],
            )  # fmt: skip
            if exchange is not None:
                exchange(*(now if into is now else following))
    return step


class Smooth:
    """Smooth random fields: `field` is linear in numbers, one a cell, `adjoint` its adjoint.

    Numbers with variance 1 that do not depend on each other become a field whose values have the
    deviation `size` and are alike over about `length` metres.
    """

    def __init__(self, sphere: Sphere, size: float, length: float) -> None:
        spacing = float(sphere.grid.cell_distances.min())
        self.steps = max(2, round(length**2 / (2 * AMOUNT * spacing**2)))
        self._a, self._b = sphere.zeros(Cell), sphere.zeros(Cell)
        self._a_b, self._b_b = sphere.zeros(Cell), sphere.zeros(Cell)
        # a Gaussian has the mean square 1 / (4 pi s^2), here with s^2 = length^2
        area = float(sphere.grid.cell_areas.mean())
        self._factor = size * length * math.sqrt(4 * math.pi / area)
        run = sphere.bound(
            diffuse, "per_distance", "divergence", amount=AMOUNT * spacing**2,
            rise=sphere.zeros(Edge),
        )  # fmt: skip
        between = sphere.zeros(Cell), sphere.zeros(Cell)
        with ff.record(numbers=self._a, smooth=self._b) as self._step:
            fields = [self._a, *(between[n % 2] for n in range(self.steps - 1)), self._b]
            for before, after in pairwise(fields):
                run(v=before, out=after)
        self._back = self._step.adjoint(wrt=["numbers"], of=["smooth"], constant=["divergence"])

    def field(self, numbers: Numbers) -> Numbers:
        """Return a smooth field."""
        self._a[...] = numbers
        self._step(numbers=self._a, smooth=self._b)
        return np.asarray(self._factor * self._b.asnumpy())

    def adjoint(self, gradient: Numbers) -> Numbers:
        """Return the gradient with respect to the numbers, from that with respect to the field."""
        self._b_b[...] = self._factor * gradient
        self._back(numbers=self._a, smooth=self._b, smooth_b=self._b_b, numbers_b=self._a_b)
        return np.array(self._a_b.asnumpy())
