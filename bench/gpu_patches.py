"""Patches of a mesh in shared memory: our kernels for several sizes, and those by hand.

`python bench/gpu_patches.py [FILE]` runs where there is a GPU. Every variant of ours must have the
bits of the kernels without patches; by hand, patches are those that our inspector grew.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import lists_made

from fieldforge.runtime import gpu
from fieldforge.stages.codegen.gpu.options import GPU_PASSES
from fieldforge.stages.codegen.pass_list import without
from fieldforge.stages.sizes import Patches

Tables = Mapping[str, np.ndarray]
Sizes = tuple[int, ...] | None

ACROSS, LEVELS = 384, 80  # vertices of a torus along each side
NAMES = ("elements", "levels", "points", "threads", "blocks")  # of sizes of patches
# None is a kernel for each nest, and () what the model says, once more without the pass that
# shares what nests load.
LARGE: Mapping[str, tuple[Sizes, ...]] = {
    "float64": (None, (), (96, 16, 4, 256, 3), (128, 16, 4, 256, 3), (128, 16, 4, 256, 2)),
    "float32": (None, (), (96, 32, 4, 256, 4), (128, 32, 4, 256, 3), (64, 40, 4, 320, 3)),
}
SMALL: Mapping[str, tuple[Sizes, ...]] = {
    "float64": (None, (), (192, 16, 4, 256, 4), (192, 16, 2, 256, 6), (96, 40, 4, 320, 4)),
    "float32": (None, (), (192, 40, 8, 320, 4), (192, 32, 4, 256, 5)),
}
# By hand: threads, levels of a block, blocks on a multiprocessor, packs of a thread, elements.
BY_HAND = {
    ("nabla2", "float64"): ((256, 16, 8, 1, 192), (128, 16, 12, 1, 96)),
    ("nabla2", "float32"): ((256, 80, 4, 1, 96), (256, 40, 4, 1, 192)),
    ("velocity tendency", "float64"): ((256, 16, 3, 2, 96), (512, 16, 2, 1, 192)),
    ("velocity tendency", "float32"): ((320, 80, 3, 1, 48), (256, 16, 4, 1, 192)),
}


# --- lists for the kernels by hand ----------------------------------------------------------------


def nabla_lists(tables: Tables, order: np.ndarray, size: int) -> tuple[list[np.ndarray], int]:
    """Return starts, vertices, edges and near vertices of each patch, and the most vertices."""
    e2v, patch = tables["E2V"], np.arange(len(order)) // size
    patches = int(patch[-1]) + 1
    owner, near = np.repeat(patch, 2), e2v[order].ravel()
    keys, first, vertices = _needed(owner, near, patches, len(tables["V2E"]))
    places = np.searchsorted(keys, owner * len(tables["V2E"]) + near) - first[owner]
    starts = np.stack([first, np.minimum(np.arange(patches + 1) * size, len(order))], axis=1)
    found = [starts.astype(np.uint32), vertices, order.astype(np.uint32), places.astype(np.uint16)]
    return found, int(np.diff(first).max())


def velocity_lists(
    tables: Tables, order: np.ndarray, size: int
) -> tuple[list[np.ndarray], tuple[int, int]]:
    """Return the six lists that `patches` of velocity_tendency.cu takes, and its two numbers."""
    e2v, e2c, c2e = tables["E2V"], tables["E2C"], tables["C2E"]
    v, e, c = len(tables["V2E"]), len(e2v), len(c2e)
    patches = -(-e // size)
    patch_of = np.empty(e, np.int64)
    patch_of[order] = np.arange(e) // size
    owner = np.sort(patch_of[c2e], axis=1)[:, 1]  # of a cell: that of most of its edges
    ends = e2v[c2e].reshape(c, 6)
    readers = np.concatenate([np.repeat(patch_of, 2), np.repeat(owner, 6)])
    read = np.concatenate([e2v.ravel(), ends.ravel()])
    vertex_keys, vertex_first, vertices = _needed(readers, read, patches, v)
    readers = np.concatenate([np.repeat(patch_of, 2), owner])
    read = np.concatenate([e2c.ravel(), np.arange(c)])
    cell_keys, cell_first, cells = _needed(readers, read, patches, c)
    patch_of_cell = cell_keys // c
    is_own = owner[cells] == patch_of_cell
    own_first = np.lexsort((cells, ~is_own, patch_of_cell))
    place = np.empty(len(cells), np.int64)
    place[own_first] = np.arange(len(cells))
    cells, is_own = cells[own_first], is_own[own_first]

    def near_vertices(patch: np.ndarray, vertex: np.ndarray) -> np.ndarray:
        return np.searchsorted(vertex_keys, patch * v + vertex) - vertex_first[patch]

    of_cells = np.zeros((len(cells), 6), np.uint16)
    owners = np.repeat(patch_of_cell[is_own], 6)
    of_cells[is_own] = near_vertices(owners, ends[cells[is_own]].ravel()).reshape(-1, 6)
    owners = np.repeat(np.arange(e) // size, 2)
    near_cells = place[np.searchsorted(cell_keys, owners * c + e2c[order].ravel())]
    of_edges = np.concatenate(
        [
            near_vertices(owners, e2v[order].ravel()).reshape(-1, 2),
            (near_cells - cell_first[owners]).reshape(-1, 2),
        ],
        axis=1,
    )
    starts = np.zeros((patches + 1, 4), np.uint32)
    starts[:, 0], starts[:, 1] = vertex_first, cell_first
    starts[:-1, 2] = np.bincount(patch_of_cell[own_first], is_own, patches)
    starts[:, 3] = np.minimum(np.arange(patches + 1) * size, e)
    lists = [starts, vertices, cells, order.astype(np.uint32), of_cells, of_edges.astype(np.uint16)]
    return lists, (int(np.diff(vertex_first).max()), int(np.diff(cell_first).max()))


def _needed(
    patch: np.ndarray, other: np.ndarray, patches: int, count: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each pair of a patch and what it needs, once, as a key; starts; and what it needs."""
    keys = np.unique(patch.astype(np.int64) * count + other)
    first = np.searchsorted(keys // count, np.arange(patches + 1))
    return keys, first, (keys % count).astype(np.uint32)


def grown(call: Callable[[], Any], edges: int) -> np.ndarray:
    """Return the edges patch by patch, as the inspector of a call's last nest has put them."""
    with lists_made.watched() as found:
        call()
    words = np.frombuffer(found[-1], np.uint32)
    members = next(m for m in range(1, 9) if words[3 * m] == words[1])
    return words[words[3 * (members - 1) + 1] :][:edges].astype(np.int64)


# --- measurement ----------------------------------------------------------------------------------


def rows() -> Iterator[Mapping[str, Any]]:
    """Yield the times of all variants beside a copy."""
    import gpu_cases as made
    from gpu_programs import copy_speed

    speed = copy_speed()
    yield {"copy_gb_s": speed / 1e9, "device": gpu.Device(0).name}
    for dtype in ("float64", "float32"):
        cases = ((made.nabla2, SMALL), (made.velocity_tendency, LARGE), (made.dynamics, LARGE))
        for make, options in cases:
            case = make(dtype, True, ACROSS, LEVELS)
            yield from _ours(case, options[dtype], speed)
            yield from _by_hand(case, speed)


def _ours(case: Any, options: tuple[Sizes, ...], speed: float) -> Iterator[Mapping[str, Any]]:
    from gpu_programs import GPU, on_our_stream, seconds

    first: dict[str, Any] = {}

    def keep() -> None:
        first.update({name: case.arguments[name].ndarray.copy() for name in case.outputs})

    def is_same() -> bool:
        return all(bool((first[n] == case.arguments[n].ndarray).all()) for n in first)

    apart = without(GPU_PASSES, "share_in_patches")
    for sizes, passes in (*((each, GPU_PASSES) for each in options), ((), apart)):
        patches = sizes is not None and Patches(**dict(zip(NAMES, sizes, strict=False)))
        built = case.program.with_backend(GPU.with_options(patches=patches, passes=passes))

        def call(built: Any = built) -> None:
            built(**case.arguments, offset_provider=case.tables)

        call()
        if not first:
            on_our_stream(keep)()
        same = on_our_stream(is_same)()
        took = seconds(call)
        yield {
            "case": case.name, "dtype": case.dtype, "patches": sizes,
            "shared": passes is GPU_PASSES, "ms": 1e3 * took,
            "share": case.moved / speed / took, "same_bits": same,
        }  # fmt: skip


def _by_hand(case: Any, speed: float) -> Iterator[Mapping[str, Any]]:
    from gpu_programs import on_our_stream, seconds

    for threads, levels, blocks, packs, size in BY_HAND.get((case.name, case.dtype), ()):
        file = {"nabla2": "nabla2", "velocity tendency": "velocity_tendency"}[case.name]
        options = (f"-DTHREADS={threads}", f"-DCHUNK={levels}", f"-DBLOCKS={blocks}",
                   f"-DPACKS={packs}", f"-DLEVELS={LEVELS}")  # fmt: skip
        call = _kernel(case, file, options, (threads, levels, size))
        took = on_our_stream(lambda call=call: (call(), seconds(call))[1])()
        yield {
            "case": case.name, "dtype": case.dtype, "ms": 1e3 * took,
            "by_hand": (threads, levels, blocks, packs, size), "share": case.moved / speed / took,
        }  # fmt: skip


def _kernel(
    case: Any, file: str, options: tuple[str, ...], shape: tuple[int, int, int]
) -> Callable[[], Any]:
    """Return a call of a kernel by hand on the patches that our inspector grows."""
    import cupy
    import gpu_cases as made
    import gpu_velocity
    from gpu_programs import GPU

    threads, levels, size = shape
    tables, item = made.torus(ACROSS), np.dtype(case.dtype).itemsize
    built = case.program.with_backend(GPU.with_options(patches=Patches(elements=size)))
    provider = made.tables_of(ACROSS, False, True)  # new tables, for which there are no lists
    order = grown(lambda: built(**case.arguments, offset_provider=provider), len(tables["E2V"]))
    module = made.by_hand(file, case.dtype, *options)
    kernel = module.get_function("patches")
    fields = {n: x for n, x in case.arguments.items() if hasattr(x, "ndarray")}
    words: tuple[Any, ...]
    if file == "nabla2":
        lists, most = nabla_lists(tables, order, size)
        shared = most * levels * item
        vn, along, difference, out = made.addresses(fields)
        v2e, row = cupy.asarray(tables["V2E"]), made.strides_of(fields["vn"])[0]
        device = [cupy.asarray(each) for each in lists]
        words = (vn, along, v2e, difference, out, *device, np.uint32(row))
    else:
        lists, counts = velocity_lists(tables, order, size)
        shared = sum(counts) * 2 * levels * item
        scalars = tuple(float(case.arguments[n]) for n in ("dtime", "limit", "damping"))
        points = tuple(len(tables[name]) for name in ("V2E", "C2E", "E2V"))
        given = gpu_velocity.Given(
            case.dtype, {n: made.first_of(x) for n, x in fields.items()}, tables, points, LEVELS,
            made.strides_of(fields["vn"])[0], made.strides_of(fields["w"])[0], scalars,
        )  # fmt: skip
        kept = gpu_velocity._problem(module, given)
        device = [cupy.asarray(each) for each in lists]
        words = (*device, *map(np.uint32, counts))
    kernel.max_dynamic_shared_size_bytes = shared
    blocks = (len(lists[0]) - 1) * (LEVELS // levels)

    def run(_: Any = kept if file != "nabla2" else None) -> None:
        kernel((blocks,), (threads,), words, shared_mem=shared)

    return run


def main() -> None:
    """Print a row for each variant, and write all to the file that the command line names."""
    found = []
    with gpu.Stream():
        for row in rows():
            print(json.dumps(row), flush=True)
            found.append(row)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
