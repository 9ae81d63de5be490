"""Norms of the shallow-water model: against exact solutions, and against its own finest grid.

    python bench/sphere_norms.py run FOLDER --levels 4,5,6 [--backend cpu] [--cases 2:5,5:15]
    python bench/sphere_norms.py compare FOLDER
    python bench/sphere_norms.py jet FOLDER jet.png

`run` keeps the last state of each case and level in the folder, with measures of the run, and skips
what is there; grids are kept, too. `compare` interpolates the height of the surface on the finest
grid to the cells of the others (quadratic polynomials through a cell and its neighbours) and writes
relative norms of the differences to `bench/results/<machine>/sphere_norms.json`. `jet` draws the
vorticity of the jet on all grids.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np

from fieldforge.examples.shallow_water.__main__ import as_json
from fieldforge.examples.shallow_water.cases import RADIUS, initial_state, longitude_latitude
from fieldforge.examples.shallow_water.figure import draw_map
from fieldforge.examples.shallow_water.grid import Grid, voronoi_grid
from fieldforge.examples.shallow_water.norms import norms, vorticity
from fieldforge.examples.shallow_water.saved_state import SavedState, load, save
from fieldforge.examples.shallow_water.simulation import Case, Result, simulate
from fieldforge.examples.shallow_water.voronoi import kept
from fieldforge.workflows.backends.backend import BACKENDS

CASES = "2:5,5:15,6:14,galewsky:6,galewsky-balanced:5"


def grid_file(folder: Path, level: int) -> Path:
    """Return the file of a grid."""
    return folder / f"grid-{level}.npy"


def wave_angles(result: Result, number: int = 4) -> list[float]:
    """Return the longitude of a crest of a zonal wave in each frame, in degrees, unwrapped."""
    grid = result.grid
    lon, lat = longitude_latitude(grid.cell_points)
    weights = grid.cell_areas * np.cos(lat) ** number * np.exp(-1j * number * lon)
    angles = [-np.angle((each.h * weights).sum()) for each in result.frames]
    return [float(each) for each in np.degrees(np.unwrap(angles)) / number]


def run_one(folder: Path, name: str, days: float, level: int, backend: str) -> None:
    """Run a case and keep its last state, unless that is there."""
    state, told = folder / f"{name}-{level}.npz", folder / f"{name}-{level}.json"
    if told.exists():
        return
    result = simulate(
        Case(name=name, level=level, days=days), BACKENDS[backend],
        hours=24.0 if name == "6" else None, generators=grid_file(folder, level),
    )  # fmt: skip
    assert result is not None
    save(SavedState(name=name, level=level, days=days, h=result.h, u=result.u), state)
    row = as_json(result, backend)
    if name == "6":
        row["wave_angles"] = wave_angles(result)
    told.write_text(json.dumps(row, indent=1) + "\n")


def fit(grid: Grid, values: Any, at: Any) -> Any:
    """Interpolate values in cells to points of the sphere (n, 3) by quadratic polynomials."""
    from scipy.spatial import cKDTree

    _, cell = cKDTree(grid.cell_points).query(at)
    edges = grid.tables["C2E"][cell]
    pairs = grid.tables["E2C"][edges]
    others = np.where(pairs[..., 0] == cell[:, None], pairs[..., 1], pairs[..., 0])
    near = np.concatenate([cell[:, None], np.where(edges < 0, cell[:, None], others)], axis=1)
    middle = grid.cell_points[cell]
    x_axis = np.cross(middle, [0.31, 0.21, 0.11])
    x_axis /= np.linalg.norm(x_axis, axis=1, keepdims=True)
    axes = np.stack([x_axis, np.cross(middle, x_axis)], axis=1)
    size = np.sqrt(4 * np.pi / grid.cells)

    def terms(points: Any) -> Any:
        x, y = np.moveaxis(np.einsum("nax,n...x->n...a", axes, points), -1, 0) / size
        return np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=-1)

    weights = np.linalg.pinv(terms(grid.cell_points[near] - middle[:, None]))
    return np.einsum("nt,ntk,nk->n", terms(at - middle), weights, values[near])


def surface(folder: Path, name: str, level: int) -> tuple[Grid, Any]:
    """Return the grid of a state, and the height of its surface."""
    grid = voronoi_grid(kept(level, grid_file(folder, level)), RADIUS)
    state = load(folder / f"{name}-{level}.npz", name, level)
    return grid, state.h + initial_state(name, grid).ground


def compared(folder: Path, name: str, levels: list[int]) -> list[dict[str, Any]]:
    """Return the norms of all levels but the finest, against the finest."""
    fine, heights = surface(folder, name, levels[-1])
    rows: list[dict[str, Any]] = []
    for level in levels[:-1]:
        grid, mine = surface(folder, name, level)
        found = attrs.asdict(norms(mine, fit(fine, heights, grid.cell_points), grid.cell_areas))
        row = {"case": name, "level": level, "against": levels[-1], **found}
        if rows:
            row["order_of_l2"] = float(np.log2(rows[-1]["l2"] / found["l2"]))
        rows.append(row)
    return rows


@click.group()
def main() -> None:
    """Measure norms."""


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--cases", default=CASES, help="names and days")
@click.option("--levels", default="4,5,6")
@click.option("--backend", default="cpu", type=click.Choice(sorted(BACKENDS)))
def run(folder: Path, cases: str, levels: str, backend: str) -> None:
    """Run cases and keep their last states."""
    folder.mkdir(parents=True, exist_ok=True)
    for level in map(int, levels.split(",")):
        for name, days in (each.split(":") for each in cases.split(",")):
            run_one(folder, name, float(days), level, backend)
            click.echo(f"case {name}, level {level}")


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
def compare(folder: Path) -> None:
    """Compare the states of a folder with those of its finest level."""
    from ranks import machine_folder

    runs = [json.loads(file.read_text()) for file in sorted(folder.glob("*-[0-9].json"))]
    levels: dict[str, list[int]] = {}
    for row in runs:
        levels.setdefault(row["name"], []).append(row["level"])
    rows = [row for name, each in levels.items() for row in compared(folder, name, sorted(each))]
    for row in rows:
        click.echo(json.dumps(row))
    target = machine_folder() / "sphere_norms.json"
    target.write_text(json.dumps({"runs": runs, "against_the_finest": rows}, indent=1) + "\n")
    click.echo(target)


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("picture", type=click.Path(path_type=Path))
def jet(folder: Path, picture: Path) -> None:
    """Draw the vorticity of the jet north of the equator, one map for each level."""
    from matplotlib.figure import Figure

    levels = sorted(int(file.stem[-1]) for file in folder.glob("galewsky-[0-9].npz"))
    figure = Figure(figsize=(9.0, 2.3 * len(levels)), layout="constrained")
    for axes, level in zip(
        figure.subplots(len(levels), 1, squeeze=False)[:, 0], levels, strict=True
    ):
        grid = voronoi_grid(kept(level, grid_file(folder, level)), RADIUS)
        state = load(folder / f"galewsky-{level}.npz", "galewsky", level)
        spin = 1e5 * vorticity(grid, state.u)
        draw_map(figure, axes, grid.vertex_points, spin, "RdBu_r", "1e-5/s", is_signed=True)
        axes.set(ylim=(10, 80), xlabel="")
        axes.set_title(f"day {state.days:g}, {grid.cells} cells")
    figure.savefig(picture, dpi=80)


if __name__ == "__main__":
    main()
