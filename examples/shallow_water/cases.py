"""Initial states: Williamson's cases 2, 5 and 6, and Galewsky's jet, also without its bump.

Williamson, Drake, Hack, Jakob & Swarztrauber (1992, Journal of Computational Physics 102);
Galewsky, Scott & Polvani (2004, Tellus A 56). The velocity comes from a stream function at the
vertices, so that its discrete divergence is zero to rounding.

>>> from .grid import voronoi_grid
>>> from .voronoi import optimised
>>> grid = voronoi_grid(optimised(level=2, iterations=20), RADIUS)
>>> state = initial_state("2", grid)
>>> round(float(state.h.max()), 1), round(float(np.abs(state.u).max()), 1)
(2998.1, 38.5)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import attrs
import numpy as np

from ..icosahedral import Points
from ..mesh_geometry import Numbers
from .grid import Grid

RADIUS: Final = 6.37122e6  # m
ROTATION: Final = 7.292e-5  # 1/s
GRAVITY: Final = 9.80616  # m/s^2
DAY: Final = 86400.0  # s


@attrs.frozen(kw_only=True, eq=False)
class State:
    """The start of a case on a grid, in SI units.

    `h` is the thickness and `ground` the height of the ground, (cells,); `u` the normal velocity,
    (edges,); `coriolis` the Coriolis parameter, (vertices,). `is_steady`: the exact solution does
    not change.
    """

    h: Numbers
    u: Numbers
    ground: Numbers
    coriolis: Numbers
    is_steady: bool


def initial_state(case: str, grid: Grid) -> State:
    """Return the initial state of a case, one of `CASES`; anything else: ValueError."""
    if case not in CASES:
        raise ValueError(f"Unknown case '{case}', expected one of {', '.join(sorted(CASES))}.")
    surface, stream, ground = CASES[case](grid)
    vertices = grid.tables["E2V"]
    psi = stream(grid.vertex_points)
    return State(
        h=surface(grid.cell_points) - ground,
        u=(psi[vertices[:, 0]] - psi[vertices[:, 1]]) / grid.edge_lengths,
        ground=ground,
        coriolis=2 * ROTATION * grid.vertex_points[:, 2],
        is_steady=case in STEADY,
    )


Function = Callable[[Points], Numbers]
Start = tuple[Function, Function, Numbers]  # height of the surface, stream function, ground


def longitude_latitude(points: Points) -> tuple[Numbers, Numbers]:
    """Return longitudes and latitudes in radians."""
    return np.arctan2(points[:, 1], points[:, 0]), np.arcsin(np.clip(points[:, 2], -1.0, 1.0))


def _zonal(speed: float, height: float) -> tuple[Function, Function]:
    """Return a solid rotation in balance: its surface and its stream function."""
    drop = (RADIUS * ROTATION * speed + 0.5 * speed**2) / GRAVITY
    return (
        lambda points: height - drop * points[:, 2] ** 2,
        lambda points: -RADIUS * speed * points[:, 2],
    )


def _steady(grid: Grid) -> Start:
    surface, stream = _zonal(2 * np.pi * RADIUS / (12 * DAY), 2.94e4 / GRAVITY)
    return surface, stream, np.zeros(grid.cells)


def _mountain(grid: Grid) -> Start:
    surface, stream = _zonal(20.0, 5960.0)
    lon, lat = longitude_latitude(grid.cell_points)
    from_top = np.hypot(np.angle(np.exp(1j * (lon + np.pi / 2))), lat - np.pi / 6)
    return surface, stream, 2000.0 * (1 - np.minimum(1.0, from_top / (np.pi / 9)))


def _rossby_haurwitz(grid: Grid) -> Start:
    omega, r = 7.848e-6, 4

    def stream(points: Points) -> Numbers:
        lon, lat = longitude_latitude(points)
        wave = omega * np.cos(lat) ** r * np.sin(lat) * np.cos(r * lon)
        return np.asarray(RADIUS**2 * (wave - omega * np.sin(lat)))

    def surface(points: Points) -> Numbers:
        lon, lat = longitude_latitude(points)
        c = np.cos(lat)
        a = 0.5 * omega * (2 * ROTATION + omega) * c**2 + 0.25 * omega**2 * (
            (r + 1) * c ** (2 * r + 2)
            + (2 * r**2 - r - 2) * c ** (2 * r)
            - 2 * r**2 * c ** (2 * r - 2)
        )  # fmt: skip
        b = 2 * (ROTATION + omega) * omega / ((r + 1) * (r + 2)) * c**r
        b = b * ((r**2 + 2 * r + 2) - (r + 1) ** 2 * c**2)
        d = 0.25 * omega**2 * c ** (2 * r) * ((r + 1) * c**2 - (r + 2))
        rise = a + b * np.cos(r * lon) + d * np.cos(2 * r * lon)
        return np.asarray(8000.0 + RADIUS**2 / GRAVITY * rise)

    return surface, stream, np.zeros(grid.cells)


def _jet(grid: Grid, bump: float = 120.0) -> Start:
    """Return the barotropically unstable jet with its bump in the height, in metres."""
    lat = np.linspace(-np.pi / 2, np.pi / 2, 40001)
    wind = _jet_wind(lat)
    slope = RADIUS * wind * (2 * ROTATION * np.sin(lat) + np.tan(lat) * wind / RADIUS) / GRAVITY
    height, psi = -_integral(slope, lat), -RADIUS * _integral(wind, lat)
    mean = 0.5 * _integral(height * np.cos(lat), lat)[-1]

    def surface(points: Points) -> Numbers:
        lon, at = longitude_latitude(points)
        rise = bump * np.cos(at) * np.exp(-((3 * lon) ** 2) - (15 * (np.pi / 4 - at)) ** 2)
        return np.asarray(10000.0 - mean + np.interp(at, lat, height) + rise)

    return surface, lambda points: np.interp(points[:, 2], np.sin(lat), psi), np.zeros(grid.cells)


def _jet_wind(lat: Numbers) -> Numbers:
    south, north = np.pi / 7, np.pi / 2 - np.pi / 7
    inside = (lat > south) & (lat < north)
    middle = np.where(inside, (lat - south) * (lat - north), -1.0)
    return np.where(inside, 80.0 * np.exp(1 / middle + 4 / (north - south) ** 2), 0.0)


def _integral(values: Numbers, at: Numbers) -> Numbers:
    """Return the running integral by the trapezoidal rule, 0 at the first point."""
    steps = 0.5 * (values[1:] + values[:-1]) * np.diff(at)
    return np.concatenate([[0.0], np.cumsum(steps)])


CASES: Final[Mapping[str, Callable[[Grid], Start]]] = {
    "2": _steady,
    "5": _mountain,
    "6": _rossby_haurwitz,
    "galewsky": _jet,
    "galewsky-balanced": lambda grid: _jet(grid, bump=0.0),
}
STEADY: Final = ("2", "galewsky-balanced")  # what does not change
