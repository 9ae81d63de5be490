"""Derivatives of the moist columns, by the tests of CLOUDSC2's tangent and adjoint.

Those of ECMWF's dwarf: the tangent's ratio to differences comes near 1 as perturbations of one per
cent shrink, and goes off again where they drown in rounding; the norm of what the tangent gives
agrees in each column with what the adjoint says of it, to 1e4 units in the last place. Columns are
apart where no wind blows.
"""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.moist_columns.columns import columns, time_step
from fieldforge.examples.moist_columns.inputs import inputs_of
from fieldforge.examples.moist_columns.model import NAMES, parts_of
from fieldforge.examples.moist_columns.programs import K, step
from fieldforge.examples.shallow_water.cases import RADIUS
from fieldforge.examples.shallow_water.grid import Cell, connectivities, voronoi_grid
from fieldforge.examples.shallow_water.voronoi import optimised

LEVELS = 10
NEW = tuple(f"new_{name}" for name in NAMES)
BETWEEN = tuple(f"{kind}_{name}" for kind in ("moved", "mixed") for name in NAMES)


class Columns:
    """A step on a small sphere, its tangent and its adjoint."""

    def __init__(self, has_wind):
        grid = voronoi_grid(optimised(1, iterations=10), RADIUS)
        air = columns(grid, LEVELS)
        (own,) = inputs_of(air, time_step(grid, 1.0)[1], parts_of(grid, 1))
        self.state = dict(zip(NAMES, own.state, strict=True))
        self.state["vapour"] = 1.3 * self.state["vapour"]  # clouds in a part of the cells
        self.fixed = {
            name: ff.as_field(dims, array if has_wind or name != "wind" else 0.0 * array)
            for name, (dims, array) in own.constants.items()
        }
        self.fixed |= {"dt": own.dt, "cells": ff.int32(grid.cells), "levels": ff.int32(LEVELS)}
        self.domain = {Cell: grid.cells, K: LEVELS}
        self.tables = connectivities(grid.tables)
        self.program = step.with_backend("rows")
        self.tangent = ff.tangent(self.program, wrt=NAMES, of=NEW)
        self.adjoint = ff.adjoint(self.program, wrt=NAMES, of=NEW)

    def _fields(self, names, values=None):
        return {
            name: ff.zeros(self.domain) if values is None else ff.as_field([Cell, K], values[name])
            for name in names
        }

    def run(self, state):
        """Return the state after a step."""
        new = self._fields(NEW)
        given = self._fields(NAMES, state) | self._fields(BETWEEN) | new
        self.program(**given, **self.fixed, offset_provider=self.tables)
        return {name: new[f"new_{name}"].asnumpy() for name in NAMES}

    def moved(self, way):
        """Return what the tangent makes of a perturbation."""
        given = {f"{name}_d": field for name, field in self._fields(NAMES, way).items()}
        out = {f"{name}_d": field for name, field in self._fields(NEW).items()}
        work = {f"{name}_d": field for name, field in self._fields(BETWEEN).items()}
        rest = self._fields(NAMES, self.state) | self._fields((*BETWEEN, *NEW))
        self.tangent(**rest, **given, **out, **work, **self.fixed, offset_provider=self.tables)
        return {name: out[f"new_{name}_d"].asnumpy() for name in NAMES}

    def handed_back(self, weights):
        """Return what the adjoint makes of weights of the new state."""
        given = {f"new_{name}_b": field for name, field in self._fields(NAMES, weights).items()}
        out = {f"{name}_b": field for name, field in self._fields(NAMES).items()}
        rest = self._fields(NAMES, self.state) | self._fields(BETWEEN)
        self.adjoint(**rest, **given, **out, **self.fixed, offset_provider=self.tables)
        return {name: out[f"{name}_b"].asnumpy() for name in NAMES}

    def perturbation(self):
        """Return one per cent of everything, with random signs."""
        rng = np.random.default_rng(1)
        return {
            name: 0.01 * each * rng.uniform(-1, 1, each.shape) for name, each in self.state.items()
        }


def test_differences_come_near_the_tangent():
    case = Columns(has_wind=True)
    way, start = case.perturbation(), case.run(case.state)
    tangent = case.moved(way)

    off = []
    for size in 10.0 ** -np.arange(1, 11):
        there = case.run({name: case.state[name] + size * way[name] for name in NAMES})
        ratios = [
            np.abs((there[name] - start[name]).sum() / (size * tangent[name].sum()))
            for name in NAMES
        ]
        off.append(abs(1.0 - np.mean(ratios)))

    assert off[3] < 0.5  # of their test: by 1e-4
    assert min(off) < 1e-6
    assert off[0] > 1e2 * min(off) < off[-1]  # the shape of a V


@pytest.mark.parametrize("has_wind", [False, True])
def test_the_adjoint_agrees_with_the_tangent_in_each_column(has_wind):
    case = Columns(has_wind)
    way = case.perturbation()

    moved = case.moved(way)
    back = case.handed_back(moved)

    axes = None if has_wind else 1
    norms = sum((moved[name] ** 2).sum(axes) for name in NAMES)
    products = sum((way[name] * back[name]).sum(axes) for name in NAMES)
    assert np.abs(products / norms - 1.0).max() < 1e4 * np.finfo(float).eps
