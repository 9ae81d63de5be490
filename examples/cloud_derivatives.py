"""Tangent and adjoint of a cloud scheme, tested as those of physics in forecast models are.

The program is `precipitation.precipitate`: conversions of six kinds of water, and a scan in which
four of them fall. Two tests, as for the ECMWF's CLOUDSC2 (Ubbiali et al. 2025, Geoscientific Model
Development 18, 529, doi:10.5194/gmd-18-529-2025): *Taylor*, in which what the tangent leaves over
falls with the step until rounding; *symmetry*, the products of both sides with the adjoint.

    python -m fieldforge.examples.cloud_derivatives [--columns 64] [--levels 60] [--backend cpu]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import click
import numpy as np

import fieldforge as ff
from fieldforge.examples.precipitation import I, J, K, precipitate

STATE: Final = ("t", "vapour", "cloud", "rain", "ice", "snow", "graupel")
RESULTS: Final = (*(f"new_{name}" for name in STATE), "flux")
STEP: Final = 30.0  # s
PART: Final = 0.01  # of the state, by which it is moved
Fields = Mapping[str, Any]


def columns_of_air(count: int, levels: int) -> dict[str, Any]:
    """Return cloudy columns, cold above and warm below: K, kg/kg, kg/m3, m."""
    numbers, height = np.random.default_rng(2), np.linspace(0.0, 1.0, levels)
    shape = count, 1, levels
    air = {"t": 240.0 + 50.0 * height + numbers.uniform(-2.0, 2.0, shape)}
    for kind, most in zip(STATE[1:], (8e-3, 1e-3, 1e-3, 3e-4, 1e-3, 5e-4), strict=True):
        air[kind] = numbers.uniform(0.2 * most, most, shape)
    air["most"] = numbers.uniform(2e-3, 8e-3, shape)
    air["density"] = np.broadcast_to(0.4 + 0.8 * height, shape)
    air["thickness"] = np.broadcast_to(500.0 - 450.0 * height, shape)
    return {name: ff.as_field([I, J, K], each) for name, each in air.items()}


class Scheme:
    """The scheme at one state, its tangent and its adjoint."""

    def __init__(self, air: Fields, backend: Any) -> None:
        self.air = air
        self.run = precipitate.with_backend(backend)
        self.tangent = ff.tangent(self.run, wrt=STATE)
        self.adjoint = ff.adjoint(self.run, wrt=STATE)

    def new(self, names: tuple[str, ...]) -> dict[str, Any]:
        """Return fields of zeros."""
        return {name: ff.zeros(self.air["t"].domain) for name in names}

    def results(self, moved: Fields, by: float) -> dict[str, Any]:
        """Return what the scheme computes at a distance from the state."""
        found = self.new(RESULTS)
        state = {name: self.air[name] + by * moved[name] for name in STATE}
        self.run(**{**self.air, **state}, step=STEP, **found)
        return found

    def pushed(self, moved: Fields) -> dict[str, Any]:
        """Return the tangents of the results: how they move with the state."""
        plain, found = self.new(RESULTS), self.new(RESULTS)
        tangents = {f"{name}_d": each for name, each in {**moved, **found}.items()}
        self.tangent(**self.air, step=STEP, **plain, **tangents)
        return found

    def pulled(self, seeds: Fields) -> dict[str, Any]:
        """Return the adjoints of the state, given those of the results."""
        found = self.new(STATE)
        adjoints = {f"{name}_b": each for name, each in {**seeds, **found}.items()}
        self.adjoint(**self.air, step=STEP, **adjoints)
        return found


def taylor(scheme: Scheme, moved: Fields, decades: int = 10) -> list[tuple[float, float]]:
    """Return steps, and how much the tangent leaves over: the worst result's share of its move."""
    start, slope = scheme.results(moved, 0.0), scheme.pushed(moved)
    found = []
    for step in 10.0 ** -np.arange(decades):
        there = scheme.results(moved, step)
        left = (
            _size(there[name] - start[name] - step * slope[name]) / _size(step * slope[name])
            for name in RESULTS
        )
        found.append((float(step), max(left)))
    return found


def asymmetry(scheme: Scheme, moved: Fields) -> float:
    """Return how far `<M x, M x>` and `<x, M* M x>` are apart, in units of the last place."""
    image = scheme.pushed(moved)
    back = scheme.pulled(image)
    here = sum(_product(each, each) for each in image.values())
    there = sum(_product(moved[name], back[name]) for name in STATE)
    return float(abs(here - there) / (np.finfo(np.float64).eps * here))


def moved_by(air: Fields) -> dict[str, Any]:
    """Return a hundredth of the state, in which direction it is moved."""
    return {name: PART * air[name] for name in STATE}


def _size(field: Any) -> float:
    return float(np.linalg.norm(field.asnumpy()))


def _product(one: Any, other: Any) -> float:
    return float(np.sum(one.asnumpy() * other.asnumpy()))


@click.command(help=__doc__)
@click.option("--columns", default=64, show_default=True)
@click.option("--levels", default=60, show_default=True)
@click.option("--backend", default="cpu", show_default=True)
def main(columns: int, levels: int, backend: str) -> None:
    """Print both tests."""
    air = columns_of_air(columns, levels)
    scheme, moved = Scheme(air, backend), moved_by(air)
    click.echo("Taylor: step, what the tangent leaves over")
    for step, left in taylor(scheme, moved):
        click.echo(f"  {step:.0e}  {left:.1e}")
    click.echo(f"Symmetry: {asymmetry(scheme, moved):.1f} units in the last place")


if __name__ == "__main__":
    main()
