"""What a call costs: programs that write one point, against a plain Python function."""

from __future__ import annotations

import statistics
import timeit
from collections.abc import Callable
from typing import Any

from rich.console import Console

import fieldforge as ff

ROUNDS = 15
CALLS = 20_000

I = ff.Dimension("I")
Line = ff.Field[ff.Dims[I], ff.float64]


@ff.field_operator
def first(a: Line) -> Line:
    """Copy."""
    return a


@ff.program(backend=ff.cpu)
def three_fields(a: Line, b: Line, out: Line):
    """Take three fields."""
    first(a, out=out)


@ff.program(backend=ff.cpu)
def fifteen_fields(
    f0: Line, f1: Line, f2: Line, f3: Line, f4: Line, f5: Line, f6: Line, f7: Line,
    f8: Line, f9: Line, f10: Line, f11: Line, f12: Line, f13: Line, out: Line,
    x: ff.float64, start: ff.int32, stop: ff.int32,
):  # fmt: skip
    """Take as much as a stencil of a dynamical core does."""
    first(f0, out=out, domain={I: (start, stop)})


def plain(
    f0: Any, f1: Any, f2: Any, f3: Any, f4: Any, f5: Any, f6: Any, f7: Any,
    f8: Any, f9: Any, f10: Any, f11: Any, f12: Any, f13: Any, out: Any,
    x: float, start: int, stop: int,
) -> None:  # fmt: skip
    """Do nothing: the cost of a call in Python itself."""


def measure(console: Console) -> list[dict[str, Any]]:
    """Time calls in turn; `times plain` is the cost over that of the empty Python function."""
    fields = [ff.zeros({I: 1}) for _ in range(15)]
    keywords: dict[str, Any] = {f"f{n}": field for n, field in enumerate(fields[:14])}
    keywords |= {"out": fields[14], "x": 1.0, "start": 0, "stop": 1}
    values = list(keywords.values())
    variants: dict[str, Callable[[], object]] = {
        "a plain function of 18 keywords": lambda: plain(**keywords),
        "3 fields": lambda: three_fields(*fields[:3]),
        "15 fields, 3 scalars": lambda: fifteen_fields(*values),
        "15 fields, 3 scalars, all by keyword": lambda: fifteen_fields(**keywords),
    }
    times: dict[str, list[float]] = {name: [] for name in variants}
    with console.status("calling"):
        for call in variants.values():
            call()
        for _ in range(ROUNDS):
            for name, call in variants.items():
                times[name].append(timeit.timeit(call, number=CALLS) / CALLS)
    base = statistics.median(times["a plain function of 18 keywords"])
    return [
        {
            "call": name,
            "median us": 1e6 * statistics.median(seconds),
            "least us": 1e6 * min(seconds),
            "times plain": statistics.median(seconds) / base,
        }
        for name, seconds in times.items()
    ]
