"""The backend `dace_gpu` beside `gpu` on one GPU: bits, times, the first call, when calls return.

python bench/dace_on_gpu.py [bench/results/<machine>/dace_gpu.json [CASES]]

With the names of some cases, as in 'tridiagonal,nabla2', it times those in float64 and keeps the
other rows of the file.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from gpu_latency import call_latency
from gpu_programs import copy_speed, large_cases, seconds

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

NAMES = ("gpu", "dace_gpu")


def measure(case: Any, speed: float) -> Mapping[str, Any]:
    """Run a case by both backends: what they compute, and how long it takes."""
    row: dict[str, Any] = {"case": case.name, "size": case.size, "dtype": case.dtype}
    results = []
    for name in NAMES:
        program = partial(
            case.program.with_backend(BACKENDS[name]),
            **case.arguments,
            offset_provider=case.tables,
        )
        began = time.perf_counter()
        program()
        gpu.current_stream().sync()
        row[f"{name}_first_call_s"] = time.perf_counter() - began
        results.append([np.array(case.arguments[each].asnumpy()) for each in case.outputs])
        took = seconds(program)
        began = time.perf_counter()
        program()
        row[f"{name}_returns_us"] = 1e6 * (time.perf_counter() - began)
        row[f"{name}_ms"], row[f"{name}_share"] = 1e3 * took, case.moved / speed / took
    pairs = zip(*results, strict=True)
    row["same_bits"] = all(one.tobytes() == other.tobytes() for one, other in pairs)
    return row


def builds(chosen: Sequence[str]) -> Iterator[Any]:
    """Yield the cases whose programs are compiled beforehand, side by side."""
    for layout, case in large_cases(chosen):
        if case.dtype == "float64":
            yield layout, case


def latency() -> Mapping[str, float]:
    """Return the microseconds after which a call with 15 fields returns, by each backend."""
    found = {}
    for name in NAMES:
        found[f"{name}_call_of_15_fields_us"] = call_latency(BACKENDS[name])
    return found


def main() -> None:
    """Print a row for each case, and keep them."""
    chosen = sys.argv[2].split(",") if len(sys.argv) > 2 else ()
    with gpu.Stream():
        print(gpu.Device(0).name, flush=True)
        rows: list[Mapping[str, Any]] = [latency()]
        print(json.dumps(rows[0]), flush=True)
        speed = copy_speed()
        cases = list(builds(chosen))
        with ThreadPoolExecutor(16) as pool:  # nvcc takes seconds a program
            list(pool.map(_first_call, cases))
        for layout, case in cases:
            try:
                rows.append({"layout": layout, **measure(case, speed)})
                print(json.dumps(rows[-1]), flush=True)
            except ff.errors.FieldforgeError as error:
                print(f"{case.name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
    if len(sys.argv) > 1:
        kept = kept_rows(Path(sys.argv[1]), rows)
        Path(sys.argv[1]).write_text(json.dumps([*rows, *kept], indent=1) + "\n")


def kept_rows(file: Path, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a file that were not measured again."""
    old = json.loads(file.read_text()) if file.exists() else []
    again = {(row.get("case"), row.get("layout")) for row in rows}
    return [row for row in old if (row.get("case"), row.get("layout")) not in again]


def _first_call(place: tuple[str, Any]) -> None:
    _, case = place
    with gpu.Stream():
        program = case.program.with_backend(BACKENDS["dace_gpu"])
        program(**case.arguments, offset_provider=case.tables)
        gpu.current_stream().sync()


if __name__ == "__main__":
    main()
