"""Measure the first result of programs, from the start of a process; beside JAX and Numba.

    python bench/first.py [--rounds 9] [--cases diffusion,nabla2] [--python PYTHON] [--page]

Each time is of a fresh process (`first_result.py`), in turns. Ours is installed from a wheel of
this tree in an environment of its own, since the finder of an editable install takes milliseconds;
`--python` names another one that has fieldforge. *Cold* is a program that was never built, in a
store where another one was; *warm* was built before. JAX and Numba run where `make bench-others`
has made their environment, warm with their own caches. Writes `results/<machine>/first.json` after
each program, so Ctrl-C keeps rows, and with `--page` the summary of all machines.
"""

from __future__ import annotations

import functools
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import click
import numpy as np
import page
from cases.case import Case
from cases.diffusion import high
from cases.icon_like import icon_like
from cases.laplacians import seven_points
from cases.mesh import nabla2
from cases.vertical_advection import vertical_advection
from others.client import PYTHON as OTHERS
from peer.client import described
from results import Results
from rich.console import Console
from run import RESULTS, ROOT, machine, place

Row: TypeAlias = dict[str, Any]
Times: TypeAlias = tuple[float, float, float]
MakeCase: TypeAlias = Callable[[str, float], Case]
Run: TypeAlias = Callable[..., Times]

PROGRAMS: dict[str, tuple[MakeCase, float]] = {
    "diffusion": (high, 1 / 8),
    "vertical advection": (vertical_advection, 1 / 8),
    "nabla2": (nabla2, 9 / 1600),  # 1,080 edges
    "ICON-like": (icon_like, 9 / 1600),
}
# What the store has before a program is cold.
ANOTHER: tuple[MakeCase, float] = (seven_points, 1 / 8)
CHILD = Path(__file__).with_name("first_result.py")
ENVIRONMENT = ROOT / "build" / "first"


@attrs.frozen
class Way:
    """A tool and its settings; `store` names the variable of its cache."""

    tool: str
    store: str
    is_warm: bool = False
    settings: Mapping[str, str] = attrs.field(factory=dict)


_JAX = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
NO_SETTINGS: Mapping[str, str] = {}
BOTH, COMPILED = {"FIELDFORGE_TIERS": "both"}, {"FIELDFORGE_TIERS": "compiled"}
WAYS = {
    "cold": Way("fieldforge", "FIELDFORGE_CACHE_DIR", settings=BOTH),
    "cold, compiled": Way("fieldforge", "FIELDFORGE_CACHE_DIR", settings=COMPILED),
    "warm": Way("fieldforge", "FIELDFORGE_CACHE_DIR", is_warm=True, settings=BOTH),
    "JAX, cold": Way("JAX", "JAX_COMPILATION_CACHE_DIR", settings=_JAX),
    "JAX, warm": Way("JAX", "JAX_COMPILATION_CACHE_DIR", is_warm=True, settings=_JAX),
    "Numba, cold": Way("Numba", "NUMBA_CACHE_DIR"),
    "Numba, warm": Way("Numba", "NUMBA_CACHE_DIR", is_warm=True),
}


@click.command()
@click.option("--rounds", default=9, help="Processes of each way.")
@click.option("--cases", default=",".join(PROGRAMS), help="Programs, by name with commas.")
@click.option("--python", type=click.Path(path_type=Path), help="A Python that has fieldforge.")
@click.option("--folder", type=click.Path(path_type=Path), default=RESULTS)
@click.option("--page", "to_page", is_flag=True, help="Write the summary of all machines.")
def main(rounds: int, cases: str, python: Path | None, folder: Path, to_page: bool) -> None:
    """Measure the programs and print a row for each."""
    console = Console()
    ours = python or _environment(console)
    kept = Results(place(folder) / "first.json", fresh=False)
    kept.describe(machine=machine())
    for name in cases.split(","):
        with tempfile.TemporaryDirectory(prefix="fieldforge-first-") as scratch:
            row = _measured(name, rounds, ours, Path(scratch), console)
        kept.add(row)
        console.print(" | ".join(cells(row)), markup=False, soft_wrap=True)
    if to_page:
        page.write()


def _environment(console: Console) -> Path:
    """Make an environment with a wheel of this tree and return its Python."""
    python = ENVIRONMENT / "bin" / "python"
    with console.status("building a wheel"), tempfile.TemporaryDirectory() as wheels:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(ENVIRONMENT)], check=True)
        isolated = ["--no-deps", "--no-build-isolation", "--wheel-dir", wheels, str(ROOT)]
        _pip(Path(sys.executable), "wheel", *isolated)
        (wheel,) = Path(wheels).glob("*.whl")
        _pip(python, "install", str(wheel))
        _pip(python, "install", "--no-deps", "--force-reinstall", str(wheel))
    return python


def _pip(python: Path, *words: str) -> None:
    subprocess.run([str(python), "-m", "pip", "--quiet", *words], check=True)


def _measured(name: str, rounds: int, ours: Path, scratch: Path, console: Console) -> Row:
    """Run a program in all ways, in turns; a way that fails is left out, with its reason."""
    case, size = _written(*PROGRAMS[name], scratch)
    another, _ = _written(*ANOTHER, scratch)
    found: dict[str, list[Times]] = {label: [] for label in WAYS}
    refused: dict[str, str] = {}
    with console.status(name) as status:
        for turn in range(rounds + 1):  # the first fills stores, and writes the bytecode
            for label in [label for label in WAYS if label not in refused]:
                status.update(f"{name}, round {turn} of {rounds}: {label}")
                run = functools.partial(_run, WAYS[label], ours)
                try:
                    if turn == 0:
                        _fill(run, WAYS[label], case, another, scratch / label)
                    else:
                        found[label].append(_turn(run, WAYS[label], case, scratch / label))
                except (OSError, subprocess.CalledProcessError) as error:
                    refused[label] = _reason(error)
    every = [times for label in WAYS for times in found[label]]
    return {
        "program": name,
        "size": size,
        "dtype": "float64",
        "threads": len(os.sched_getaffinity(0)),
        "taken": date.today().isoformat(),
        "load": round(os.getloadavg()[0], 2),
        "start": _summed([start for start, _, _ in every]),
        "numpy": _summed([numpy for _, numpy, _ in every]),
        "times": {
            label: _summed([after for _, _, after in found[label]])
            for label in WAYS
            if label not in refused
        },
        "refused": refused,
    }


def _fill(run: Run, way: Way, case: Path, another: Path, store: Path) -> None:
    """Fill the store that a way begins with."""
    if way.tool == "fieldforge":
        run(case if way.is_warm else another, store, COMPILED)
    else:
        run(case, store)


def _turn(run: Run, way: Way, case: Path, store: Path) -> Times:
    if way.is_warm:
        return run(case, store)
    with tempfile.TemporaryDirectory(dir=store.parent) as scratch:
        fresh = Path(scratch, "store")
        if way.tool == "fieldforge":
            shutil.copytree(store, fresh)
        return run(case, fresh)


def _written(make: MakeCase, scale: float, scratch: Path) -> tuple[Path, str]:
    """Describe a case in a file, as a child reads it; return the file and the size."""
    made = make("float64", scale)
    folder = scratch / made.name
    folder.mkdir(exist_ok=True)
    file = folder / "case.npy"
    np.save(file, np.array(described(made, folder) | {"called": made.name}), allow_pickle=True)
    return file, made.size


def _run(
    way: Way, ours: Path, case: Path, store: Path, more: Mapping[str, str] = NO_SETTINGS
) -> Times:
    """Start a process; return the seconds to its start, of `import numpy`, and after it."""
    python = ours if way.tool == "fieldforge" else OTHERS
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    env |= {**way.settings, way.store: str(store), **more}
    command = [str(python), str(CHILD), way.tool, str(case), str(time.monotonic())]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    start, numpy, after = map(float, done.stdout.split())
    return start, numpy, after


def _reason(error: OSError | subprocess.CalledProcessError) -> str:
    if isinstance(error, OSError):
        return "There is no environment for it; `make bench-others` makes one."
    lines = error.stderr.strip().splitlines() or [""]
    return str(lines[-1])


def _summed(seconds: list[float]) -> dict[str, float]:
    return {"least": min(seconds), "median": statistics.median(seconds)}


def cells(row: Mapping[str, Any]) -> list[str]:
    """Return the cells of a row: ms, least and median, and the ratio to `import numpy`."""
    numpy = row["numpy"]

    def cell(times: Mapping[str, float]) -> str:
        if not times:
            return "–"
        least, median = (1e3 * times[kind] for kind in ("least", "median"))
        return f"{least:.0f}, {median:.0f} ({times['least'] / numpy['least']:.2f})"

    bare = [
        f"{1e3 * row[part]['least']:.0f}, {1e3 * row[part]['median']:.0f}"
        for part in ("start", "numpy")
    ]
    size = f"{row['program']} {row['size']}"
    return [size, *bare, *(cell(row["times"].get(label, {})) for label in WAYS)]


if __name__ == "__main__":
    main()
