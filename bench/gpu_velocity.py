"""The hand-written velocity tendency on a GPU: three kernels, or one in the order of the mesh."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

FILE = Path(__file__).parent / "kernels" / "velocity_tendency.cu"
FIELDS = (
    "vn", "vt", "vn_half", "w", "w_terrain", "per_depth_e", "per_depth_c", "rot", "to_vertex",
    "bilinear", "linear", "coriolis", "orientation", "per_length", "per_dual", "ddt_vn", "ddt_w",
    "courant",
)  # fmt: skip
BETWEEN = {"zeta": "vertices", "w_vertex": "vertices", "energy": "cells", "w_con": "cells"}
TABLES = ("C2E", "E2C", "E2V", "V2C", "V2E")
VERTICES, CELLS, EDGES = range(3)

Kernel = Callable[[], None]


@attrs.frozen
class Variant:
    """How many threads a block has, and packs of 16 bytes a thread.

    With `stored`, cells write their vertical wind for edges. With `chunk`, one kernel takes that
    many vertices, and the cells and edges that go with them, after each other; cells run `ahead`
    chunks before the edges, vertices twice as many.
    """

    threads: int = 128
    packs: int = 1
    stored: bool = False
    chunk: int = 0
    ahead: int = 2


VARIANTS: Mapping[str, Variant] = {
    "three kernels": Variant(),
    "three kernels, vertical wind stored": Variant(stored=True),
    "three kernels, 2 packs a thread": Variant(packs=2),
    "in order": Variant(stored=True, chunk=384),
    "in order, recomputed": Variant(chunk=384),
    "in order, blocks of 256": Variant(256, stored=True, chunk=384, ahead=3),
}


@attrs.frozen(eq=False)
class Given:
    """Addresses of index 0 of all fields, tables of the host, numbers of points, and scalars."""

    dtype: str
    addresses: Mapping[str, int]
    tables: Mapping[str, np.ndarray]
    points: tuple[int, int, int]  # vertices, cells, edges
    levels: int
    row: int
    half: int
    scalars: tuple[float, float, float]


def by_hand(given: Given) -> dict[str, Kernel]:
    """Return a call for each variant."""
    return {name: _variant(given, variant) for name, variant in VARIANTS.items()}


def _variant(given: Given, variant: Variant) -> Kernel:
    import cupy

    options = (
        f"-DREAL={'double' if given.dtype == 'float64' else 'float'}", f"-DLEVELS={given.levels}",
        f"-DTHREADS={variant.threads}", f"-DPACKS={variant.packs}", f"-DW_CON={variant.stored:d}",
    )  # fmt: skip
    module = cupy.RawModule(code=FILE.read_text(), options=("--std=c++17", *options))
    kept = _problem(module, given)
    threads_of = given.levels // (16 // np.dtype(given.dtype).itemsize * variant.packs)
    if variant.chunk:
        return _in_order(module, given, variant, threads_of, kept)
    kernels = [
        (module.get_function(name), -(-count * threads_of // variant.threads))
        for name, count in zip(("vertices", "cells", "edges"), given.points, strict=True)
    ]

    def run(_: Any = kept) -> None:
        for kernel, blocks in kernels:
            kernel((blocks,), (variant.threads,), ())

    return run


def _problem(module: Any, given: Given) -> Sequence[Any]:
    """Fill in what all kernels of a module read, and return the arrays that it points to."""
    import cupy

    count = {"vertices": given.points[VERTICES], "cells": given.points[CELLS]}
    arrays = [cupy.empty((count[of], given.row), given.dtype) for of in BETWEEN.values()]
    tables = [cupy.asarray(given.tables[name]) for name in TABLES]
    image = image_of(given, [each.data.ptr for each in (*arrays, *tables)])
    cupy.ndarray(len(image), np.uint8, module.get_global("problem")).set(
        np.frombuffer(image, np.uint8)
    )
    cupy.cuda.Device().synchronize()
    return [*arrays, *tables]


def image_of(given: Given, own: Sequence[int]) -> bytes:
    """Return the struct that kernels read; `own` are the addresses of our arrays and tables."""
    words = [*(given.addresses[name] for name in FIELDS), *own]
    words += [*given.points, given.row, given.half]
    image = np.array(words, np.uint64).tobytes() + np.array(given.scalars, given.dtype).tobytes()
    return image + b"\0" * (-len(image) % 8)


# --- one kernel -----------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Order:
    """Tasks in their order as rows (kind, chunk, first thread, end), and what they wait for."""

    tasks: np.ndarray
    first: np.ndarray
    waits: np.ndarray
    whole: np.ndarray
    sizes: tuple[int, int, int]
    chunks: int


def in_order(
    tables: Mapping[str, np.ndarray],
    points: tuple[int, int, int],
    variant: Variant,
    threads_of: int,
) -> Order:
    """Return the tasks of a mesh: what a chunk waits for comes before it."""
    chunks = -(-points[VERTICES] // variant.chunk)
    sizes = tuple(-(-count // chunks) for count in points)
    cells, edges = tables["C2E"], np.arange(points[EDGES])
    needs: list[list[set[int]]] = [[set() for _ in range(chunks)] for _ in range(3)]
    near = {
        CELLS: [(VERTICES, tables["E2V"][cells].reshape(len(cells), -1))],
        EDGES: [(VERTICES, tables["E2V"][edges]), (CELLS, tables["E2C"][edges])],
    }
    for kind, others in near.items():
        for other, table in others:
            pairs = np.arange(len(table))[:, None] // sizes[kind] * chunks + table // sizes[other]
            for pair in np.unique(pairs):
                needs[kind][pair // chunks].add(other * chunks + int(pair % chunks))
    order = list(_sequence(needs, chunks, variant.ahead))
    assert len(order) == 3 * chunks
    rows, whole = [], np.zeros(3 * chunks, np.uint32)
    for number in order:
        kind, chunk = divmod(number, chunks)
        count = max(min(sizes[kind], points[kind] - chunk * sizes[kind]), 0) * threads_of
        starts = np.arange(0, count, variant.threads)
        whole[number] = len(starts)
        rows += [(kind, chunk, start, count) for start in starts]
    found = [sorted(each) for kind in needs for each in kind]
    first = np.cumsum([0, *(len(each) for each in found)])
    waits = [each for some in found for each in some]
    return Order(
        np.array(rows, np.uint32), first.astype(np.uint32), np.array(waits, np.uint32), whole,
        sizes, chunks,
    )  # fmt: skip


def _sequence(needs: Sequence[Sequence[set[int]]], chunks: int, ahead: int) -> Iterator[int]:
    """Yield chunks of all kinds, numbered kind by kind, each after what it needs."""
    seen: set[int] = set()

    def wanted(number: int) -> Iterator[int]:
        if number not in seen:
            seen.add(number)
            for other in sorted(needs[number // chunks][number % chunks]):
                yield from wanted(other)
            yield number

    for place in range(chunks + 2 * ahead):
        if place < chunks:
            yield from wanted(VERTICES * chunks + place)
        if 0 <= place - ahead < chunks:
            yield from wanted(CELLS * chunks + place - ahead)
        if 0 <= place - 2 * ahead < chunks:
            yield from wanted(EDGES * chunks + place - 2 * ahead)


def _in_order(module: Any, given: Given, variant: Variant, threads_of: int, kept: Any) -> Kernel:
    import cupy

    order = in_order(given.tables, given.points, variant, threads_of)
    tasks, first, waits, whole = (
        cupy.asarray(each) for each in (order.tasks, order.first, order.waits, order.whole)
    )
    done = cupy.zeros(3 * order.chunks, np.uint32)
    ticket = cupy.zeros(1, np.uint32)
    kernel = module.get_function("in_order")
    count, rounds = len(order.tasks), [0]
    numbers = [np.uint32(each) for each in (order.chunks, 2 * order.chunks, *order.sizes)]
    cupy.cuda.Device().synchronize()

    def run(_: Any = kept) -> None:
        rounds[0] += 1
        words = (tasks, first, waits, whole, done, ticket, np.uint32(count), np.uint32(rounds[0]))
        kernel((count,), (variant.threads,), (*words, *numbers))

    return run
