"""The time of nabla2 on meshes up to the memory of a GPU: it should grow as the mesh does.

`python bench/gpu_scaling.py [FILE]`. The largest has more than 2**31 numbers in a field.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import gpu_cases as made
import gpu_programs as measured

from fieldforge.runtime import gpu

SIZES = (("float64", 384), ("float64", 1152), ("float64", 2584), ("float32", 384),
         ("float32", 3008))  # fmt: skip
LEVELS, CHECKED = 80, 1000


def is_right(case: Any) -> bool:
    """Compare the last edges with the same sums by CuPy."""
    import cupy

    vn, along, difference, out = (
        case.arguments[name].ndarray for name in ("vn", "along_dual", "difference", "out")
    )
    v2e, e2v = case.tables["V2E"].ndarray, case.tables["E2V"].ndarray
    ends = e2v[-CHECKED:]
    curl = [(vn[v2e[ends[:, side]]] * along[ends[:, side], :, None]).sum(axis=1) for side in (0, 1)]
    wanted = sum(curl[side] * difference[-CHECKED:, side, None] for side in (0, 1))
    near = 1e-12 if case.dtype == "float64" else 1e-4
    return bool(cupy.abs(out[-CHECKED:] - wanted).max() < near)


def rows() -> Iterator[Mapping[str, Any]]:
    """Yield the time of each mesh."""
    import cupy

    speed = measured.copy_speed()
    for dtype, across in SIZES:
        case = made.nabla2(dtype, True, across, LEVELS)
        program = case.program.with_backend(measured.GPU)

        def call(program: Any = program, case: Any = case) -> None:
            program(**case.arguments, offset_provider=case.tables)

        call()
        took = measured.seconds(call)
        edges = 3 * across**2
        yield {
            "dtype": dtype, "edges": edges, "levels": LEVELS, "ms": 1e3 * took,
            "ns_an_edge": 1e9 * took / edges, "share": case.moved / speed / took,
            "is_right": is_right(case),
        }  # fmt: skip
        del case, program, call
        made.torus.cache_clear()
        cupy.get_default_memory_pool().free_all_blocks()


def main() -> None:
    """Print a row for each mesh."""
    found = []
    with gpu.Stream():
        for row in rows():
            print(json.dumps(row), flush=True)
            found.append(row)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
