"""Kernels against hand-written C++ of the same arithmetic, interleaved, on one and two threads."""

from __future__ import annotations

import ctypes
import statistics
import subprocess
import tempfile
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cases.by_hand import Grid, variant
from cases.diffusion import VARIANTS
from rich.console import Console

import fieldforge as ff
from fieldforge.examples import diffusion

KERNELS = Path(__file__).parent / "kernels"
FLAGS = "-O3 -std=c++17 -march=native -fopenmp -shared -fPIC -ffp-contract=off -fno-trapping-math"
SHAPE = (256, 256, 80)
ROUNDS = 25
HALO = diffusion.HALO


def measure(console: Console) -> list[dict[str, Any]]:
    """Time the kernels; `ratio` is the best hand-written variant's time over ours."""
    rows = []
    for threads in (1, 2):
        with console.status(f"diffusion on {threads} threads"):
            rows += _diffusion(threads)
    return rows


def _diffusion(threads: int) -> list[dict[str, Any]]:
    ni, nj, nk = SHAPE
    halo = {diffusion.I: (-HALO, ni + HALO), diffusion.J: (-HALO, nj + HALO), diffusion.K: nk}
    core = {diffusion.I: ni, diffusion.J: nj, diffusion.K: nk}
    numbers = np.random.default_rng(1)
    u_data = numbers.random((ni + 2 * HALO, nj + 2 * HALO, nk))
    c_data = numbers.random((ni, nj, nk)) * 0.05
    u = ff.as_field(halo, u_data, allocator=ff.cpu)
    coeff = ff.as_field(core, c_data, allocator=ff.cpu)
    out = ff.zeros(core, allocator=ff.cpu)
    ours = diffusion.diffuse.with_backend(ff.cpu)
    by_hand = _hand_written(u_data, c_data)
    variants: dict[str, Callable[[], object]] = {"fieldforge": lambda: ours(u, coeff, out)}
    variants |= {name: call for name, (call, _) in by_hand.items()}
    _set_threads(threads)
    times = _interleaved(variants)
    for name, (_, result) in by_hand.items():
        if not np.array_equal(out.asnumpy(), result):
            raise AssertionError(f"'{name}' and fieldforge disagree.")
    best = min(statistics.median(times[name]) for name in by_hand)
    bytes_moved = 3 * 8 * ni * nj * nk
    copy = _copy_bandwidth(threads)
    return [
        {
            "kernel": "diffusion",
            "size": f"{ni}x{nj}x{nk}",
            "threads": threads,
            "variant": name,
            "median ms": 1e3 * statistics.median(seconds),
            "ratio": best / statistics.median(seconds),
            "GB/s": 1e-9 * bytes_moved / statistics.median(seconds),
            "of copy": bytes_moved / statistics.median(seconds) / copy,
        }
        for name, seconds in times.items()
    ]


def _interleaved(variants: dict[str, Callable[[], object]]) -> dict[str, list[float]]:
    """Take one time of each variant in turn, so that a noisy moment hits all of them."""
    times: dict[str, list[float]] = {name: [] for name in variants}
    for call in variants.values():
        call()
    for _ in range(ROUNDS):
        for name, call in variants.items():
            times[name].append(timeit.timeit(call, number=1))
    return times


def _hand_written(
    u: np.ndarray, coeff: np.ndarray
) -> dict[str, tuple[Callable[[], object], np.ndarray]]:
    """Bind the variants of `kernels/diffusion.cpp` to copies of the arrays."""
    grid = Grid(*coeff.shape, u.dtype, HALO)
    inputs = [grid.array(u, (-HALO, -HALO, 0)), grid.array(coeff)]
    calls = {}
    for name, spare in VARIANTS.items():
        call = variant("diffusion", name, grid, inputs, ("out",), spare)
        calls[name] = (call, call()["out"])
    return calls


def _bound(function: Any, arrays: list[np.ndarray], sizes: tuple[int, ...]) -> Callable[[], object]:
    """Bind the arguments of a C function; the arrays live as long as what is returned."""
    arguments = [ctypes.c_void_p(array.ctypes.data) for array in arrays]
    arguments += [ctypes.c_int64(size) for size in sizes]

    def call(_keep: list[np.ndarray] = arrays) -> object:
        return function(*arguments)

    return call


def _compile(source: Path) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch, "kernel.so")
        subprocess.run(["c++", *FLAGS.split(), str(source), "-o", str(library)], check=True)
        return ctypes.CDLL(str(library))


def _set_threads(threads: int) -> None:
    ctypes.CDLL("libgomp.so.1").omp_set_num_threads(threads)


def _copy_bandwidth(threads: int) -> float:
    """Bytes a second of a copy far beyond the caches, read plus written."""
    library = _compile(KERNELS / "copy.cpp")
    count = 32 * 1024 * 1024
    source, target = np.ones(count), np.zeros(count)
    copy = _bound(library.copy, [source, target], (count,))
    _set_threads(threads)
    copy()
    seconds = min(timeit.repeat(copy, number=1, repeat=7))
    return 2 * source.nbytes / seconds
