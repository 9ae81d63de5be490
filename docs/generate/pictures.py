"""Draw the pictures of the pages by running their examples: python -m generate.pictures, in docs/.

The pictures are committed; a test draws them again in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

import fieldforge as ff
from fieldforge.examples import (
    advection,
    heat_on_triangles,
    icosahedral,
    shallow_water_cartesian,
    terrain,
)
from fieldforge.examples.assimilation.experiment import Assimilation, Experiment
from fieldforge.examples.assimilation.figure import figure_of as figure_of_analysis
from fieldforge.examples.icosahedral import C2E2C, C2E2CDim, Cell
from fieldforge.examples.moist_columns.__main__ import figure_of as clouds_of, run
from fieldforge.examples.shallow_water.figure import figure_of
from fieldforge.examples.shallow_water.simulation import Case, simulate

from .stencil_pictures import STENCIL_PICTURES, figure_with, square

FOLDER = Path(__file__).parents[1] / "pictures"
I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = ff.Field[ff.Dims[I, J], ff.float64]
CellField = ff.Field[ff.Dims[Cell], ff.float64]


@ff.field_operator(backend=None)
def diffused(u: Plane, c: ff.float64) -> Plane:
    """Diffuse for one step."""
    return u + c * (u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) - 4.0 * u)


def halo() -> Any:
    """Draw a field with a halo of one point, and what an operator reads and writes."""
    figure, axis = figure_with(4.6, 3.2)
    for i in range(-1, 5):
        for j in range(-1, 4):
            inner = 0 <= i < 4 and 0 <= j < 3
            axis.add_patch(square(i, j, "#3f6fb5" if inner else "#d5dfef"))
    for i, j in ((0, 1), (1, 2), (2, 1), (1, 0)):
        axis.annotate("", xy=(1.5, 1.5), xytext=(i + 0.5, j + 0.5), arrowprops={"arrowstyle": "->"})
    axis.text(2.6, 0.5, "written", color="white", ha="center", va="center")
    axis.text(2.0, -0.5, "halo: read only", ha="center", va="center")
    axis.set(xlim=(-1.1, 5.1), ylim=(-1.1, 4.1), aspect="equal", xticks=range(-1, 6),
             yticks=range(-1, 5), xlabel="I", ylabel="J")  # fmt: skip
    return figure


def time_loop() -> Any:
    """Draw diffusion on a periodic plane after 0, 10 and 100 steps."""
    figure, axes = figure_with(7.2, 2.6, columns=3)
    n, now = 32, ff.zeros({I: (-1, 33), J: (-1, 33)})
    new = ff.zeros({I: (-1, 33), J: (-1, 33)})
    now.ndarray[8:14, 20:26] = 1.0
    number = 0
    for axis, stop in zip(axes, (0, 10, 100), strict=True):
        for _ in range(number, stop):
            a = now.ndarray
            a[0, :], a[-1, :] = a[-2, :], a[1, :]
            a[:, 0], a[:, -1] = a[:, -2], a[:, 1]
            diffused(now, 0.2, out=new, domain={I: (0, n), J: (0, n)})
            now, new = new, now
        number = stop
        axis.pcolormesh(now.asnumpy()[1:-1, 1:-1].T, cmap="viridis")
        axis.set(title=f"{stop} steps", aspect="equal", xticks=[], yticks=[])
    return figure


def plate() -> Any:
    """Draw the model of the tutorial: a plate that is heated at its left side."""
    figure, axes = figure_with(7.2, 2.6, columns=3)
    n, now, new = 32, *(ff.zeros({I: (-1, 33), J: (-1, 33)}) for _ in range(2))
    number = 0
    for axis, stop in zip(axes, (0, 200, 400), strict=True):
        for _ in range(number, stop):
            a = now.ndarray
            a[:, 0], a[:, -1] = a[:, 1], a[:, -2]
            a[-1, :] = a[-2, :]
            a[0, :] = 100.0
            diffused(now, 0.2, out=new, domain={I: (0, n), J: (0, n)})
            now, new = new, now
        number = stop
        drawn = axis.pcolormesh(now.asnumpy()[1:-1, 1:-1].T, cmap="magma", vmin=0.0, vmax=100.0)
        axis.set(title=f"{stop} steps", aspect="equal", xticks=[], yticks=[])
    figure.colorbar(drawn, ax=axes, label="degC")
    return figure


def smoothed_terrain() -> Any:
    """Draw hills before and after the example `terrain` has smoothed them."""
    figure, axes = figure_with(7.2, 2.6, columns=2)
    region = terrain.Region(terrain.hills(), spacing=(90.0, 90.0), backend=ff.cpu)
    before = region.heights
    *_, (steps, _) = terrain.smooth(region, max_slope=0.5)
    for axis, heights, title in zip(
        axes, (before, region.heights), ("before", f"after {steps} steps"), strict=True
    ):
        drawn = axis.pcolormesh(heights.T, cmap="terrain", vmin=before.min(), vmax=before.max())
        axis.set(title=title, aspect="equal", xticks=[], yticks=[])
    figure.colorbar(drawn, ax=axes, label="m")
    return figure


@ff.field_operator(backend=None)
def averaged(u: CellField) -> CellField:
    """Mix each cell with its three neighbours."""
    return 0.4 * u + 0.2 * ff.neighbor_sum(u(C2E2C), axis=C2E2CDim)


def heat_on_sphere() -> Any:
    """Draw heat that spreads on an icosahedral mesh, seen from above."""
    figure, axes = figure_with(7.2, 2.8, columns=3)
    mesh = icosahedral.icosahedral(root=2, bisections=3)
    provider = mesh.connectivities()
    x, y, z = mesh.vertex_points.T
    corners = mesh.tables["C2V"]
    front = (z[corners] > 0).all(axis=1)
    now = ff.as_field([Cell], (np.hypot(*(mesh.cell_points[:, :2] - 0.3).T) < 0.25) * 1.0)
    new = ff.zeros({Cell: mesh.cells})
    number = 0
    for axis, stop in zip(axes, (0, 10, 100), strict=True):
        for _ in range(number, stop):
            averaged(now, out=new, offset_provider=provider)
            now, new = new, now
        number = stop
        axis.tripcolor(x, y, corners[front], facecolors=now.asnumpy()[front], cmap="magma")
        axis.set(title=f"{stop} steps", aspect="equal", xticks=[], yticks=[])
    return figure


def heat_on_triangles_() -> Any:
    """Draw heat in a quarter of a ring, on its triangles."""
    figure, axes = figure_with(7.2, 2.5, columns=3)
    ring = heat_on_triangles.Ring.of(arcs=9, spokes=17)
    x, y, corners = ring.mesh.triangles()
    for axis, steps in zip(axes, (0, 20, 1000), strict=True):
        values = heat_on_triangles.temperatures(ring, steps)
        axis.tripcolor(x, y, corners, values, shading="gouraud", cmap="magma")
        axis.triplot(x, y, corners, linewidth=0.2, color="white")
        axis.set(title=f"{steps} steps", aspect="equal", xticks=[], yticks=[])
    return figure


def waves() -> Any:
    """Draw the depth of shallow water between walls, from the example."""
    figure, axes = figure_with(7.2, 2.6, columns=3)
    found = shallow_water_cartesian.experiment("walls")
    for axis, (steps, depth) in zip(axes, found, strict=True):
        drawn = axis.pcolormesh(depth.T - 1000.0, cmap="RdBu_r", vmin=-5.0, vmax=5.0)
        axis.set(title=f"{steps} steps", aspect="equal", xticks=[], yticks=[])
    figure.colorbar(drawn, ax=axes, label="m")
    return figure


def advected() -> Any:
    """Draw the cone of the example `advection` before and after a turn, and sections of it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 4.6), layout="constrained")
    found = dict(advection.experiment(advection.Rotation(background=2.0)))
    grid = figure.add_gridspec(2, 4, height_ratios=(3, 2))
    section = figure.add_subplot(grid[1, :])
    for number, (name, values) in enumerate(found.items()):
        axis = figure.add_subplot(grid[0, number])
        drawn = axis.pcolormesh(values.T, cmap="viridis", vmin=1.5, vmax=6.0)
        axis.set(title=f"{name}: {values.max():.1f}", aspect="equal", xticks=[], yticks=[])
        section.plot(
            values[:, values.shape[1] // 2], label=name, color="0.6" if not number else None
        )
    figure.colorbar(drawn, ax=figure.axes[1:], shrink=0.8)
    section.set(xlabel="I, through the middle", ylabel="q", xlim=(0, 99))
    section.legend(loc="upper left")
    return figure


def sphere() -> Any:
    """Draw a day of flow over a mountain, as `make sphere` does."""
    result = simulate(Case(name="5", level=5, days=1.0), ff.cpu)
    assert result is not None
    return figure_of(result)


def clouds() -> Any:
    """Draw four days of moist columns."""
    done = run(level=4, levels=40, days=4.0)
    assert done is not None
    return clouds_of(done.air, done.state[2], 4.0)


def analysis() -> Any:
    """Draw the analysis of the example `assimilation`; takes a minute."""
    figure = figure_of_analysis(Assimilation(Experiment(), ff.cpu).analyse())
    figure.set_dpi(60)
    return figure


PICTURES: Mapping[str, Callable[[], Any]] = {
    each.__name__.removesuffix("_"): each
    for each in (
        halo,
        time_loop,
        plate,
        smoothed_terrain,
        heat_on_sphere,
        heat_on_triangles_,
        waves,
        advected,
        sphere,
        clouds,
        analysis,
    )
} | STENCIL_PICTURES
OF_BENCHES: Final = ("jet",)  # drawn by bench/sphere_norms.py from runs that take a GPU


def main() -> None:
    """Draw all pictures into the folder."""
    FOLDER.mkdir(exist_ok=True)
    for name, draw in PICTURES.items():
        figure = draw()
        figure.savefig(FOLDER / f"{name}.png", dpi=min(figure.get_dpi(), 96))


if __name__ == "__main__":
    main()
