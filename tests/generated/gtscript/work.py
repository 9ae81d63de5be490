"""Run batches of drawn stencils, each in a process of its own, and make disagreements small."""

from __future__ import annotations

import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Protocol, TextIO

from ...stages.gtscript.cases import Case
from ..isolation import in_child
from .drawing import draw
from .running import Outcome, check
from .shrinking import shrink

BATCH: Final = 64
MOST_OF_A_SORT: Final = 2


class Options(Protocol):
    """What is run."""

    count: int
    seed: int
    shrinking: float
    backend: str
    only: tuple[int, int] | None
    oracle: str | None

    def level(self, batch: int) -> str:
        """Return how a batch is optimised."""


def work(options: Options, take: Callable[[], int]) -> Iterator[dict[str, Any]]:
    """Run the batches that this worker takes; yield what happened in each."""
    shrunk: Counter[str] = Counter()
    if options.only:
        batch, place = options.only
        yield from _batch(options, batch, [_drawn(options, batch, place)], shrunk, place)
        return
    while (batch := take()) * BATCH < options.count:
        size = min(BATCH, options.count - batch * BATCH)
        cases = [_drawn(options, batch, place) for place in range(size)]
        yield from _batch(options, batch, cases, shrunk)


def check_apart(cases: Sequence[Case], options: Options, level: str) -> list[Outcome]:
    """Run `check` in a child; a crash is a disagreement too, of the case that was running."""
    backends = tuple(dict.fromkeys(("rows", options.backend)))

    def report(pipe: TextIO) -> None:
        warnings.simplefilter("ignore")
        for number, outcome in enumerate(check(cases, options.oracle, backends, level)):
            print(json.dumps([number, outcome.sort, outcome.what]), file=pipe, flush=True)

    rows, ending = in_child(report)
    if not ending:
        return [Outcome(cases[number], sort, what) for number, sort, what in rows]
    if len(cases) == 1:
        return [Outcome(cases[0], "crash", ending)]
    return [each for case in cases for each in check_apart([case], options, level)]


def _drawn(options: Options, batch: int, place: int) -> Case:
    return draw(f"{options.seed}/{batch}/{place}")


def _batch(
    options: Options, batch: int, cases: Sequence[Case], shrunk: Counter[str], first: int = 0
) -> Iterator[dict[str, Any]]:
    began, level = time.monotonic(), options.level(batch)
    outcomes = check_apart(cases, options, level)
    found = [(place, each) for place, each in enumerate(outcomes, first) if each.is_disagreement]
    yield {"count": len(cases), "seconds": time.monotonic() - began, "found": len(found)}
    for place, each in found:
        yield {"seen": f"--seed {options.seed} --only {batch}/{place}: {each.sort}"}
    for place, each in found:
        shrunk[each.sort] += 1
        small = each
        if shrunk[each.sort] <= MOST_OF_A_SORT and options.shrinking:
            small = _small(each, options, level)
        name = f"stencil_seed_{options.seed}_batch_{batch}_place_{place}"
        source = f"# {small.sort}: {small.what}\n{small.case['text']}"
        yield {"sort": small.sort, "source": source, "name": name}


def _small(found: Outcome, options: Options, level: str) -> Outcome:
    def fails(cases: Sequence[Case]) -> list[Case]:
        outcomes = check_apart(cases, options, level)
        return [each.case for each in outcomes if each.sort == found.sort]

    case = shrink(found.case, fails, options.shrinking)
    return check_apart([case], options, level)[0]
