"""Times of calls on a GPU, taken the same way for the peer and for us. Needs CuPy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

SPIN = """
extern "C" __global__ void spin(long long ticks) {
  const long long begin = clock64();
  while (clock64() - begin < ticks) {}
}
"""
TICKS = 40_000_000  # about 20 ms: calls that return earlier are queued behind it


def measure(call: Callable[[], object], times: int, stream: Any = None) -> dict[str, float]:
    """Return the seconds on the device and on the host of one of `times` calls, the least of five.

    The device is kept busy while the calls are queued, so that its time has nothing of the host's
    in it, unless a call waits.
    """
    import cupy

    spin = cupy.RawKernel(SPIN, "spin")
    with stream or cupy.cuda.Stream.null:
        call()
        cupy.cuda.runtime.deviceSynchronize()
        found = [_once(call, times, lambda: spin((1,), (1,), (TICKS,))) for _ in range(5)]
    return {"device": min(one for one, _ in found), "host": min(other for _, other in found)}


def _once(
    call: Callable[[], object], times: int, hold: Callable[[], object]
) -> tuple[float, float]:
    import cupy

    first, last = cupy.cuda.Event(), cupy.cuda.Event()
    hold()
    first.record()
    began = time.perf_counter()
    for _ in range(times):
        call()
    returned = time.perf_counter() - began
    last.record()
    last.synchronize()
    return 1e-3 * cupy.cuda.get_elapsed_time(first, last) / times, returned / times
