"""Programs on a GPU: the same bits as on the CPU, times beside a copy, builds, calls.

`python bench/gpu_programs.py [FILE [CASES]]` runs where there is a GPU. With the names of some
cases, as in 'tridiagonal,nabla2', it times those and keeps the other rows of the file.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from cases import all_cases
from cases.case import Case
from gpu_peers import peers

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.ready_made import BACKENDS

SMALL = {"diffusion": 0.08, "mesh": 0.004, "velocity": 0.004, "laplacians": 0.05}
LARGE = (512, 512, 80)  # points
LONG = 300  # levels that shared memory cannot hold
ACROSS, LEVELS = 384, 80  # vertices of a torus along each side
POINTS = {"passes": ("spread", "plan_arena")}  # one thread a point or a column
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


def same_bits_in_layout(case: Any) -> bool:
    """Run a case of `gpu_cases` on the GPU and, copied, on the CPU, and compare every output."""
    case.program.with_backend(GPU)(**case.arguments, offset_provider=case.tables)
    found = [case.arguments[name].asnumpy() for name in case.outputs]
    on_host = {
        name: ff.as_field(value.domain, value.asnumpy()) if isinstance(value, ff.Field) else value
        for name, value in case.arguments.items()
    }
    tables = {
        name: as_connectivity(
            table.domain, codomain=table.codomain, data=table.asnumpy(),
            skip_value=table.skip_value,
        )
        for name, table in case.tables.items()
    }  # fmt: skip
    case.program.with_backend(BACKENDS["cpu"])(**on_host, offset_provider=tables)
    wanted = [on_host[name].asnumpy() for name in case.outputs]
    return all(bool((one == other).all()) for one, other in zip(found, wanted, strict=True))


def small_cases() -> Iterator[tuple[str, Any]]:
    """Yield small cases in both layouts, with rows that no width divides."""
    import gpu_cases as made

    for dtype in ("float64", "float32"):
        for levels, layout in ((False, "horizontal contiguous"), (True, "levels contiguous")):
            for columns in (made.tridiagonal, made.vertical_advection):
                yield layout, columns(dtype, levels, (41, 9, 80))
                yield layout, columns(dtype, levels, (37, 5, 83))
            for on_mesh in (made.nabla2, made.velocity_tendency, made.dynamics):
                yield layout, on_mesh(dtype, levels, 16, 21)


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


def large_cases(chosen: Container[str]) -> Iterator[tuple[str, Any]]:
    """Yield what is timed: a layout, and a case in it."""
    for layout, name, make in _made():
        if name in chosen or not chosen:
            yield layout, make()


def _made() -> Iterator[tuple[str, str, Any]]:
    import gpu_cases as made

    for dtype in ("float64", "float32"):
        cartesian = (
            ("rows of I", "diffusion", made.diffusion, False),
            ("columns beside each other", "tridiagonal", made.tridiagonal, False),
            ("columns beside each other", "vertical advection", made.vertical_advection, False),
            ("levels contiguous", "tridiagonal", made.tridiagonal, True),
            ("levels contiguous", "vertical advection", made.vertical_advection, True),
        )
        for layout, name, make, levels in cartesian:
            yield layout, name, partial(make, dtype, levels, LARGE)
        odd = partial(made.diffusion, dtype, False, (LARGE[0] + 1, *LARGE[1:]), False)
        yield "rows of I, not aligned", "unaligned diffusion", odd
        for name, make in (
            ("tridiagonal", made.tridiagonal),
            ("vertical advection", made.vertical_advection),
        ):
            of_long = partial(make, dtype, False, (*LARGE[:2], LONG))
            yield f"columns of {LONG} levels", f"long {name}", of_long
        meshes = (
            ("nabla2", made.nabla2),
            ("velocity tendency", made.velocity_tendency),
            ("ICON-like", made.dynamics),
        )
        for levels, layout in ((True, "levels contiguous"), (False, "horizontal contiguous")):
            for name, make in meshes:
                yield layout, name, partial(make, dtype, levels, ACROSS, LEVELS)


def measure(layout: str, case: Any, speed: float) -> Mapping[str, Any]:
    """Time a large case: ours, one thread a point, and by hand."""

    def timed(backend: Any) -> tuple[float, float, float]:
        built = case.program.with_backend(backend)
        began = time.perf_counter()
        built(**case.arguments, offset_provider=case.tables)
        first = time.perf_counter() - began
        took = seconds(lambda: built(**case.arguments, offset_provider=case.tables))
        began = time.perf_counter()
        built(**case.arguments, offset_provider=case.tables)
        return took, first, time.perf_counter() - began

    took, first, returns = timed(GPU)
    plain = timed(GPU.with_options(**POINTS))[0]
    hand, off = on_our_stream(partial(by_hand, case))()
    others, why = {}, ""
    try:
        for name, spent in peers(case, layout == "levels contiguous"):
            others[name] = 1e3 * spent
    except Exception as error:  # ours and the hand's stand
        why = f"{type(error).__name__}: {str(error)[:200]}"
    return {
        "case": case.name, "layout": layout, "size": case.size, "dtype": case.dtype,
        "beside_copy_gb_s": speed / 1e9,
        "ms": 1e3 * took, "share": case.moved / speed / took,
        "a_point_a_thread_ms": 1e3 * plain, "by_hand_ms": {k: 1e3 * v for k, v in hand.items()},
        "by_hand_off": off,
        "peers_ms": others, "peers_said": why, "first_call_s": first, "returns_us": 1e6 * returns,
    }  # fmt: skip


NEAR = {"float64": 1e-9, "float32": 1e-2}  # of the largest number: sums in another order
SWITCHED = 1e-6  # of all points may be far off, where a rounded comparison falls the other way


def by_hand(case: Any) -> tuple[dict[str, float], dict[str, float]]:
    """Return the seconds of each variant by hand, and the share of points that is far off ours.

    A variant that differs by more has no time. Call this on our stream, after ours has run.
    """
    ours = {name: case.arguments[name].ndarray.copy() for name in case.outputs}
    found, off = {}, {}
    for variant, call in case.by_hand.items():
        for name in ours:
            case.arguments[name].ndarray[...] = np.nan
        call()
        off[variant] = max(_far(case, name, values) for name, values in ours.items())
        if off[variant] > SWITCHED:
            print(f"{case.name} by hand, {variant}: {off[variant]:.2g} of points differ")
            continue
        found[variant] = seconds(call)
    for name, values in ours.items():
        case.arguments[name].ndarray[...] = values
    return found, off


def _far(case: Any, name: str, ours: Any) -> float:
    """Return the share of points of an output that is not near ours, where NaN is far."""
    import cupy

    largest = float(abs(ours).max())
    near = cupy.abs(case.arguments[name].ndarray - ours) <= NEAR[case.dtype] * largest
    return 1 - float(near.mean())


def on_our_stream(call: Any) -> Any:
    """Return a call of CuPy that uses the current stream of ours."""
    import cupy

    def run() -> Any:
        with cupy.cuda.ExternalStream(gpu.current_stream().ptr):
            return call()

    return run


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
    given = (*fields[:14], 2.0, fields[14])
    program(*given)
    found = []
    for _ in range(50):
        gpu.current_stream().sync()
        began = time.perf_counter()
        for _ in range(20):
            program(*given)
        found.append((time.perf_counter() - began) / 20)
    return 1e6 * min(found)


def step_latency(count: int = 100) -> Mapping[str, float]:
    """Return the microseconds after which a recorded step of `count` programs returns."""
    fields = [ff.zeros({I: 64, J: 64}, allocator=BACKENDS["gpu"]) for _ in range(15)]
    program = of_fifteen.with_backend(GPU)

    def one_by_one() -> None:
        for place in range(count):
            at = place % 15
            program(*fields[:at], *fields[at + 1 :], 0.5, fields[at])

    one_by_one()
    with ff.record(first=fields[0]) as step:
        one_by_one()
    step(first=fields[0])

    def shortest(call: Any) -> float:
        found = []
        for _ in range(30):
            gpu.current_stream().sync()
            began = time.perf_counter()
            call()
            found.append(time.perf_counter() - began)
        return 1e6 * min(found)

    return {
        "replayed_us": shortest(lambda: step(first=fields[0])),
        "one_by_one_us": shortest(one_by_one),
    }


def main() -> None:
    """Print a row for each case, and keep what there is in the file that the command line names."""
    rows: list[Mapping[str, Any]] = []
    chosen = sys.argv[2].split(",") if len(sys.argv) > 2 else []

    path = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    before = json.loads(path.read_text()) if chosen and path and path.exists() else []

    def keep() -> None:
        if path is not None:
            path.write_text(
                json.dumps(_replaced(before, rows) if before else rows, indent=1) + "\n"
            )

    device = gpu.Device(0)
    print(device.name, device.arch, flush=True)
    if not IS_SIMULATED:
        with gpu.Stream():
            for row in times(chosen):
                rows.append(row)
                keep()
        for layout, case in () if chosen else small_cases():
            row = {"case": case.name, "layout": layout, "dtype": case.dtype, "size": case.size}
            rows.append(row | {"same_bits": same_bits_in_layout(case)})
            print(rows[-1], flush=True)
        keep()
    if chosen:
        return
    for name, make in all_cases().items():
        module = name.partition(".")[0]
        for dtype in ("float64", "float32"):
            try:
                is_same = same_bits(make(dtype, SMALL.get(module, 0.08)))
                rows.append({"case": name, "dtype": dtype, "same_bits": is_same})
                print(f"{name:40} {dtype} same bits: {is_same}", flush=True)
            except Exception as error:  # the other cases still say something
                print(f"{name:40} {dtype} {type(error).__name__}: {str(error)[:300]}", flush=True)
    keep()


def _replaced(
    before: Sequence[Mapping[str, Any]], rows: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return rows of a file with new times in their places; each says beside which copy."""
    found = {_key(row): row for row in rows if "ms" in row}
    kept = [found.pop(_key(row), row) if "ms" in row else row for row in before]
    last = max((place for place, row in enumerate(kept) if "ms" in row), default=-1) + 1
    return [*kept[:last], *found.values(), *kept[last:]]


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row.get("case"), row.get("layout"), row["dtype"]


def times(chosen: Container[str] = ()) -> Iterator[Mapping[str, Any]]:
    """Yield the times of a device in one run beside a copy."""
    speed = copy_speed()
    step = step_latency()
    print(f"copy {speed / 1e9:.0f} GB/s, 15 fields {call_latency():.2f} us, {step}", flush=True)
    yield {"copy_gb_s": speed / 1e9, "call_of_15_fields_us": call_latency(), "step_of_100": step}
    for layout, case in large_cases(chosen):
        try:
            row = measure(layout, case, speed)
            print(json.dumps(row), flush=True)
            yield row
        except Exception as error:
            print(
                f"{case.name:40} {case.dtype} {type(error).__name__}: {str(error)[:300]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
