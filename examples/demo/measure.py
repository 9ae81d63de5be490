"""Measure the demo: builds, calls, bandwidth, and the distance to the embedded run."""

from __future__ import annotations

import statistics
import time
import timeit
import warnings
from collections.abc import Callable
from typing import Any

import attrs
import numpy as np

import fieldforge as ff

from ..terrain import STRENGTH, Heights, Region
from .elevation import Elevation

COMPARED_STEPS = 20
ROUNDS = 11
BYTES_PER_CELL = 8 + 8 + 1 + 1  # height read and written, two masks read


@ff.field_operator
def copied(h: Heights) -> Heights:
    """Move a field through memory: the bandwidth that the smoothing is held against."""
    return h


@attrs.frozen
class Speed:
    """One step on the real data.

    Attributes:
        step: seconds of a step.
        call: seconds of a call whose domain is empty.
        bandwidth: bytes a second that a step must move at least.
        copy: bytes a second of a copy of the same field, read plus written.
    """

    step: float
    call: float
    bandwidth: float
    copy: float


@attrs.frozen
class Comparison:
    """The same steps embedded: how much slower, and the largest difference in metres."""

    speed_up: float
    difference: float


def measure_speed(elevation: Elevation, backend: Any) -> Speed:
    """Time steps, empty calls and copies, best of several so that noise does not count."""
    region = Region(elevation.heights, elevation.spacing, backend)
    copy = copied.with_backend(backend)
    source, target = region.now, region.new
    cells = region.ni * region.nj

    def call_on_nothing() -> None:
        region.program(
            h=region.now,
            open_i=region.open_i,
            open_j=region.open_j,
            smoothed=region.new,
            strength=STRENGTH,
            ni=0,
            nj=0,
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # advice to choose a backend
        step = _best(region.step, region.wait)
        copying = _best(lambda: copy(source, out=target), region.wait)
        return Speed(
            step=step,
            call=_best(call_on_nothing),
            bandwidth=cells * BYTES_PER_CELL / step,
            copy=2 * source.asnumpy().nbytes / copying,
        )


def compare_with_embedded(elevation: Elevation, backend: Any) -> Comparison:
    """Take the same steps with and without a backend, from the same heights."""
    ours, embedded = (
        Region(elevation.heights, elevation.spacing, each) for each in (backend, None)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # advice to choose a backend
        ours.step()
        ff.wait_for_compilation()
        slow = timeit.timeit(embedded.step, number=COMPARED_STEPS) / COMPARED_STEPS
        ours.wait()
        began = time.perf_counter()
        for _ in range(COMPARED_STEPS - 1):
            ours.step()
        ours.wait()
        fast = (time.perf_counter() - began) / (COMPARED_STEPS - 1)
    difference = np.abs(ours.heights - embedded.heights).max()
    return Comparison(speed_up=slow / fast, difference=float(difference))


def _best(work: Callable[[], object], wait: Callable[[], object] = int) -> float:
    """Seconds of one run: the median of the fastest half of some rounds of ten.

    On a GPU calls return before their work is done; `wait` ends each round.
    """
    work()
    wait()
    ff.wait_for_compilation()

    def ten_times() -> None:
        for _ in range(10):
            work()
        wait()

    seconds = sorted(timeit.repeat(ten_times, number=1, repeat=ROUNDS))
    return statistics.median(seconds[: ROUNDS // 2 + 1]) / 10
