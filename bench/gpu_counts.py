"""The hot paths of the GPU runtime, for bench/count.py.

All but the last run on `bench/gpu/stub.cpp`, a driver that does nothing, so that what is counted is
ours. The last calls a program on the null platform, whose driver counts too.
"""

from __future__ import annotations

import operator
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Call = tuple[str, Any, tuple[Any, ...], tuple[str, ...]]


def prepare(folder: Path) -> None:
    """Compile the driver that does nothing."""
    source = Path(__file__).parent / "gpu" / "stub.cpp"
    command = ["c++", "-O2", "-shared", "-fPIC", str(source), "-o", str(folder / "libcuda.so.1")]
    subprocess.run(command, check=True)


def calls() -> Iterator[Call]:
    """Return labels, callables and arguments."""
    from fieldforge.runtime import gpu

    device = gpu.Device(0, platform="cuda")
    gpu.set_platform("cuda")
    stream, event = gpu.Stream(device), gpu.Event(device)
    gpu.set_current_stream(stream)
    launcher = gpu.Module.load(b"\x7fELF", device=device).kernel("eight").prepare("PPPPiiii")
    arrays = tuple(gpu.Array.empty(100, device=device) for _ in range(4))
    values = (*arrays, 1, 2, 3, 4)
    bound = launcher.bind(*values)
    with stream.capture() as graph:
        bound()
    yield "gpu: launch, 4 arrays and 4 integers", launcher, values, ()
    yield "gpu: bound launch", bound, (), ()
    yield "gpu: graph launch", graph.instantiate().launch, (stream,), ()
    yield "gpu: event record", event.record, (stream,), ()
    yield "gpu: event query", operator.attrgetter("done"), (event,), ()
    yield "gpu: event create", gpu.Event, (device,), ()
    yield "gpu: stream create", gpu.Stream, (device,), ()
    yield "gpu: stream pointer", operator.attrgetter("ptr"), (stream,), ()
    yield "gpu: wrap a NumPy array", gpu.Array.from_any, (np.zeros((10, 10)),), ()
    yield "gpu: wrap an array of ours", gpu.Array.from_any, (arrays[0],), ()
