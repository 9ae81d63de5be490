"""Programs on a GPU: the same bits as on the CPU, times beside a copy, builds, calls.

    python bench/gpu_programs.py [FILE [CASES]] [--beside gt4py]

With the names of some cases, as in 'tridiagonal,nabla2', it times those and keeps the other rows of
the file, by default that of the device in `results/`. The usual peers are arrays of CuPy and JAX.
`--beside gt4py` times ours and gt4py's GPU backends instead, in rows of `gpu_peer.json`
(`gpu_peers.py` has both).
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

import click
from gpu_bits import GPU, IS_SIMULATED, bits, bits_in_layouts
from gpu_latency import call_latency, step_latency
from results import Results

from fieldforge.runtime import gpu

KEY = ("case", "by", "layout", "dtype", "size")  # of a row
LARGE = (512, 512, 80)  # points
LONG = 300  # levels that shared memory cannot hold
ACROSS, LEVELS = 384, 80  # vertices of a torus along each side
POINTS = {"passes": ("spread", "plan_arena")}  # one thread a point or a column
ROUNDS = 12


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
    from gpu_peers import peers

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


@click.command(help=__doc__)
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@click.argument("cases", metavar="[CASES]", default="")
@click.option("--beside", type=click.Choice(["arrays", "gt4py"]), default="arrays")
def main(path: Path | None, cases: str, beside: str) -> None:
    """Print a row for each case, and keep what there is in the file."""
    from gpu_peers import beside_gt4py

    chosen = tuple(name for name in cases.split(",") if name)
    device = gpu.Device(0)
    print(device.name, device.arch, flush=True)
    name = "gpu_peer" if beside == "gt4py" else "gpu_programs"
    if path is None and not IS_SIMULATED:
        path = folder_of(device) / f"{name}.json"
    kept = path and Results(path, fresh=not chosen, key=KEY)
    if kept:
        kept.describe(machine={"device": device.name})
    for row in beside_gt4py(chosen) if beside == "gt4py" else measured(chosen):
        print(json.dumps(row), flush=True)
        if kept:
            kept.add(dict(row))


def folder_of(device: Any) -> Path:
    """Return the folder of a device's results."""
    folder = Path(__file__).parent / "results" / device.name.replace(" ", "-").lower()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def measured(chosen: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Yield times on a device, and unless some are chosen, whether bits are those of a CPU."""
    if not IS_SIMULATED:
        with gpu.Stream():
            yield from times(chosen)
        yield from () if chosen else bits_in_layouts()
    yield from () if chosen else bits()


def times(chosen: Container[str] = ()) -> Iterator[Mapping[str, Any]]:
    """Yield the times of a device in one run beside a copy."""
    speed = copy_speed()
    call, step = call_latency(GPU), step_latency(GPU)
    yield {"copy_gb_s": speed / 1e9, "call_of_15_fields_us": call, "step_of_100": step}
    for layout, case in large_cases(chosen):
        try:
            yield measure(layout, case, speed)
        except Exception as error:
            print(
                f"{case.name:40} {case.dtype} {type(error).__name__}: {str(error)[:300]}",
                flush=True,
            )


if __name__ == "__main__":
    main()
