"""Measure calls of a program, and a copy of as many bytes beside it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, Final

from ...runtime.calls.machine import processor
from ...runtime.fields.constructors import as_field
from ...runtime.fields.device import DeviceType
from ...runtime.process.errors import ArgumentError
from ...stages.interpret.work import work_of
from ..backends.backend import Backend
from ..engine.inspection import Trace
from ..entries.entry_point import EntryPoint
from ..reports.view import MeasuredView
from ..tuning.bench import undisturbed
from ..tuning.subject import Subject, make_subject

ROUNDS: Final = 15
SAMPLE: Final = 2e-3  # seconds of calls behind one number
MOST_CALLS: Final = 1000
ROW: Final = 504  # points; no power of two, whose rows would share the sets of a cache
FEWEST: Final = 2 * ROW  # points of a copy
LOWER: Final = "lower"


def measure(entry: EntryPoint, arguments: Mapping[str, Any], trace: Trace) -> MeasuredView:
    """Time calls with these arguments; fields that they write have their values back afterwards.

    Args:
        entry: a program or operator with a backend.
        arguments: the arguments of a call by name, 'offset_provider' too.
        trace: the build of the variant for these arguments.

    Raises:
        ArgumentError: if the program has no backend, or its workflow no dataflow to count in.

    """
    if entry.backend is None or LOWER not in trace:
        raise ArgumentError(
            f"'{entry.__name__}' cannot be measured: its workflow has no stage '{LOWER}'.",
            hint="Measure a program with a backend, such as 'cpu'.",
        )
    subject = make_subject(entry, arguments)
    work = work_of(trace[LOWER].artifact, subject.arguments, subject.provider)
    seconds, spread = timed(subject.call(entry.backend), _waiting(subject))
    subject.restore()
    return MeasuredView(
        seconds=seconds,
        spread=spread,
        read=work.read,
        written=work.written,
        operations=work.operations,
        copy_rate=copy_rate(entry.backend, work.read + work.written),
        machine=f"{processor()}, backend '{entry.backend.name}'",
        shapes=subject.shapes,
    )


def timed(call: Callable[[], object], wait: Callable[[], object]) -> tuple[float, float]:
    """Return the median of the seconds of a call, and the ratio of the quartiles."""
    call()
    wait()
    with undisturbed():
        once = _seconds(call, wait, 1)
        count = max(1, min(MOST_CALLS, int(SAMPLE / max(once, 1e-7))))
        rounds = [_seconds(call, wait, count) for _ in range(ROUNDS)]
    lower, median, upper = statistics.quantiles(rounds, n=4)
    return median, upper / lower


def copy_rate(backend: Backend, size: int) -> float:
    """Return the bytes a second that a copy reads and writes which moves `size` bytes."""
    from ..backends.languages import for_programs
    from .copying import COLUMNS, ROWS, copy

    backend = for_programs(backend)
    rows = max(size // (16 * ROW), FEWEST // ROW)
    fields = {
        name: as_field({ROWS: rows, COLUMNS: ROW}, _zeros(rows), allocator=backend.allocator)
        for name in ("u", "out")
    }
    subject = make_subject(copy.with_backend(backend), fields)
    seconds, _ = timed(subject.call(backend), _waiting(subject))
    return 16 * rows * ROW / seconds


def _waiting(subject: Subject) -> Callable[[], object]:
    """Return what waits for the device of the outputs; `int`, which does nothing, on the host."""
    kinds = {field.device_type for _, field in subject.outputs()}
    return int if kinds <= {DeviceType.CPU} else subject.synchronise


def _zeros(rows: int) -> Any:
    import numpy as np

    return np.zeros((rows, ROW))


def _seconds(call: Callable[[], object], wait: Callable[[], object], count: int) -> float:
    begin = perf_counter()
    for _ in range(count):
        call()
    wait()
    return (perf_counter() - begin) / count
