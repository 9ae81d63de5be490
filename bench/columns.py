"""Schemes that act column by column: ours in GTScript beside C++ by hand, in turns in one run.

    python bench/columns.py --threads 1,2 [--schemes remapping] [--scale 0.2]

The schemes are `stencils/columns.py`, the kernels by hand `kernels/columns.cpp`, on the same arrays
with i contiguous. Results are compared before anything is timed. A row goes to
`results/<machine>/columns.json` as soon as it is there; Ctrl-C ends the run.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
from native import compiled, use_threads
from results import Results
from rich.console import Console
from run import machine
from run import place as folder_of_results
from stencils import columns as stencils
from untuned import DTYPES, in_turns
from untuned_calls import NEAR, SWITCHED, UNTOUCHED, own_store, place
from untuned_table import BY_HAND, OURS, table

from fieldforge.cartesian import gtscript

ACROSS, LEVELS = 128, 80
FORMS = {
    "adjustment": ("columns", "lanes"),
    "sedimentation": ("columns", "lanes"),
    "remapping": ("columns", "rows", "lanes"),
}
BACKEND = "gt:cpu_ifirst"


@attrs.frozen(eq=False)
class Scheme:
    """A scheme with its arguments: arrays (i, j, k) with i contiguous, and numbers."""

    name: str
    dtype: str
    arrays: Mapping[str, np.ndarray]
    numbers: Mapping[str, Any]
    outputs: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The points along I, J and K."""
        return next(iter(self.arrays.values())).shape


def scheme(name: str, dtype: str, scale: float) -> Scheme:
    """Return a scheme on a share of the columns."""
    across = max(8, round(ACROSS * scale**0.5))
    random = np.random.default_rng(5)
    made = {"adjustment": _adjustment, "sedimentation": _sedimentation, "remapping": _remapping}
    inputs, outputs, numbers = made[name]((across, across, LEVELS), random, dtype)
    arrays = {key: np.asfortranarray(each, dtype) for key, each in inputs.items()}
    for key, (dims, kind) in outputs.items():
        arrays[key] = np.zeros((across, across, LEVELS)[:dims], kind, order="F")
    return Scheme(name, dtype, arrays, numbers, tuple(outputs))


Made = tuple[dict[str, np.ndarray], dict[str, tuple[int, str]], dict[str, Any]]


def _adjustment(shape: tuple[int, ...], random: np.random.Generator, dtype: str) -> Made:
    """Make air, half of it saturated."""
    t, density = random.uniform(263, 298, shape), random.uniform(0.6, 1.2, shape)
    pressure = 610.78 * np.exp(17.2693882 * (t - 273.16) / (t - 35.86))
    vapour = random.uniform(0.85, 1.1, shape) * pressure / (density * 461.51 * t)
    cloud = np.maximum(random.uniform(-1e-3, 1e-3, shape), 0)
    near = np.dtype(dtype).type(1e-8 if dtype == "float64" else 1e-3)
    outputs = dict.fromkeys(("new_t", "new_vapour", "new_cloud"), (3, dtype))
    inputs = {"t": t, "vapour": vapour, "cloud": cloud, "density": density}
    return inputs, outputs, {"near": near}


def _sedimentation(shape: tuple[int, ...], random: np.random.Generator, dtype: str) -> Made:
    """Make rain in air that is denser below."""
    density = np.linspace(0.4, 1.2, shape[2]) * random.uniform(0.95, 1.05, shape)
    inputs = {
        "rain": random.uniform(1e-5, 3e-3, shape),
        "density": density,
        "depth": random.uniform(150, 250, shape),
    }
    outputs = {"new_rain": (3, dtype), "fallen": (2, dtype)}
    return inputs, outputs, {"dt": np.dtype(dtype).type(20), "substeps": 4}


def _remapping(shape: tuple[int, ...], random: np.random.Generator, dtype: str) -> Made:
    """Make interfaces of levels that have moved by up to a level, and parabolas between them."""
    ends = np.broadcast_to(np.arange(shape[2], dtype="float64"), shape)
    inside = np.where((ends > 0) & (ends < shape[2] - 1), 0.45, 0)
    old, new = (ends + inside * random.uniform(-1, 1, shape) for _ in range(2))
    names = ("q", "left", "right", "curve")
    inputs = {each: random.uniform(0, 1, shape) for each in names} | {"old": old, "new": new}
    inputs["depth"] = np.concatenate((np.diff(old), np.ones_like(old[:, :, :1])), axis=2)
    return inputs, {"out": (3, dtype), "level": (2, "int64")}, {}


# --- calls ----------------------------------------------------------------------------------------


def ours(of: Scheme) -> Callable[[], object]:
    """Return a call of the stencil."""
    real = np.dtype(of.dtype).type
    stencil = gtscript.stencil(
        BACKEND,
        getattr(stencils, of.name),
        dtypes={"F": real, "T": real},
        literal_float_precision=8 * np.dtype(real).itemsize,
    )
    origins = {key: (0,) * each.ndim for key, each in of.arrays.items()}
    placed = {"_domain_": of.shape, "_origin_": origins, "exec_info": None}
    return partial(stencil.run, **of.arrays, **of.numbers, **placed)


def by_hand(of: Scheme) -> dict[str, Callable[[], object]]:
    """Return calls of the kernels by hand."""
    library = compiled("columns", "-fno-math-errno", "-lmvec", "-lm")
    suffix, real = {"float64": ("f64", ctypes.c_double), "float32": ("f32", ctypes.c_float)}[
        of.dtype
    ]
    numbers = [
        ctypes.c_int64(each) if isinstance(each, int) else real(each)
        for each in of.numbers.values()
    ]
    addresses = [ctypes.c_void_p(each.ctypes.data) for each in of.arrays.values()]
    sizes = (*of.shape, of.shape[0], of.shape[0] * of.shape[1])
    words = (*addresses, *numbers, *map(ctypes.c_int64, sizes))
    return {
        form: partial(library[f"columns_{of.name}_{form}_{suffix}"], *words)
        for form in FORMS[of.name]
    }


def outputs(of: Scheme, call: Callable[[], object]) -> dict[str, np.ndarray]:
    """Return copies of what a call writes."""
    for name in of.outputs:
        of.arrays[name][...] = UNTOUCHED
    call()
    return {name: of.arrays[name].copy() for name in of.outputs}


def far(dtype: str, meant: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]) -> float:
    """Return the largest share of points of an output that is not near ours, where NaN is far."""
    shares = []
    for name, each in meant.items():
        near = abs(found[name] - each) <= NEAR[dtype] * float(abs(each).max())
        shares.append(1.0 - float(near.mean()))
    return max(shares)


def rows(
    names: list[str], dtypes: list[str], threads: list[int], scale: float, rounds: int
) -> Iterator[dict[str, Any]]:
    """Yield a row for each scheme, precision and number of threads."""
    timed = place("cpu").timed
    for name, dtype in ((name, dtype) for name in names for dtype in dtypes):
        of = scheme(name, dtype, scale)
        call = ours(of)
        meant, calls, refused = outputs(of, call), {OURS: timed(call)}, {}
        for form, hand in by_hand(of).items():
            share = far(dtype, meant, outputs(of, hand))
            if share <= SWITCHED:
                calls[BY_HAND + form] = timed(hand)
            else:
                refused[BY_HAND + form] = f"{share:.2g} of points differ"
        row = {
            "program": name, "size": "x".join(map(str, of.shape)), "dtype": dtype,
            "taken": date.today().isoformat(), "refused": refused,
        }  # fmt: skip
        for count in threads:
            use_threads(count)
            times = in_turns(calls, rounds)
            yield row | {"threads": count, "load": round(os.getloadavg()[0], 2), "times": times}


@click.command(help=__doc__)
@click.option("--schemes", default=",".join(FORMS))
@click.option("--dtypes", default=",".join(DTYPES))
@click.option("--threads", default="1,2", help="numbers of threads")
@click.option("--scale", default=1.0, help="share of the columns")
@click.option("--rounds", default=9)
@click.option("--output", type=click.Path(path_type=Path), help="the file of results")
def main(
    schemes: str, dtypes: str, threads: str, scale: float, rounds: int, output: Path | None
) -> None:
    """Measure, keep each row, and print the table."""
    path = output or folder_of_results() / "columns.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept, console, found = Results(path, fresh=False), Console(width=150), []
    kept.describe(machine=machine())
    counts = [int(each) for each in threads.split(",")]
    with contextlib.suppress(KeyboardInterrupt), own_store():
        for row in rows(schemes.split(","), dtypes.split(","), counts, scale, rounds):
            console.print(_line(row), markup=False, highlight=False)
            kept.add(row)
            found.append(row)
    console.print(table(found))


def _line(row: Mapping[str, Any]) -> str:
    """Return the least times of a row."""
    times = ", ".join(f"{name} {1e3 * each['least']:.4g} ms" for name, each in row["times"].items())
    refused = "".join(f"; {name}: {why}" for name, why in row["refused"].items())
    return f"{row['program']} {row['dtype']} {row['threads']}: {times}{refused}"


if __name__ == "__main__":
    main()
