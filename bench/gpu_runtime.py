"""Compare the cost of the GPU runtime with cuda.bindings, cuda.core, CuPy and the driver in C++.

    python bench/gpu_runtime.py                 on the GPU of this machine
    python bench/gpu_runtime.py --stub          on a driver that does nothing: the wrappers alone

Every row is the least of many batches, in nanoseconds a call; batches wait for the device in
between, so that no launch waits for room in a queue. The result goes to
bench/results/<machine>/gpu_runtime.json.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np

HERE = Path(__file__).parent
BATCHES = 200
SOURCE = """
extern "C" __global__ void eight(double* a, double* b, double* c, double* d,
                                 int i, int j, int k, int l) {}
extern "C" __global__ void fifteen(@) {}
""".replace("@", ", ".join([*(f"double* p{n}" for n in range(15)),
                            *(f"long long n{n}" for n in range(19)), "double x"]))  # fmt: skip
Row = tuple[str, str, int]  # the name, the statement, calls in a batch


def measure(rows: list[Row], names: dict[str, Any], settle: Callable[[], Any]) -> dict[str, Any]:
    """Time statements; `settle` waits for their work on the device."""
    found: dict[str, Any] = {}
    for name, statement, count in rows:
        timer = timeit.Timer(statement, globals=names)
        try:
            timer.timeit(10)
        except Exception as error:  # a peer that lacks something is no reason to stop
            found[name] = {"failed": f"{type(error).__name__}: {error}"[:200]}
            continue
        times = []
        for _ in range(BATCHES):
            settle()
            times.append(timer.timeit(count) / count * 1e9)
        settle()
        found[name] = {"least": round(min(times), 1), "median": round(statistics.median(times), 1)}
    return found


def ours(image: bytes) -> dict[str, Any]:
    """Measure this package."""
    from fieldforge.runtime import gpu

    device = gpu.Device(0, platform="cuda")
    gpu.set_platform("cuda")
    stream, event = gpu.Stream(device), gpu.Event(device)
    gpu.set_current_stream(stream)
    kernel = gpu.Module.load(image, device=device).kernel("eight")
    launcher = kernel.prepare("PPPPiiii")
    a, b, c, d = (gpu.Array.empty(100, device=device) for _ in range(4))
    bound = launcher.bind(a, b, c, d, 1, 2, 3, 4)
    with stream.capture() as graph:
        bound()
    ready = graph.instantiate()
    host = np.zeros((10, 10))
    names = {"gpu": gpu, "device": device, "stream": stream, "event": event, "launcher": launcher,
             "a": a, "b": b, "c": c, "d": d, "bound": bound, "launch": ready.launch, "host": host,
             "wrap": gpu.Array.from_any, "record": event.record, "sync": stream.sync,
             "current": gpu.current_device, "pa": a.ptr, "Event": gpu.Event,
             "Stream": gpu.Stream}  # fmt: skip
    rows = [
        ("device_get", "current()", 1000),
        ("device_set", "device.set_current()", 1000),
        ("event_create", "Event(device)", 500),
        ("event_record", "record(stream)", 200),
        ("event_query", "event.done", 1000),
        ("stream_create", "Stream(device)", 200),
        ("stream_sync", "sync()", 1000),
        ("stream_pointer", "stream.ptr", 1000),
        ("wrap_numpy", "wrap(host)", 500),
        ("launch_4_arrays_4_ints", "launcher(a, b, c, d, 1, 2, 3, 4)", 200),
        ("launch_4_addresses_4_ints", "launcher(pa, pa, pa, pa, 1, 2, 3, 4)", 200),
        ("bound_call", "bound()", 200),
        ("graph_launch", "launch(stream)", 100),
    ]
    found = measure(rows, names, stream.sync)
    if device.name == "stub":
        return found
    # Libraries that are imported make what comes after them slower, so they come last.
    found |= measure([_program(names)], names, stream.sync)
    return found | measure(list(_foreign(names)), names, stream.sync)


def _program(names: dict[str, Any]) -> Row:
    """Return the call of a program with 15 fields, whose kernel is launched as `fifteen` is."""
    from gpu_latency import I, J, of_fifteen

    import fieldforge as ff
    from fieldforge.workflows.backends.backend import BACKENDS

    fields = [ff.zeros({I: 64, J: 64}, allocator=BACKENDS["gpu"]) for _ in range(15)]
    program = of_fifteen.with_backend(BACKENDS["gpu"])
    program(*fields[:14], 2.0, fields[14])
    names |= {"program": program, **{f"f{n}": field for n, field in enumerate(fields)}}
    given = ", ".join([*(f"f{n}" for n in range(14)), "2.0", "f14"])
    return "call_15_fields", f"program({given})", 200


def _foreign(names: dict[str, Any]) -> Iterator[Row]:
    try:
        import cupy

        names["theirs"] = cupy.zeros((10, 10))
        yield "wrap_cupy", "wrap(theirs)", 200
        yield "wrap_cupy_unordered", "wrap(theirs, order_after=False)", 200
    except Exception:  # not installed, or without a GPU
        return
    try:
        import torch

        names["tensor"] = torch.zeros((10, 10), device="cuda")
        yield "wrap_torch", "wrap(tensor)", 200
        yield "wrap_torch_unordered", "wrap(tensor, order_after=False)", 200
    except Exception:
        return


def bindings(image: bytes) -> dict[str, Any]:
    """Measure cuda.bindings."""
    import ctypes

    from cuda.bindings import driver

    def ok(answer: tuple[Any, ...]) -> Any:
        assert int(answer[0]) == 0, answer
        return answer[1] if len(answer) > 1 else None

    ok(driver.cuInit(0))
    device = ok(driver.cuDeviceGet(0))
    context = ok(driver.cuDevicePrimaryCtxRetain(device))
    ok(driver.cuCtxSetCurrent(context))
    stream = ok(driver.cuStreamCreate(1))
    event = ok(driver.cuEventCreate(2))
    kernel = ok(driver.cuModuleGetFunction(ok(driver.cuModuleLoadData(image)), b"eight"))
    memory = [int(ok(driver.cuMemAlloc(1024))) for _ in range(4)]
    values = (*memory, 1, 2, 3, 4)
    types = (ctypes.c_void_p,) * 4 + (ctypes.c_int,) * 4
    ok(driver.cuStreamBeginCapture(stream, driver.CUstreamCaptureMode(1)))
    ok(driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, (values, types), 0))
    graph = ok(driver.cuStreamEndCapture(stream))
    ready = ok(driver.cuGraphInstantiate(graph, 0))
    names = {**vars(driver), "driver": driver, "stream": stream, "event": event, "kernel": kernel,
             "context": context, "values": values, "types": types, "ready": ready}  # fmt: skip
    rows = [
        ("device_get", "cuCtxGetDevice()", 1000),
        ("device_set", "cuCtxSetCurrent(context)", 1000),
        ("event_create", "cuEventDestroy(cuEventCreate(2)[1])", 500),
        ("event_record", "cuEventRecord(event, stream)", 200),
        ("event_query", "cuEventQuery(event)", 1000),
        ("stream_create", "cuStreamDestroy(cuStreamCreate(1)[1])", 20),
        ("stream_sync", "cuStreamSynchronize(stream)", 1000),
        ("stream_pointer", "int(stream)", 1000),
        (
            "launch_4_arrays_4_ints",
            "cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, stream, (values, types), 0)",
            200,
        ),
        ("graph_launch", "cuGraphLaunch(ready, stream)", 100),
    ]
    return measure(rows, names, lambda: driver.cuStreamSynchronize(stream))


def core(image: bytes) -> dict[str, Any]:
    """Measure cuda.core."""
    try:
        from cuda.core import Device, EventOptions, LaunchConfig, ObjectCode, launch
    except ImportError:
        from cuda.core.experimental import Device, EventOptions, LaunchConfig, ObjectCode, launch
    device = Device(0)
    device.set_current()
    stream = device.create_stream()
    event = stream.record(options=EventOptions())
    kernel = ObjectCode.from_cubin(image).get_kernel("eight")
    config = LaunchConfig(grid=1, block=1)
    names = {"Device": Device, "device": device, "stream": stream, "event": event, "launch": launch,
             "config": config, "kernel": kernel, "i": np.int32(1),
             "host": np.zeros((10, 10))}  # fmt: skip
    memory = [device.allocate(1024, stream=stream) for _ in range(4)]
    names["a"], names["b"], names["c"], names["d"] = memory
    rows = [
        ("device_get", "Device()", 1000),
        ("device_set", "device.set_current()", 1000),
        ("event_create", "device.create_event()", 500),
        ("event_record", "stream.record(event)", 200),
        ("event_query", "event.is_done", 1000),
        ("stream_create", "device.create_stream()", 20),
        ("stream_sync", "stream.sync()", 1000),
        ("stream_pointer", "int(stream.handle)", 1000),
        ("launch_4_arrays_4_ints", "launch(stream, config, kernel, a, b, c, d, i, i, i, i)", 200),
    ]
    try:
        from cuda.core.utils import StridedMemoryView

        names["view"] = StridedMemoryView.from_dlpack
        rows.append(("wrap_numpy", "view(host, -1)", 500))
        if device.name == "stub":
            raise ImportError("CuPy needs a real driver")
        import cupy

        names["theirs"] = cupy.zeros((10, 10))
        rows.append(("wrap_cupy_unordered", "view(theirs, -1)", 200))
    except Exception:  # without CuPy there is nothing to wrap
        pass
    return measure(rows, names, stream.sync)


def cupy_rows(image: bytes) -> dict[str, Any]:
    """Measure CuPy."""
    if len(image) < 100:
        raise SystemExit("CuPy needs a real driver.")
    import cupy

    kernel = cupy.RawKernel(SOURCE, "eight")
    stream = cupy.cuda.Stream(non_blocking=True)
    event = cupy.cuda.Event(disable_timing=True)
    stream.use()
    event.record(stream)
    a, b, c, d = (cupy.zeros(100) for _ in range(4))
    values = (a, b, c, d, *(np.int32(i) for i in range(4)))
    kernel((1,), (1,), values)
    stream.synchronize()
    stream.begin_capture()
    kernel((1,), (1,), values)
    graph = stream.end_capture()
    names = {"cupy": cupy, "stream": stream, "event": event, "kernel": kernel, "values": values,
             "graph": graph, "runtime": cupy.cuda.runtime, "Event": cupy.cuda.Event,
             "Stream": cupy.cuda.Stream}  # fmt: skip
    rows = [
        ("device_get", "runtime.getDevice()", 1000),
        ("device_set", "runtime.setDevice(0)", 1000),
        ("event_create", "Event(disable_timing=True)", 500),
        ("event_record", "event.record(stream)", 200),
        ("event_query", "event.done", 1000),
        ("stream_create", "Stream(non_blocking=True)", 20),
        ("stream_sync", "stream.synchronize()", 1000),
        ("stream_pointer", "stream.ptr", 1000),
        ("launch_4_arrays_4_ints", "kernel((1,), (1,), values)", 200),
        ("graph_launch", "graph.launch(stream)", 100),
    ]
    return measure(rows, names, stream.synchronize)


def floor(image: bytes) -> dict[str, Any]:
    """Measure the driver from C++, in a process of Python, whose threads make locks dearer."""
    import ctypes

    with tempfile.TemporaryDirectory(prefix="fieldforge-floor-") as scratch:
        library, file, out = (Path(scratch, name) for name in ("floor.so", "image", "rows"))
        file.write_bytes(image)
        source = str(HERE / "gpu/floor.cpp")
        command = ["g++", "-O2", "-std=c++17", "-shared", "-fPIC", source, "-ldl", "-o"]
        subprocess.run([*command, str(library)], check=True)
        code = ctypes.CDLL(str(library)).measure(str(file).encode(), str(out).encode())
        if code != 0:
            raise SystemExit("The driver cannot be called from C++.")
        lines = [line.split() for line in out.read_text().splitlines()]
    found = {name: {"least": float(least), "median": float(mid)} for name, least, mid in lines}
    found["launch_4_arrays_4_ints"] = found.pop("launch_8")
    return found


PEERS = {
    "C++": floor,
    "fieldforge": ours,
    "cuda.bindings": bindings,
    "cuda.core": core,
    "cupy": cupy_rows,
}


def imports() -> dict[str, Any]:
    """Measure by how many milliseconds the runtime's import extends the package's."""
    found = {}
    for name, first, then in (
        ("fieldforge", "import fieldforge", "from fieldforge.runtime import gpu"),
        ("cuda.bindings", "import numpy", "from cuda.bindings import driver"),
        ("cuda.core", "import numpy", "import cuda.core"),
        ("cupy", "import numpy", "import cupy"),
    ):
        code = (
            f"import time; {first}; t = time.perf_counter(); {then}; print(time.perf_counter() - t)"
        )
        times = []
        for _ in range(7):
            done = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=False
            )
            if done.returncode == 0:
                times.append(float(done.stdout) * 1000)
        if times:
            found[name] = {
                "least": round(min(times), 1),
                "median": round(statistics.median(times), 1),
            }
    return found


def environment(folder: Path, *, stub: bool) -> dict[str, str]:
    """Return the environment of the measured processes; a stub goes ahead of the driver."""
    if not stub:
        return dict(os.environ)
    library = folder / "libcuda.so.1"
    command = ["g++", "-O2", "-shared", "-fPIC", str(HERE / "gpu/stub.cpp"), "-o", str(library)]
    subprocess.run(command, check=True)
    return {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}


@click.command()
@click.option("--stub", is_flag=True, help="Measure the wrappers on a driver that does nothing.")
@click.option("--peer", type=click.Choice(tuple(PEERS)), help="Measure one, and print it as JSON.")
@click.option("--image", type=click.Path(path_type=Path), help="The compiled kernel.")
@click.option("--output", type=click.Path(path_type=Path), help="Where the results are written.")
def main(stub: bool, peer: str | None, image: Path | None, output: Path | None) -> None:
    """Measure everything and print a table."""
    if peer is not None and image is not None:
        print(json.dumps(PEERS[peer](image.read_bytes())))
        return
    from fieldforge.runtime import gpu

    with tempfile.TemporaryDirectory(prefix="fieldforge-bench-") as scratch:
        folder = Path(scratch)
        arch = "sm_90" if stub else gpu.Device(0).arch
        file = folder / "eight.cubin"
        file.write_bytes(b"\x7fELF" if stub else gpu.compile_kernels(SOURCE, arch=arch))
        env = environment(folder, stub=stub)
        found: dict[str, Any] = {}
        for name in PEERS:
            command = [sys.executable, __file__, "--peer", name, "--image", str(file)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
            last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
            found[name] = (
                json.loads(done.stdout) if done.returncode == 0 else {"failed": last[0][:300]}
            )
    found["import_ms"] = imports()
    place = output or _place(stub=stub)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(found, indent=1) + "\n")
    show(found)


def _place(*, stub: bool) -> Path:
    from fieldforge.runtime import gpu

    name = "stub" if stub else gpu.Device(0).name.replace(" ", "-").lower()
    return HERE / "results" / name / "gpu_runtime.json"


def show(found: dict[str, Any]) -> None:
    """Print the least times as a table."""
    columns = [name for name in found if name != "import_ms"]
    rows = [key for key in found["fieldforge"] if key != "failed"]
    print(f"{'ns a call':28}" + "".join(f"{name:>15}" for name in columns))
    for row in rows:
        cells = [found[name].get(row, {}).get("least", "-") for name in columns]
        print(f"{row:28}" + "".join(f"{cell!s:>15}" for cell in cells))
    for name in columns:
        for row, cell in found[name].items():
            if row == "failed" or "failed" in cell:
                print(f"{name}: {row}: {cell if row == 'failed' else cell['failed']}")
    print("import, ms:", {name: cell["least"] for name, cell in found["import_ms"].items()})


if __name__ == "__main__":
    if shutil.which("g++") is None:
        raise SystemExit("This needs g++.")
    main()
