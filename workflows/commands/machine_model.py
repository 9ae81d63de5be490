"""Measure the thresholds of calls, and costs, for this machine: `fieldforge doctor --machine`.

Variants of one program take turns, so that other load affects all of them. The median of the ratios
counts for each size; a size whose ratios scatter too much does not count.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from rich.console import Console
from rich.progress import Progress

from ...runtime import _core
from ...runtime.calls.machine import machine_file, processor, write_machine
from ...runtime.process import classes
from ..tuning.refit import COSTS
from .predictions.costs import measured_costs
from .printed import print_table

KIB: Final = 1 << 10
MIB: Final = 1 << 20
SIZES: Final = tuple(n * MIB for n in (1, 2, 4, 8, 12, 16, 24, 32, 48, 64))
POINTS: Final = tuple(1 << n for n in range(10, 19))
LEVELS: Final = (
    ("first", 16 * KIB), ("second", 512 * KIB), ("third", 6 * MIB), ("memory", 256 * MIB),
)  # fmt: skip
ROW: Final = 504  # points; no power of two, whose rows would share the sets of a cache
ROUNDS: Final = 15
VALUE: Final = 1e-3  # seconds of one value
NOISY: Final = 1.6  # quartiles of the ratios further apart: other programs use the machine
GAIN: Final = 0.95  # two threads must take at most this share of the time of one
Call = Callable[[], object]


@classes.frozen
class Ratio:
    """The ratio of the times of two variants at one size; `spread` is between quartiles."""

    size: int
    median: float
    spread: float

    @property
    def is_noisy(self) -> bool:
        """Whether the ratios of the rounds scatter too much."""
        return self.spread > NOISY


def measure_and_keep() -> None:
    """Measure this node, show it, and write the file that calls read."""
    console = Console()
    write_machine(machine_file(), document := measured(console))
    print_table(
        ("size", "non-temporal / ordinary", ""),
        ((_bytes(each["size"]), *_noted(each)) for each in document["stores"]),
        f"Stores: {document['processor']}",
    )
    print_table(
        ("points", "two threads / one", ""),
        ((f"{each['size']:,}", *_noted(each)) for each in document["threads"]),
        "Threads",
    )
    print_table(
        ("level", "GB/s, one thread", "GB/s, all"),
        ((name, *(f"{rate / 1e9:.1f}" for rate in rates))
         for name, rates in document["copies"].items()),
        "Copies",
    )  # fmt: skip
    costs = ", ".join(f"{name} {cost:.3g}" for name, cost in document[COSTS].items())
    console.print(f"Costs for predictions: {costs}")
    for name, unit in (("stream_from", "bytes"), ("parallel_from", "points")):
        found = document.get(name)
        told = "not found: the default stays" if found is None else f"{found:,} {unit}"
        console.print(f"{name}: {told}")
    console.print(f"Kept in {machine_file()}.")


def _noted(found: dict[str, Any]) -> tuple[str, str]:
    return f"{found['ratio']:.2f}", "noisy" * found["noisy"]


def measured(console: Console) -> dict[str, Any]:
    """Return the document of this node."""
    every = _core.default_threads()
    with Progress(console=console, transient=True) as progress:
        steps = len(SIZES) + len(POINTS) + 2 * len(LEVELS)
        bar = progress.add_task("measure", total=steps)
        note = lambda: progress.advance(bar)  # noqa: E731
        stores = list(_stores(note))
        threads = list(_threads(note)) if every > 1 else []
        copies = {name: _rates(size, every, note) for name, size in LEVELS}
    document: dict[str, Any] = {
        "processor": processor(),
        "threads_at_most": every,
        "stores": [_row(each) for each in stores],
        "threads": [_row(each) for each in threads],
        "copies": copies,
        "bandwidth": int(max(copies["memory"])),
        COSTS: measured_costs(copies, _named, _planes, _seconds),
    }
    found = {"stream_from": first_gain(stores, 1.0), "parallel_from": first_gain(threads, GAIN)}
    return document | {name: size for name, size in found.items() if size is not None}


def first_gain(ratios: Sequence[Ratio], limit: float) -> int | None:
    """Return the smallest size from which on all ratios are at most `limit`; None if none is.

    >>> rows = [Ratio(1, 1.3, 1.1), Ratio(2, 0.7, 3.0), Ratio(4, 0.8, 1.1), Ratio(8, 0.6, 1.0)]
    >>> first_gain(rows, 1.0)
    4
    """
    first = None
    for each in reversed([ratio for ratio in ratios if not ratio.is_noisy]):
        if each.median > limit:
            break
        first = each.size
    return first


# --- timings ------------------------------------------------------------------------------------


def _stores(note: Callable[[], None]) -> Iterator[Ratio]:
    """Compare non-temporal stores with ordinary ones, on all threads."""
    past, here = _program(stream_from=1), _program(stream_from=1 << 60)
    for size in SIZES:
        fields = _fields(size // 16)
        yield _ratio(size, lambda: past(*fields), lambda: here(*fields))  # noqa: B023
        note()


def _threads(note: Callable[[], None]) -> Iterator[Ratio]:
    program = _program(stream_from=1 << 60)
    one, two = program.with_threads(1), program.with_threads(2)
    for points in POINTS:
        fields = _fields(points)
        yield _ratio(points, lambda: two(*fields), lambda: one(*fields))  # noqa: B023
        note()


def _rates(size: int, every: int, note: Callable[[], None]) -> tuple[float, float]:
    """Return the bytes a second that one thread and all threads read and write."""
    program, fields = _program(), _fields(size // 16)
    rates = []
    for count in (1, every):
        limited = program.with_threads(count)
        rates.append(size / min(_seconds(lambda: limited(*fields)) for _ in range(ROUNDS)))  # noqa: B023
        note()
    return rates[0], rates[1]


def _ratio(size: int, new: Call, old: Call) -> Ratio:
    ratios = sorted(_seconds(new) / _seconds(old) for _ in range(ROUNDS))
    quarter = ROUNDS // 4
    return Ratio(size, statistics.median(ratios), ratios[-1 - quarter] / ratios[quarter])


def _seconds(call: Call) -> float:
    """Time a call, by the least of a few where it is short."""
    call()
    end, least = time.perf_counter() + VALUE, float("inf")
    while True:
        begin = time.perf_counter()
        call()
        now = time.perf_counter()
        least = min(least, now - begin)
        if now >= end:
            return least


def _program(**options: int) -> Any:
    """Return a program that reads each row and its neighbours and writes one."""
    return _named("differ", **options)


def _named(name: str, **options: int) -> Any:
    from . import machine_program

    return getattr(machine_program, name).with_backend(_backend(**options))


def _backend(**options: int) -> Any:
    from ..backends.recipes import cpu

    return cpu(parallel_from=1, tiers="compiled", **options)


def _fields(points: int) -> tuple[Any, Any]:
    return _planes(max(2, points // ROW), ROW)


def _planes(rows: int, points: int) -> tuple[Any, Any]:
    """Return a plane and another for the result; in memory of ours, rows may bypass the caches."""
    from ...runtime.fields.constructors import ones, zeros
    from .machine_program import COLUMNS, ROWS

    return ones({ROWS: rows + 1, COLUMNS: points}), zeros({ROWS: rows, COLUMNS: points})


def _row(ratio: Ratio) -> dict[str, Any]:
    return {"size": ratio.size, "ratio": ratio.median, "noisy": ratio.is_noisy}


def _bytes(size: int) -> str:
    return f"{size // MIB} MiB" if size >= MIB else f"{size // KIB} KiB"
