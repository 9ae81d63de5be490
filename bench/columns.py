"""Schemes that act column by column: ours in GTScript beside code by hand, in turns in one run.

    python bench/columns.py --threads 1,2 [--schemes remapping] [--across 64]
    python bench/columns.py --gpu [--across 512]

The schemes are `stencils/columns.py`, the kernels by hand `kernels/columns.cpp` and `columns.cu`,
on the same arrays with i contiguous. `FIELDFORGE_GPU=null` simulates the GPU. Results are compared
before anything is timed. A row goes to
`results/<machine>/columns.json` as soon as it is there; Ctrl-C ends the run.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np
from columns_by_hand import FORMS, on_cpu, on_gpu
from native import use_threads
from results import Results
from rich.console import Console
from run import machine
from stencils import columns as stencils
from untuned import DTYPES, folder, in_turns
from untuned_calls import NEAR, SWITCHED, UNTOUCHED, Place, own_store, place
from untuned_memory import Simulated, as_numpy
from untuned_table import BY_HAND, OURS, table

from fieldforge.cartesian import gtscript

ACROSS, LEVELS = 128, 80
BACKENDS = {"cpu": "gt:cpu_ifirst", "gpu": "gt:gpu"}


@attrs.frozen(eq=False)
class Scheme:
    """A scheme with its arguments: arrays (i, j, k) with i contiguous, and numbers."""

    name: str
    dtype: str
    arrays: Mapping[str, Any]
    numbers: Mapping[str, Any]
    outputs: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The points along I, J and K."""
        return tuple(next(iter(self.arrays.values())).shape)


def scheme(name: str, dtype: str, across: int, on: Place) -> Scheme:
    """Return a scheme on a square of columns, in the memory of the host or a GPU."""
    random = np.random.default_rng(5)
    made = {"adjustment": _adjustment, "sedimentation": _sedimentation, "remapping": _remapping}
    inputs, outputs, numbers = made[name]((across, across, LEVELS), random, dtype)
    arrays = {key: np.asfortranarray(each, dtype) for key, each in inputs.items()}
    for key, (dims, kind) in outputs.items():
        arrays[key] = np.zeros((across, across, LEVELS)[:dims], kind, order="F")
    if on.name == "gpu":
        arrays = {key: _moved(each, on) for key, each in arrays.items()}
    return Scheme(name, dtype, arrays, numbers, tuple(outputs))


def _moved(array: np.ndarray, on: Place) -> Any:
    """Return a copy on the GPU, the first axis contiguous; NumPy sees a simulated one."""
    from fieldforge.runtime import gpu

    made = gpu.Array.from_host(array, layout=range(array.ndim)[::-1])
    return as_numpy(made) if isinstance(on.memory, Simulated) else made


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


def ours(of: Scheme, on: Place) -> Callable[[], object]:
    """Return a call of the stencil."""
    real = np.dtype(of.dtype).type
    backend = "gpu-host" if isinstance(on.memory, Simulated) else BACKENDS[on.name]
    stencil = gtscript.stencil(
        backend,
        getattr(stencils, of.name),
        dtypes={"F": real, "T": real},
        literal_float_precision=8 * np.dtype(real).itemsize,
        **({"device_sync": False} if backend == "gt:gpu" else {}),
    )
    origins = {key: (0,) * each.ndim for key, each in of.arrays.items()}
    placed = {"_domain_": of.shape, "_origin_": origins, "exec_info": None}
    return partial(stencil.run, **of.arrays, **of.numbers, **placed)


def outputs(of: Scheme, call: Callable[[], object]) -> dict[str, np.ndarray]:
    """Return copies of what a call writes."""
    for name in of.outputs:
        of.arrays[name].fill(UNTOUCHED)
    call()
    return {name: np.array(of.arrays[name], copy=True) for name in of.outputs}


def far(dtype: str, meant: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]) -> float:
    """Return the largest share of points of an output that is not near ours, where NaN is far."""
    shares = []
    for name, each in meant.items():
        near = abs(found[name] - each) <= NEAR[dtype] * float(abs(each).max())
        shares.append(1.0 - float(near.mean()))
    return max(shares)


@attrs.frozen
class Wish:
    """What to measure."""

    on: Place
    schemes: Sequence[str]
    dtypes: Sequence[str]
    threads: Sequence[int | None]  # none on a GPU
    across: int
    rounds: int


def rows(wish: Wish) -> Iterator[dict[str, Any]]:
    """Yield a row for each scheme, precision and number of threads."""
    on = wish.on
    by_hand = on_cpu if on.name == "cpu" else on_gpu
    for name, dtype in ((name, dtype) for name in wish.schemes for dtype in wish.dtypes):
        of = scheme(name, dtype, wish.across, on)
        call = ours(of, on)
        meant, calls, refused = outputs(of, call), {OURS: on.timed(call)}, {}
        for form, hand in by_hand(of).items():
            share = far(dtype, meant, outputs(of, hand))
            if share <= SWITCHED:
                calls[BY_HAND + form] = on.timed(hand)
            else:
                refused[BY_HAND + form] = f"{share:.2g} of points differ"
        row = {
            "program": name, "size": "x".join(map(str, of.shape)), "dtype": dtype,
            "taken": date.today().isoformat(), "refused": refused,
        }  # fmt: skip
        for count in wish.threads:
            if count is not None:
                use_threads(count)
            times = in_turns(calls, wish.rounds)
            yield row | {"threads": count, "load": round(os.getloadavg()[0], 2), "times": times}


@click.command(help=__doc__)
@click.option("--cpu", "where", flag_value="cpu", default=True)
@click.option("--gpu", "where", flag_value="gpu")
@click.option("--schemes", default=",".join(FORMS))
@click.option("--dtypes", default=",".join(DTYPES))
@click.option("--threads", default="1,2", help="numbers of threads, on a CPU")
@click.option("--across", default=ACROSS, help="columns along i and j")
@click.option("--rounds", default=9)
@click.option("--output", type=click.Path(path_type=Path), help="the file of results")
def main(
    where: str,
    schemes: str,
    dtypes: str,
    threads: str,
    across: int,
    rounds: int,
    output: Path | None,
) -> None:
    """Measure, keep each row, and print the table."""
    on = place(where)
    counts = [None] if where == "gpu" else [int(each) for each in threads.split(",")]
    wish = Wish(on, schemes.split(","), dtypes.split(","), counts, across, rounds)
    path = output or folder(on) / "columns.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept, console, found = Results(path, fresh=False), Console(width=150), []
    kept.describe(machine=machine() | ({"gpu": on.device} if on.device else {}))
    with contextlib.suppress(KeyboardInterrupt), own_store():
        for row in rows(wish):
            console.print(_line(row), markup=False, highlight=False)
            kept.add(row)
            found.append(row)
    console.print(table(found))


def _line(row: Mapping[str, Any]) -> str:
    """Return the least times of a row."""
    times = ", ".join(f"{name} {1e3 * each['least']:.4g} ms" for name, each in row["times"].items())
    refused = "".join(f"; {name}: {why}" for name, why in row["refused"].items())
    return f"{row['program']} {row['dtype']} {row['threads'] or 'gpu'}: {times}{refused}"


if __name__ == "__main__":
    main()
