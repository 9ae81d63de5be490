"""Times of several variants taken in turn, so that a busy moment of the machine hits all alike.

pyperf does the timing and the statistics. It is chosen over pytest-benchmark for its
`bench_time_func`: the timed function says itself how long it took, so a variant may run in another
process, as the peer's do, without its pipe being timed. pyperf would rather give each benchmark
processes of its own, one benchmark after the other; here every value is a run of its runner's
worker in this process, and the runs of a variant, one from each round, are put together into one
`pyperf.Benchmark`.
"""

from __future__ import annotations

import contextlib
import functools
import io
import itertools
import math
import os
import time
from collections.abc import Callable, Mapping

import attrs
import pyperf
from peer.gave_up import GaveUpError
from peer.undisturbed import undisturbed

# Before anything reads the settings: the calls that are timed run compiled code.
os.environ.setdefault("FIELDFORGE_TIERS", "compiled")

TimeCalls = Callable[[int], float]  # seconds that so many calls took
PAUSE = 0.005  # lets the threads of the variant before fall asleep: OpenMP's wait in a busy loop


@attrs.frozen
class Effort:
    """How long to measure: rounds, seconds of each value, seconds after which a variant rests.

    A variant that has used up its seconds takes no part in further rounds, but in three at least.
    """

    rounds: int = 15
    value: float = 0.03
    share: float = 1.5


def timed(call: Callable[[], object]) -> TimeCalls:
    """Time calls in this process, after one that is not timed."""

    def time_calls(loops: int) -> float:
        with undisturbed():
            call()
            begin = pyperf.perf_counter()
            for _ in range(loops):
                call()
            return pyperf.perf_counter() - begin

    return time_calls


def in_turns(
    variants: Mapping[str, TimeCalls], effort: Effort, say: Callable[[int, str], None]
) -> dict[str, pyperf.Benchmark]:
    """Measure each variant once in every round; `say` hears the round and the variant."""
    runs: dict[str, list[pyperf.Run]] = {name: [] for name in variants}
    used = dict.fromkeys(variants, 0.0)
    loops: dict[str, int] = {}
    for turn, (name, call) in itertools.product(range(effort.rounds), variants.items()):
        if name not in runs or (turn >= 3 and used[name] > effort.share):
            continue
        say(turn, name)
        begin = time.monotonic()
        try:
            if name not in loops:
                loops[name] = _loops(call(1), effort)
            runs[name].append(_one_value(name, call, loops[name]))
        except GaveUpError:
            del runs[name]
        used[name] += time.monotonic() - begin
    return {name: pyperf.Benchmark(found) for name, found in runs.items()}


def _loops(seconds: float, effort: Effort) -> int:
    return max(1, min(1000, math.ceil(effort.value / seconds)))


def _one_value(name: str, call: TimeCalls, loops: int) -> pyperf.Run:
    time.sleep(PAUSE)
    runner = _runner()
    runner.args.loops = loops
    with contextlib.redirect_stdout(io.StringIO()):  # a worker prints each of its values
        measured = runner.bench_time_func(f"{name} {next(_count)}", call)
    return pyperf.Run(
        measured.get_values(), metadata={"name": name, "loops": loops}, collect_metadata=False
    )


@functools.cache
def _runner() -> pyperf.Runner:
    """Return the one runner of the process, in the role of its own worker."""
    runner = pyperf.Runner()
    runner.parse_args(["--worker", "--loops=1", "--values=1", "--warmups=0"])
    return runner


_count = itertools.count()  # pyperf wants a name of its own for each value
