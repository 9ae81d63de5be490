"""One untuned program on a CPU or GPU: made, run once, and its variants as calls to be timed."""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import untuned_by_hand
from cases import untuned
from peer.undisturbed import undisturbed
from untuned_memory import Device, Host, Simulated
from untuned_table import BY_HAND, OURS, SPLIT

import fieldforge as ff

NEAR = {"float64": 1e-9, "float32": 1e-3}  # of the largest number: sums in another order
SWITCHED = 1e-5  # of all points may be far off, where a rounded comparison falls the other way
UNTOUCHED = 7.0  # what outputs hold before a call
PAUSE = 0.005  # lets the threads of the variant before fall asleep

TimeCalls = Callable[[int], float]  # seconds that so many calls took


@attrs.frozen
class Place:
    """Where programs run: the backend, the memory, and what times calls there."""

    name: str
    backend: Any
    memory: Any
    hand: Callable[..., Mapping[str, Callable[[], None]]]
    timed: Callable[[Callable[[], object]], TimeCalls]
    device: str = ""  # the name of a GPU


def place(name: str) -> Place:
    """Return the host, or the GPU that this process sees, if only a simulated one."""
    if name == "cpu":
        return Place("cpu", ff.cpu, Host(), untuned_by_hand.on_cpu, _timed_on_host)
    from fieldforge.runtime import gpu
    from fieldforge.workflows.backends.backend import BACKENDS

    backend, memory, timed = BACKENDS["gpu"], Device(), _timed_on_device
    if gpu.platform() == "null":
        backend = BACKENDS["gpu-host"].with_options(on_device=True)
        memory, timed = Simulated(), _timed_on_host
    return Place("gpu", backend, memory, untuned_by_hand.on_gpu, timed, gpu.Device(0).name)


def _timed_on_host(call: Callable[[], object]) -> TimeCalls:
    def time_calls(loops: int) -> float:
        time.sleep(PAUSE)
        with undisturbed():
            call()
            begin = time.perf_counter()
            for _ in range(loops):
                call()
            return time.perf_counter() - begin

    return time_calls


def _timed_on_device(call: Callable[[], object]) -> TimeCalls:
    from fieldforge.runtime import gpu

    def time_calls(loops: int) -> float:
        first, last = gpu.Event(timing=True), gpu.Event(timing=True)
        call()
        first.record()
        for _ in range(loops):
            call()
        last.record()
        last.sync()
        return float(last - first) * 1e-3

    return time_calls


@contextlib.contextmanager
def stream(on: Place) -> Iterator[None]:
    """Let our calls and CuPy's work in one stream, where there is CuPy."""
    from fieldforge.runtime import gpu

    if on.name == "cpu" or isinstance(on.memory, Simulated):
        yield
        return
    import cupy

    with gpu.Stream() as ours, cupy.cuda.ExternalStream(ours.ptr):
        yield


@contextlib.contextmanager
def own_store() -> Iterator[None]:
    """Build into an empty store: two checkouts may have equal keys for unequal texts."""
    from fieldforge.cache.disk import Disk

    with tempfile.TemporaryDirectory() as scratch, ff.using(ff.Engine(Disk(Path(scratch)))):
        yield


# --- one program ----------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Built:
    """A program that has run once: its call, and its outputs then."""

    of: untuned.Described
    call: Callable[[], object]
    found: Mapping[str, Any]

    @property
    def digest(self) -> dict[str, int]:
        """A sum of the words of each output, equal where all bits are."""
        unsigned = {"float64": np.uint64, "float32": np.uint32}[self.of.dtype]
        return {
            name: int(array.view(unsigned).sum(dtype=np.uint64))
            for name, array in self.found.items()
        }


def build(name: str, dtype: str, on: Place, scale: float) -> Built:
    """Make a program's arguments and run it once."""
    of = untuned.described(name, dtype, untuned.space(name, on.name, scale), on.memory)
    program = of.program.with_backend(on.backend)
    call = partial(program, **of.arguments, offset_provider=of.tables)
    return Built(of, call, outputs(of, on, call))


def split(of: untuned.Described, on: Place) -> Callable[[], object]:
    """Return a call of the programs that compute the same one after the other."""
    known = {**of.arguments, **of.handed_on}
    calls = [
        partial(
            part.with_backend(on.backend),
            **{name: known[name] for name in untuned.wanted(part)},
            offset_provider=of.tables,
        )
        for part in of.split
    ]
    return lambda: [call() for call in calls]


def outputs(of: untuned.Described, on: Place, call: Callable[[], object]) -> dict[str, Any]:
    """Return copies of what a call writes."""
    views = {name: on.memory.view(of.arguments[name]) for name in of.outputs}
    for view in views.values():
        view[...] = UNTOUCHED
    call()
    return {name: on.memory.copied(view) for name, view in views.items()}


def far(built: Built, found: Mapping[str, Any]) -> float:
    """Return the largest share of points of an output that is not near ours, where NaN is far."""
    shares = []
    for name, ours in built.found.items():
        near = abs(found[name] - ours) <= NEAR[built.of.dtype] * float(abs(ours).max())
        shares.append(1.0 - float(near.mean()))
    return max(shares)


def variants(built: Built, on: Place) -> tuple[dict[str, TimeCalls], dict[str, str]]:
    """Return what times ours and the kernels by hand that agree, and why others are left out."""
    calls, refused = {OURS: on.timed(built.call)}, {}
    found = {BY_HAND + name: call for name, call in on.hand(built.of, on.memory).items()}
    found |= {SPLIT: split(built.of, on)} if built.of.split else {}
    for name, call in found.items():
        share = far(built, outputs(built.of, on, call))
        if share <= SWITCHED:
            calls[name] = on.timed(call)
        else:
            refused[name] = f"{share:.2g} of points differ"
    outputs(built.of, on, built.call)
    return calls, refused


def moved(of: untuned.Described) -> int:
    """Return the bytes of all fields and tables."""
    fields = sum(
        int(np.prod(each.shape)) * np.dtype(of.dtype).itemsize for each in of.fields.values()
    )
    return fields + sum(table.nbytes for table in of.space.tables.values())
