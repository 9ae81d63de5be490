"""The limits of the machine: bytes a second of a large copy, operations a second in registers."""

from __future__ import annotations

from typing import Any

import numpy as np
from native import bound, compiled, use_threads
from timing import Effort, in_turns, timed

COPIED = 32 * 1024 * 1024  # numbers, far beyond the caches
FMA_ROUNDS = 2_000_000
CHAINS, VECTOR_BYTES = 12, 64  # as in kernels/fma.cpp


def measure(threads: int) -> dict[str, Any]:
    """Return the two roofs for so many threads; the best of several values each."""
    use_threads(threads)
    source, target = np.ones(COPIED), np.zeros(COPIED)
    copy = bound(compiled("copy").copy, [source, target], (COPIED,))
    calls = {"copy": timed(copy)}
    for name, dtype in (("f64", np.float64), ("f32", np.float32)):
        sink = np.array([0.5, 1.0, 0.0], dtype)
        kernel = getattr(compiled("fma", "-ffp-contract=fast"), f"fma_{name}")
        calls[name] = timed(bound(kernel, [sink], (FMA_ROUNDS,)))
    found = in_turns(calls, Effort(rounds=7), lambda *_: None)
    least = {name: min(benchmark.get_values()) for name, benchmark in found.items()}
    operations = 2 * CHAINS * FMA_ROUNDS * VECTOR_BYTES * threads
    return {
        "bytes": 2 * source.nbytes / least["copy"],
        "operations": {
            "float64": operations / 8 / least["f64"],
            "float32": operations / 4 / least["f32"],
        },
    }
