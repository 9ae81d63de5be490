"""The hot paths of the GPU runtime, for bench/count.py.

They run on `bench/gpu/stub.cpp`, a driver that does nothing, so that what is counted is ours.
"""

from __future__ import annotations

import operator
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from call_programs import arguments, write_module

from fieldforge.runtime.process.device import DeviceType

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
    from fieldforge.workflows.backends.backend import BACKENDS

    # The plan is the same for every vendor; no compiler for a GPU is needed to make this one.
    backend = BACKENDS["gpu-host"].with_options(on_device=True)
    with ff.using(ff.Engine(Disk(folder / "store"))), gpu.use_platform("null"):
        for name, program in _programs(folder).items():
            plan = program.with_backend(backend).trace(until="bind")["bind"].artifact.plan
            plan = attrs.evolve(plan, platform="cuda", device=int(DeviceType.CUDA))
            (folder / f"{name}.plan.json").write_bytes(codec.encode(plan))


def _programs(folder: Path) -> dict[str, Any]:
    from gpu_latency import of_fifteen

    return {"one row": write_module(folder, "fieldforge", "None").fields_15, "planes": of_fifteen}


def _program_calls(folder: Path) -> Iterator[Call]:
    import fieldforge as ff
    from fieldforge.runtime import _core
    from fieldforge.runtime.calls.refusals import reject
    from fieldforge.stages.ir import codec
    from fieldforge.workflows.backends.backend import BACKENDS

    I, J = ff.Dimension("I"), ff.Dimension("J")
    for name, domain in (("one row", {I: 1}), ("planes", {I: 4, J: 4})):
        plan = codec.decode((folder / f"{name}.plan.json").read_bytes())
        program = _core.Program("p", plan.parameters, lambda *_: None, reject)
        program.add(_core.Entry(plan, 0, (("sm_90", b"\x7fELF"),)), ())
        fields = [ff.empty(domain, allocator=BACKENDS["gpu"].allocator) for _ in range(15)]
        given = (*fields[:14], 2.0, fields[14])
        values = tuple(arguments(fields).values()) if name == "one row" else given
        yield f"gpu: 15 fields, {name}", program, values, ()


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
    yield from _program_calls(folder)
