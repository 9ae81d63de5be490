"""The velocity tendency by hand for GPUs, compiled for the host, has our numbers."""

import ctypes
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fieldforge.workflows.backends.backend import BACKENDS

from ..selection import not_optimised

pytest.importorskip("pyperf")

BENCH = Path(__file__).parent.parent.parent / "bench"

# What CUDA has and C++ has not. The threads of a block run in turn, the blocks in their order.
HOST = """
#include <cmath>
#include <cstddef>
#define __device__
#define __global__
#define __shared__ static
#define __constant__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __restrict__
struct alignas(16) double2 { double x, y; };
struct uint4 { unsigned x, y, z, w; };
struct Place { unsigned x; };
static Place threadIdx, blockIdx;
static double2 __ldcs(const double2* at) { return *at; }
static double2 __ldcg(const double2* at) { return *at; }
static void __stcs(double2* to, double2 x) { *to = x; }
static unsigned atomicAdd(unsigned* to, unsigned x) { return (*to += x) - x; }
static void __syncthreads() {}
static void __threadfence() {}
static void __nanosleep(unsigned) { __builtin_trap(); }  // a task waits for one that comes later
#include "velocity_tendency.cu"
#define RUN(CALL) for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x) \\
  for (threadIdx.x = 0; threadIdx.x < THREADS; ++threadIdx.x) CALL
extern "C" {
void set(const Problem* given) { problem = *given; }
void run_vertices(unsigned blocks) { RUN(vertices()); }
void run_cells(unsigned blocks) { RUN(cells()); }
void run_edges(unsigned blocks) { RUN(edges()); }
void run_in_order(unsigned blocks, const uint4* tasks, const unsigned* first, const unsigned* waits,
    const unsigned* whole, unsigned* done, unsigned* ticket, unsigned round, unsigned c, unsigned e,
    unsigned sv, unsigned sc, unsigned se) {
  RUN(in_order(tasks, first, waits, whole, done, ticket, blocks, round, c, e, sv, sc, se));
}
}
"""


def padded(array: np.ndarray, row: int) -> np.ndarray:
    """Copy to rows of `row` elements, the first at a multiple of 64 bytes."""
    room = np.full(len(array) * row + 16, np.nan, array.dtype)
    start = -room.ctypes.data % 64 // room.itemsize
    made = room[start : start + len(array) * row].reshape(len(array), row)
    made[:, : array.shape[1]] = array
    return made


class Hand:
    """The kernels of a variant on copies of a case's fields."""

    def __init__(self, case: Any, variant: Any, folder: Path) -> None:
        import gpu_velocity as made

        arrays = {name: case.arguments[name].asnumpy() for name in made.FIELDS}
        row, half = 80, 96
        self.fields = {
            name: padded(each, half if each.shape[1] == 81 else row)
            if each.ndim == 2 and each.shape[1] > 6
            else np.ascontiguousarray(each)
            for name, each in arrays.items()
        }
        tables = {name: np.ascontiguousarray(case.tables[name].asnumpy()) for name in made.TABLES}
        points = len(tables["V2E"]), len(tables["C2E"]), len(tables["E2C"])
        self.given = made.Given(
            case.dtype, {name: each.ctypes.data for name, each in self.fields.items()}, tables,
            points, 80, row, half,
            tuple(float(case.arguments[name]) for name in ("dtime", "limit", "damping")),
        )  # fmt: skip
        empty = np.empty((max(points), row), case.dtype)
        between = [padded(np.full_like(empty[:count], np.nan), row) for count in points[:2]]
        between = [between[0], between[0].copy(), between[1], between[1].copy()]
        between = [padded(each, row) for each in between]
        self.kept = between, tables
        own = [each.ctypes.data for each in (*between, *tables.values())]
        self.library = self._compiled(variant, folder)
        self.library.set(made.image_of(self.given, own))
        self.variant = variant
        self.threads_of = 80 // (16 // np.dtype(case.dtype).itemsize * variant.packs)

    def _compiled(self, variant: Any, folder: Path) -> ctypes.CDLL:
        source, made = folder / "host.cpp", folder / "host.so"
        text = (BENCH / "kernels" / "velocity_tendency.cu").read_text()
        text = text.replace("extern __shared__ Levels room[]", "static Levels room[1 << 16]")
        (folder / "velocity_tendency.cu").write_text(text)
        source.write_text(HOST)
        real = "double" if self.given.dtype == "float64" else "float"
        subprocess.run(
            ["g++", "-O0", "-std=c++17", "-shared", "-fPIC", "-x", "c++", "-w",
             f"-I{folder}", f"-DREAL={real}", "-DLEVELS=80",
             f"-DTHREADS={variant.threads}", f"-DPACKS={variant.packs}",
             f"-DW_CON={variant.stored:d}", str(source), "-o", str(made)],
            check=True,
        )  # fmt: skip
        return ctypes.CDLL(str(made))

    def run(self) -> None:
        if self.variant.chunk:
            self._run_in_order()
            return
        for name, count in zip(("vertices", "cells", "edges"), self.given.points, strict=True):
            blocks = -(-count * self.threads_of // self.variant.threads)
            getattr(self.library, f"run_{name}")(blocks)

    def _run_in_order(self) -> None:
        import gpu_velocity as made

        order = made.in_order(self.given.tables, self.given.points, self.variant, self.threads_of)
        done, ticket = np.zeros(3 * order.chunks, np.uint32), np.zeros(1, np.uint32)
        arrays = (order.tasks, order.first, order.waits, order.whole, done, ticket)
        for turn in (1, 2):
            self.library.run_in_order(
                len(order.tasks), *(ctypes.c_void_p(each.ctypes.data) for each in arrays), turn,
                order.chunks, 2 * order.chunks, *order.sizes,
            )  # fmt: skip


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.in_full)])
@pytest.mark.parametrize(
    "name",
    [
        "three kernels",
        pytest.param("three kernels, vertical wind stored", marks=pytest.mark.in_full),
        "in order",
    ],
)
def test_each_variant_has_our_numbers(dtype: str, name: str, tmp_path: Path) -> None:
    import attrs
    import gpu_velocity as made
    from cases.velocity import velocity_tendency

    case = velocity_tendency(dtype, 0.004)
    backend = not_optimised(BACKENDS["cpu"])
    case.program.with_backend(backend)(**case.arguments, offset_provider=case.tables)
    variant = made.VARIANTS[name]
    if variant.chunk:
        variant = attrs.evolve(variant, chunk=30)
    hand = Hand(case, variant, tmp_path)
    hand.run()
    near = {"float64": 1e-12, "float32": 2e-4}[dtype]
    for output in case.outputs:
        expected = case.arguments[output].asnumpy()
        found = hand.fields[output][:, :80]
        assert np.abs(expected - found).max() <= near * np.abs(expected).max(), output


def test_what_a_chunk_waits_for_comes_before_it() -> None:
    import gpu_cases
    import gpu_velocity as made

    tables, points = gpu_cases.torus(16), (256, 512, 768)
    order = made.in_order(tables, points, made.Variant(chunk=32, ahead=1), 40)
    seen = []
    for kind, chunk in dict.fromkeys(map(tuple, order.tasks[:, :2].tolist())):
        number = kind * order.chunks + chunk
        waits = order.waits[order.first[number] : order.first[number + 1]]
        assert set(waits.tolist()) <= set(seen)
        seen.append(number)
    assert sorted(seen) == list(range(3 * order.chunks))
