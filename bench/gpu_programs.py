"""Programs on a GPU: the same bits as on the CPU, times beside a copy, builds, calls.

`python bench/gpu_programs.py` runs where there is a GPU; `make bench-gpu` beside the runtime's.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from cases import all_cases
from cases.case import Case

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.ready_made import BACKENDS

SMALL = {"diffusion": 0.08, "mesh": 0.004, "velocity": 0.004, "laplacians": 0.05}
LARGE = {
    "diffusion.high": 2.0, "tridiagonal.tridiagonal": 2.0, "mesh.nabla2": 2.3,
    "velocity.velocity_tendency": 2.3, "vertical_advection": 1.0,
}  # fmt: skip
ROUNDS = 12
IS_SIMULATED = gpu.platform() == "null"
GPU = BACKENDS["gpu-host"].with_options(on_device=True) if IS_SIMULATED else BACKENDS["gpu"]


def on_gpu(value: Any) -> Any:
    """Return a field or table on the device, anything else as it is."""
    if hasattr(value, "skip_value"):
        data = value.asnumpy()
        return as_connectivity(
            value.domain, codomain=value.codomain, data=data, allocator=BACKENDS["gpu"]
        )
    if isinstance(value, ff.Field):
        return ff.as_field(value.domain, value.asnumpy(), allocator=BACKENDS["gpu"])
    return value


def on_cpu(value: Any) -> Any:
    """Return an array of the host."""
    return value.asnumpy()


def place(case: Case) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return arguments and tables of a case on the device."""
    arguments = {name: on_gpu(value) for name, value in case.arguments.items()}
    return arguments, {name: on_gpu(value) for name, value in case.tables.items()}


def same_bits(case: Case) -> bool:
    """Run a case on both, and compare every output bit by bit."""
    program: Any = case.program
    arguments, tables = place(case)
    program.with_backend(BACKENDS["cpu"])(**case.arguments, offset_provider=case.tables)
    program.with_backend(GPU)(**arguments, offset_provider=tables)
    return all(
        on_cpu(arguments[name]).tobytes() == np.array(case.arguments[name].asnumpy()).tobytes()
        or bool((on_cpu(arguments[name]) == case.arguments[name].asnumpy()).all())
        for name in case.outputs
    )


def seconds(call: Any) -> float:
    """Return the shortest of several times on the device."""
    found = []
    for _ in range(ROUNDS):
        first, last = gpu.Event(timing=True), gpu.Event(timing=True)
        first.record()
        call()
        last.record()
        last.sync()
        found.append((last - first) * 1e-3)
    return min(found)


def copy_speed() -> float:
    """Return bytes read and written a second by a copy on the device."""
    source = gpu.Array.zeros(1 << 27)
    target = gpu.Array.empty(1 << 27)
    return 2 * source.nbytes / seconds(lambda: target.copy_from(source))


def measure(name: str, case: Case, speed: float) -> Mapping[str, Any]:
    """Time the build and the call of a large case."""
    arguments, tables = place(case)
    program: Any = case.program
    built = program.with_backend(GPU)
    began = time.perf_counter()
    built(**arguments, offset_provider=tables)
    first = time.perf_counter() - began
    took = seconds(lambda: built(**arguments, offset_provider=tables))
    host = []
    for _ in range(30):
        began = time.perf_counter()
        built(**arguments, offset_provider=tables)
        host.append(time.perf_counter() - began)
        gpu.current_stream().sync()
    return {
        "case": name, "size": case.size, "dtype": case.dtype, "ms": 1e3 * took,
        "share": case.moved / speed / took, "first_call_s": first, "returns_us": 1e6 * min(host),
    }  # fmt: skip


I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = ff.Field[ff.Dims[I, J], ff.float64]


@ff.field_operator
def summed(
    a: Plane, b: Plane, c: Plane, d: Plane, e: Plane, f: Plane, g: Plane, h: Plane, i: Plane,
    j: Plane, k: Plane, l: Plane, m: Plane, n: Plane, x: ff.float64,
) -> Plane:  # fmt: skip
    return x * (a + b + c + d + e + f + g + h + i + j + k + l + m + n)


@ff.program
def of_fifteen(
    a: Plane, b: Plane, c: Plane, d: Plane, e: Plane, f: Plane, g: Plane, h: Plane, i: Plane,
    j: Plane, k: Plane, l: Plane, m: Plane, n: Plane, x: ff.float64, out: Plane,
):  # fmt: skip
    summed(a, b, c, d, e, f, g, h, i, j, k, l, m, n, x, out=out)


def call_latency() -> float:
    """Return the microseconds after which a call with 15 fields returns."""
    fields = [ff.zeros({I: 64, J: 64}, allocator=BACKENDS["gpu"]) for _ in range(15)]
    program = of_fifteen.with_backend(GPU)
    program(*fields[:14], 2.0, fields[14])
    found = []
    for _ in range(50):
        gpu.current_stream().sync()
        began = time.perf_counter()
        for _ in range(20):
            program(*fields[:14], 2.0, fields[14])
        found.append((time.perf_counter() - began) / 20)
    return 1e6 * min(found)


def main() -> None:
    """Print a row for each case."""
    rows: list[Mapping[str, Any]] = []
    device = gpu.Device(0)
    print(device.name, device.arch, flush=True)
    for name, make in all_cases().items():
        module = name.partition(".")[0]
        for dtype in ("float64", "float32"):
            try:
                case = make(dtype, SMALL.get(module, 0.08))
                began = time.perf_counter()
                is_same = same_bits(case)
                took = time.perf_counter() - began
                rows.append({"case": name, "dtype": dtype, "same_bits": is_same})
                print(f"{name:40} {dtype} same bits: {is_same}  {took:.2f} s", flush=True)
            except Exception as error:  # the other cases still say something
                print(f"{name:40} {dtype} {type(error).__name__}: {str(error)[:300]}", flush=True)
    print(f"a call with 15 fields returns after {call_latency():.2f} us", flush=True)
    if IS_SIMULATED:
        return
    speed = copy_speed()
    print(f"copy {speed / 1e9:.0f} GB/s", flush=True)
    for name, make in all_cases().items():
        scale = LARGE.get(name) or LARGE.get(name.partition(".")[0])
        if scale is None:
            continue
        for dtype in ("float64", "float32"):
            try:
                row = measure(name, make(dtype, scale), speed)
                rows.append(row)
                print(json.dumps(row), flush=True)
            except Exception as error:
                print(f"{name:40} {dtype} {type(error).__name__}: {str(error)[:300]}", flush=True)
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
