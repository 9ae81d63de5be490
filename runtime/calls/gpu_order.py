"""Find programs that use a field without an order behind its last use on another stream.

`FIELDFORGE_GPU_DEBUG=order` turns it on. Every program then notes which bytes it read and wrote, on
which stream, and from which line of the caller. Clocks of streams say what is ordered: events,
`wait`, `sync` of this package count, as do waits of the host. What other libraries do to the memory
or the order of streams is not seen. A missing order is a `GpuOrderWarning` at the later call.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final, TypeAlias

import numpy as np

from ..gpu import native
from ..gpu.errors import GpuOrderWarning
from ..process import classes
from .plan import Plan
from .refused_arguments import value_of

Clock: TypeAlias = dict[int, int]  # of each stream, how much of its work came before
_PACKAGE: Final = __name__.partition(".")[0]
_MOST_USES: Final = 100_000


@classes.frozen
class Use:
    """One use of some bytes by one call of a program."""

    low: int
    high: int
    writes: bool
    stream: int
    tick: int
    program: str
    field: str
    site: str

    def meets(self, low: int, high: int) -> bool:
        """Tell whether the bytes overlap."""
        return self.low < high and low < self.high

    def __str__(self) -> str:
        did = "wrote" if self.writes else "read"
        return f"'{self.program}' {did} '{self.field}' on stream {self.stream:#x} at {self.site}"


@classes.define
class _Watch:
    """Clocks of streams and events, and the uses of memory that later ones may depend on."""

    ticks: Clock = classes.field(factory=dict)
    streams: dict[int, Clock] = classes.field(factory=dict)
    events: dict[int, Clock] = classes.field(factory=dict)
    host: Clock = classes.field(factory=dict)
    uses: list[Use] = classes.field(factory=list)

    def follow(self, entry: str, first: int, second: int) -> None:
        """Take one entry of the driver into account."""
        match entry:
            case "event_record":
                self.events[first] = self._now(second)
            case "stream_wait":
                _merge(self.streams.setdefault(first, {}), self.events.get(second, {}))
            case "event_sync":
                _merge(self.host, self.events.get(first, {}))
            case "stream_sync":
                _merge(self.host, self._now(first))
            case "context_sync":
                for stream in self.ticks:
                    _merge(self.host, self._now(stream))
            case "alloc":  # the memory has no past
                self.uses = [use for use in self.uses if not use.meets(first, first + second)]

    def _now(self, stream: int) -> Clock:
        return {**self.streams.get(stream, {}), stream: self.ticks.get(stream, 0)}

    def call(self, stream: int, fields: Sequence[tuple[str, int, int, bool]], plan: Plan,
             site: str) -> list[tuple[Use, Use]]:  # fmt: skip
        """Note a call; return the pairs of earlier and later uses that nothing orders."""
        clock = self.streams.setdefault(stream, {})
        _merge(clock, self.host)
        self.ticks[stream] = tick = self.ticks.get(stream, 0) + 1
        found = []
        new = [
            Use(low, high, writes, stream, tick, plan.program, name, site)
            for name, low, high, writes in fields
        ]
        for use in new:
            for earlier in self.uses:
                if not (earlier.writes or use.writes) or earlier.stream == stream:
                    continue
                if earlier.meets(use.low, use.high) and clock.get(earlier.stream, 0) < earlier.tick:
                    found.append((earlier, use))
        for use in new:
            if use.writes:  # who is ordered behind it is ordered behind what it covers
                self.uses = [
                    each
                    for each in self.uses
                    if not (use.low <= each.low and each.high <= use.high)
                ]
        self.uses = [*self.uses, *new][-_MOST_USES:]
        return found


_watch: Final = _Watch()
_lock: Final = threading.RLock()


def forget() -> None:
    """Begin anew: nothing was used so far."""
    with _lock:
        native.take_edges()
        for kept in (_watch.ticks, _watch.streams, _watch.events, _watch.host):
            kept.clear()
        _watch.uses.clear()


@contextmanager
def watched(
    plan: Plan, args: Sequence[Any], kwargs: Mapping[str, Any], provider: Mapping[str, Any] | None
) -> Iterator[None]:
    """Make a call, one at a time in the process, and warn of what it uses without an order."""
    with _lock:
        for entry, first, second, _ in native.take_edges():
            _watch.follow(entry, first, second)
        yield
        stream = None
        me = threading.get_ident()
        for entry, first, second, thread in native.take_edges():
            if entry != "launch":
                _watch.follow(entry, first, second)
            elif thread == me:
                stream = first
        if stream is None:  # nothing was queued
            return
        file, line = _site()
        fields = list(_fields(plan, args, kwargs, provider or {}))
        pairs = _watch.call(stream, fields, plan, f"{file}:{line}")
    for earlier, later in pairs[:1]:
        text = (
            f"{later}, but {earlier}, and nothing orders the two: let the stream wait for the "
            "other, or for an event of it."
        )
        warnings.warn_explicit(text, GpuOrderWarning, file, line)


def _fields(
    plan: Plan, args: Sequence[Any], kwargs: Mapping[str, Any], provider: Mapping[str, Any]
) -> Iterator[tuple[str, int, int, bool]]:
    """Yield name, bytes and whether it is written, of each field and table."""
    given = {**dict(zip(plan.parameters, args, strict=False)), **kwargs}
    ordered = (*(given[name] for name in plan.parameters), provider)
    for index, argument in enumerate(plan.arguments):
        if argument.kind == "scalar":
            continue
        field = value_of(plan, ordered, index)
        low = high = field.pointer
        for count, stride in zip(field.shape, field.strides, strict=True):
            low += min(0, (count - 1) * stride)
            high += max(0, (count - 1) * stride)
        if all(field.shape):
            item = np.dtype(argument.dtype).itemsize
            yield argument.name, low, high + item, argument.written


def _site() -> tuple[str, int]:
    """Return file and line of the caller of the program."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _is_ours(module: str) -> bool:
    root, _, rest = module.partition(".")
    return module == "contextlib" or (root == _PACKAGE and not rest.startswith("examples"))


def _merge(into: Clock, other: Clock) -> None:
    for stream, tick in other.items():
        if into.get(stream, 0) < tick:
            into[stream] = tick
