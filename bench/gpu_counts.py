"""The hot paths of the GPU runtime, for bench/count.py.

All but the last run on `bench/gpu/stub.cpp`, a driver that does nothing, so that what is counted is
ours. The last calls a program on the null platform, whose driver counts too.
"""

from __future__ import annotations

import operator
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from call_programs import arguments, write_module

Call = tuple[str, Any, tuple[Any, ...], tuple[str, ...]]


def prepare(folder: Path) -> None:
    """Compile the driver that does nothing, and a program for the null platform."""
    source = Path(__file__).parent / "gpu" / "stub.cpp"
    command = ["c++", "-O2", "-shared", "-fPIC", str(source), "-o", str(folder / "libcuda.so.1")]
    subprocess.run(command, check=True)
    _prepare_program(folder)


def _prepare_program(folder: Path) -> None:
    import fieldforge as ff
    from fieldforge.cache.disk import Disk
    from fieldforge.runtime import gpu
    from fieldforge.stages.ir import codec
    from fieldforge.workflows.backends.ready_made import BACKENDS

    backend = BACKENDS["gpu-host"].with_options(on_device=True)
    program = write_module(folder, "fieldforge", "None").fields_15.with_backend(backend)
    with ff.using(ff.Engine(Disk(folder / "store"))), gpu.use_platform("null"):
        bound = program.trace(until="bind")["bind"].artifact
        compiled = program.trace(until="compile")["compile"].artifact
    (folder / "null_plan.json").write_bytes(codec.encode(bound.plan))
    (folder / "null_kernels.so").write_bytes(compiled.library)


def _program_call(folder: Path) -> Call:
    import fieldforge as ff
    from fieldforge.runtime import _core
    from fieldforge.runtime.calls.refusals import reject
    from fieldforge.stages.ir import codec
    from fieldforge.workflows.backends.ready_made import BACKENDS

    plan = codec.decode((folder / "null_plan.json").read_bytes())
    library = os.fsencode(folder / "null_kernels.so")
    entry = _core.Entry(plan, 0, (("host", library),))
    program = _core.Program("p", plan.parameters, lambda *_: None, reject)
    program.add(entry, ())
    allocator = BACKENDS["gpu"].allocator
    fields = [ff.zeros({ff.Dimension("I"): 1}, allocator=allocator) for _ in range(15)]
    return "gpu: 15 fields, null platform", program, tuple(arguments(fields).values()), ()


def calls(folder: Path) -> Iterator[Call]:
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
    gpu.set_platform("null")
    yield _program_call(folder)
