"""The command `fieldforge demo`: prepare real terrain for a weather model, and say how it went."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import fieldforge as ff
from fieldforge.errors import CompilerNotFoundError, FieldforgeError
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import find_backend
from fieldforge.workflows.engine.events import Finished, Hit

from ..terrain import Region, smooth, smooth_step
from .elevation import Elevation, default_elevation, read_elevation
from .figure import draw
from .measure import compare_with_embedded, measure_speed

BACKENDS = {
    "cpu": ff.cpu, "dace_cpu": ff.dace_cpu, "gpu": ff.gpu, "dace_gpu": ff.dace_gpu,
    "gpu-host": find_backend("gpu-host"), "reference": ff.reference, "none": None,
    "rows": find_backend("rows"),
}  # fmt: skip


@attrs.frozen(eq=False)
class Smoothed:
    """The job's result: heights in metres and slopes before and after, steps, seconds."""

    before: NDArray[np.float64]
    after: NDArray[np.float64]
    slopes: tuple[NDArray[np.float64], NDArray[np.float64]]
    steps: int
    seconds: float


@click.command()
@click.option("--input", "source", type=click.Path(path_type=Path), help="FILE.npz, .npy or .tif")
@click.option("--spacing", type=float, help="metres between the cells of --input")
@click.option("--max-slope", type=float, default=0.5, show_default=True, help="rise over run")
@click.option(
    "--backend",
    "name",
    type=click.Choice(sorted(BACKENDS)),
    default="cpu",
    show_default=True,
    help="'gpu' needs a GPU; 'gpu-host' runs its kernels on this machine's processor",
)
@click.option("--no-compiler", "name", flag_value="rows", help="the same as '--backend rows'")
@click.option(
    "--output", type=click.Path(path_type=Path), default=Path("demo.png"), show_default=True
)
def demo(
    source: Path | None, spacing: float | None, max_slope: float, name: str, output: Path
) -> None:
    """Smooth real terrain until its steepest slope is safe for a weather model.

    Reads an elevation model (by default the SRTM tile that ships with matplotlib), runs
    fourth-order flux-limited diffusion, measures it, and writes a picture.

    \b
    Examples:
      fieldforge demo
      fieldforge demo --no-compiler
      fieldforge demo --input alps.tif --spacing 90 --max-slope 0.4 --output alps.png
    """  # noqa: D301  (click reads the escape as "keep these lines as they are")
    console = Console()
    try:
        run(console, source, spacing, max_slope, name, output)
    except FieldforgeError as error:
        console.print(f"[red]{type(error).__name__}[/red]: {error}", soft_wrap=True)
        sys.exit(1)


def run(
    console: Console,
    source: Path | None,
    spacing: float | None,
    max_slope: float,
    name: str,
    output: Path,
) -> str:
    """Do the whole job and return the name of the backend that ran."""
    if source is not None and spacing is None:
        raise click.UsageError("--input needs --spacing METRES.")
    if not max_slope > 0.0:
        raise click.UsageError(f"--max-slope must be positive, got {max_slope}.")
    if importlib.util.find_spec("matplotlib") is None:
        raise click.ClickException(
            "The demo draws with matplotlib: install it with 'pip install fieldforge[demo]'."
        )
    elevation = read_elevation(source, spacing or 0.0) if source else default_elevation()
    backend, name = _available(console, name)
    seen = ff.Collector()
    with ff.using(ff.Engine(ff.engine().store, observers=[seen])):
        region = Region(elevation.heights, elevation.spacing, backend)
        result = smooth_region(console, region, max_slope)
    console.print(_job(elevation, result, name, max_slope))
    if backend is not None:
        console.print(build_table(seen, backend))
    console.print(_speeds(console, elevation, backend))
    title = f"{elevation.name}: {result.steps} steps of fourth-order diffusion on '{name}'"
    slopes = result.slopes
    draw(output, title, result.before, result.after, slopes, elevation.spacing, max_slope)
    console.print(f"Wrote {output}")
    return name


def smooth_region(console: Console, region: Region, max_slope: float) -> Smoothed:
    """Smooth with a progress bar that follows the steepest slope down to the limit."""
    before, first = region.heights, np.array(region.slopes())
    steepest, steps = float(first.max()), 0
    columns = (
        TextColumn("smoothing"),
        BarColumn(),
        TextColumn("{task.fields[steps]} steps, steepest slope {task.fields[slope]:.3f}"),
        TimeElapsedColumn(),
    )
    began = time.perf_counter()
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=max(steepest - max_slope, 1e-9), steps=0, slope=steepest)
        for steps, slope in smooth(region, max_slope):
            progress.update(task, completed=steepest - slope, steps=steps, slope=slope)
    seconds = time.perf_counter() - began
    return Smoothed(before, region.heights, (first, np.array(region.slopes())), steps, seconds)


def _available(console: Console, name: str) -> tuple[Any, str]:
    """Return the backend; without a compiler, say so and let the native core interpret."""
    backend: Any = BACKENDS[name]
    if name == "gpu" and gpu.platform() == "null":
        raise click.UsageError(
            "The simulated devices of FIELDFORGE_GPU=null do not run backend 'gpu'. Give "
            "'--backend gpu-host', or unset FIELDFORGE_GPU on a machine with a GPU."
        )
    if name == "cpu":
        try:
            backend.workflow["compile"].compiler()
        except CompilerNotFoundError as error:
            console.print(f"[yellow]{error}[/yellow]\nRunning on the first tier, which needs none.")
            return BACKENDS["rows"], "rows"
    return backend, name


def _job(elevation: Elevation, result: Smoothed, name: str, max_slope: float) -> Table:
    table = Table(title=f"Terrain: {elevation.name}", show_header=False)
    ni, nj = elevation.heights.shape
    mean, new_mean = result.before.mean(), result.after.mean()
    table.add_row("cells", f"{ni} x {nj}")
    table.add_row("spacing", "{:.1f} m x {:.1f} m".format(*elevation.spacing))
    table.add_row("backend", name)
    table.add_row("steps", f"{result.steps} in {result.seconds:.2f} s")
    table.add_row("mean height before, after", f"{mean:.9f} m, {new_mean:.9f} m")
    table.add_row("change of the mean", f"{new_mean - mean:+.1e} m")
    table.add_row(
        "steepest slope before, after", " -> ".join(f"{s.max():.3f}" for s in result.slopes)
    )
    table.add_row("limit", f"{max_slope:.3f}")
    return table


def build_table(seen: ff.Collector, backend: Any) -> Table:
    """Show what the stages of the smoothing program did now, and what each takes cold and warm.

    Cold is what a stage took when its result was made, which the store remembers; warm is
    what finding that result takes a new engine.
    """
    store = ff.engine().store
    with ff.using(ff.Engine(store)):
        warm = smooth_step.with_backend(backend).trace()
    rebuilt = sorted({event.stage for event in seen.events if _is_rebuilt(event)})
    title = f"Build: ran {', '.join(rebuilt)}" if rebuilt else "Build: nothing was rebuilt"
    table = Table("stage", "now", "cold (ms)", "warm (ms)", title=title)
    for name, step in warm.items():
        kind = backend.workflow[name].name  # the stages of GPUs have names of their own
        built = max((r.seconds for r in store.records(kind, smooth_step.__name__)), default=None)
        cold = step.seconds if built is None else built
        table.add_row(name, _now(seen, name), f"{1e3 * cold:.2f}", f"{1e3 * step.seconds:.2f}")
    return table


def _is_rebuilt(event: Any) -> bool:
    """Tell whether a stage ran whose result is kept; loading a library is no rebuild."""
    return isinstance(event, Finished) and bool(event.key)


def _now(seen: ff.Collector, stage: str) -> str:
    mine = [e for e in seen.events if (e.program, e.stage) == (smooth_step.__name__, stage)]
    if any(isinstance(event, Finished) for event in mine):
        return "ran"
    hits = [event.outcome for event in mine if isinstance(event, Hit)]
    return hits[0] if hits else "not needed"


def _speeds(console: Console, elevation: Elevation, backend: Any) -> Table:
    with console.status("measuring"):
        speed = measure_speed(elevation, backend)
        other = compare_with_embedded(elevation, backend)
    table = Table(title="Speed", show_header=False)
    table.add_row("a step", f"{1e6 * speed.step:.1f} µs")
    table.add_row("a call on an empty domain", f"{1e6 * speed.call:.2f} µs")
    table.add_row("bandwidth of a step", f"{1e-9 * speed.bandwidth:.1f} GB/s")
    table.add_row("bandwidth of a copy of the field", f"{1e-9 * speed.copy:.1f} GB/s")
    table.add_row("speed-up over the embedded run", f"{other.speed_up:.1f}")
    table.add_row("largest difference from it", f"{other.difference:.1e} m")
    return table
