"""After how long calls of a program with 15 fields return, on a GPU."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import fieldforge as ff
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

I, J = ff.Dimension("I"), ff.Dimension("J")
Plane = ff.Field[ff.Dims[I, J], ff.float64]


@ff.field_operator
def summed(
    a: Plane, b: Plane, c: Plane, d: Plane, e: Plane, f: Plane, g: Plane, h: Plane, i: Plane,
    j: Plane, k: Plane, l: Plane, m: Plane, n: Plane, x: ff.float64,
) -> Plane:  # fmt: skip
    return x * (a + b + c + d + e + f + g + h + i + j + k + l + m + n)


@ff.program
def of_fifteen(
    a: Plane, b: Plane, c: Plane, d: Plane, e: Plane, f: Plane, g: Plane, h: Plane, i: Plane,
    j: Plane, k: Plane, l: Plane, m: Plane, n: Plane, x: ff.float64, out: Plane,
):  # fmt: skip
    summed(a, b, c, d, e, f, g, h, i, j, k, l, m, n, x, out=out)


def call_latency(backend: Any) -> float:
    """Return the microseconds after which a call with 15 fields returns."""
    fields = [ff.zeros({I: 64, J: 64}, allocator=BACKENDS["gpu"]) for _ in range(15)]
    program = of_fifteen.with_backend(backend)
    given = (*fields[:14], 2.0, fields[14])
    program(*given)
    found = []
    for _ in range(50):
        gpu.current_stream().sync()
        began = time.perf_counter()
        for _ in range(20):
            program(*given)
        found.append((time.perf_counter() - began) / 20)
    return 1e6 * min(found)


def step_latency(backend: Any, count: int = 100) -> Mapping[str, float]:
    """Return the microseconds after which a recorded step of `count` programs returns."""
    fields = [ff.zeros({I: 64, J: 64}, allocator=BACKENDS["gpu"]) for _ in range(15)]
    program = of_fifteen.with_backend(backend)

    def one_by_one() -> None:
        for place in range(count):
            at = place % 15
            program(*fields[:at], *fields[at + 1 :], 0.5, fields[at])

    one_by_one()
    with ff.record(first=fields[0]) as step:
        one_by_one()
    step(first=fields[0])

    def shortest(call: Any) -> float:
        found = []
        for _ in range(30):
            gpu.current_stream().sync()
            began = time.perf_counter()
            call()
            found.append(time.perf_counter() - began)
        return 1e6 * min(found)

    return {
        "replayed_us": shortest(lambda: step(first=fields[0])),
        "one_by_one_us": shortest(one_by_one),
    }
