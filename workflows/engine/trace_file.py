"""Write a Chrome trace of builds, which Perfetto and the Chrome browser show."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from ...runtime.process import classes
from .engine import engine, using
from .events import Collector, Event, Failed, Finished, Hit, Warned

MICRO: Final = 1e6


def trace_events(events: Iterable[Event]) -> list[dict[str, Any]]:
    """Return events in Chrome's format: stages as bars by process and thread, warnings as marks.

    >>> done = Finished("p", "lower", "3fa9", 0.25, at=2.0, place=(7, 8))
    >>> [(bar["name"], bar["ts"], bar["dur"], bar["pid"]) for bar in trace_events([done])]
    [('lower p', 1750000.0, 250000.0, 7)]
    """
    return [_row(event) for event in events if isinstance(event, Finished | Hit | Failed | Warned)]


def write_trace(path: str | os.PathLike[str], events: Iterable[Event]) -> None:
    """Write a trace to a file atomically."""
    rows = trace_events(events)
    named = [
        {"ph": "M", "name": "process_name", "pid": pid, "tid": 0,
         "args": {"name": "caller" if pid == os.getpid() else "worker"}}
        for pid in dict.fromkeys(row["pid"] for row in rows)
    ]  # fmt: skip
    beside = f"{os.fspath(path)}.{os.getpid()}.part"
    with open(beside, "w") as stream:
        json.dump({"traceEvents": named + rows, "displayTimeUnit": "ms"}, stream)
    os.replace(beside, path)


@contextmanager
def tracing(path: str | os.PathLike[str]) -> Iterator[Collector]:
    """Trace all builds inside the block, including those of worker processes.

    with tracing("trace.json"):
        precompile([diffusion, advection])
    """
    seen = Collector()
    used = engine()
    try:
        with using(classes.evolve(used, observers=[*used.observers, seen])):
            yield seen
    finally:
        write_trace(path, seen.events)


def _row(event: Finished | Hit | Failed | Warned) -> dict[str, Any]:
    process, thread = event.place
    row: dict[str, Any] = {
        "name": f"{event.stage} {event.program}",
        "cat": event.stage,
        "pid": process,
        "tid": thread,
    }
    if isinstance(event, Warned):
        return {**row, "ph": "i", "s": "t", "ts": event.at * MICRO, "args": {"why": event.message}}
    outcome = {Finished: "ran", Failed: "failed"}.get(type(event)) or getattr(event, "outcome", "")
    return {
        **row,
        "ph": "X",
        "ts": (event.at - event.seconds) * MICRO,
        "dur": event.seconds * MICRO,
        "args": {"key": event.key[:16], "outcome": outcome, "program": event.program},
    }
