"""Search for the best plan of a drawn program: trials, and which plans to try next."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import attrs

from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.plan.sizes import Sizes
from fieldforge.stages.sizes import Patches, ThreadBlock, ThreadPoints
from fieldforge.workflows.tuning.bench import SAMPLE, Candidate, RealBench
from fieldforge.workflows.tuning.candidates import Choice, changed
from fieldforge.workflows.tuning.refit import predicted

ROUNDS: Final = 21  # the least of many: others use the machine too
LAST_ROUNDS: Final = 21
FASTEST: Final = 4  # plans that are measured for longer
DECIDED: Final = re.compile(r"(%\d+) is (an array|computed in place)")

PASSES: Final[Mapping[str, tuple[str, ...]]] = {
    "cpu": ("tile", "march", "slide", "prefetch", "stream", "unswitch"),
    "gpu": ("fuse", "widen", "hand_on", "patch", "load_ahead", "share_in_patches"),
}
OPTIONS: Final[Mapping[str, Mapping[str, Sequence[Any]]]] = {
    "cpu": {
        "jam": (False,), "tile_size": (8, 32, 128), "stream_from": (1 << 20, 1 << 40),
        "patches": (False, Patches(elements=2048, least_bytes=1)),
    },
    "gpu": {
        "points": (ThreadPoints(x=1), ThreadPoints(x=2), ThreadPoints(x=1, y=2)),
        "block": (ThreadBlock(x=64), ThreadBlock(x=32, y=8), ThreadBlock(x=256)),
        "column_block": (ThreadBlock(x=32), ThreadBlock(x=128)),
        "patches": (False, Patches(elements=96), Patches(elements=192, blocks=3)),
        "ahead": (-1,), "shared": (False,), "unaligned": (True, False), "land": (-1,),
    },
}  # fmt: skip


@attrs.frozen
class Trial:
    """A plan: what it changes, the seconds of a call, what was predicted, how long the code is."""

    choice: Choice
    seconds: float
    predicted: float
    text: int


def decisions(loops: str, kind: str, passes: Sequence[str], now: Choice) -> Iterator[Choice]:
    """Yield the plans that differ from one in a decision, in an order that mixes all kinds."""
    chosen = dict(now)
    names: dict[str, list[Choice]] = {"values": [], "options": [], "passes": []}
    for name, what in dict.fromkeys(DECIDED.findall(loops)):
        option, other = ("inline", "arrays") if what == "an array" else ("arrays", "inline")
        rest = tuple(each for each in chosen.get(f"codegen.{other}", ()) if each != name)
        own = tuple(dict.fromkeys((*chosen.get(f"codegen.{option}", ()), name)))
        changes = [(f"codegen.{option}", own)] + [(f"codegen.{other}", rest)] * bool(rest)
        names["values"].append(tuple(changes))
    for option, values in OPTIONS[kind].items():
        names["options"] += [
            ((f"codegen.{option}", v),) for v in values if chosen.get(f"codegen.{option}") != v
        ]
    for name in PASSES[kind]:
        left = tuple(each for each in chosen.get("codegen.passes", passes) if each != name)
        names["passes"].append((("codegen.passes", left),))
    kinds = [iter(each) for each in names.values()]
    while kinds:
        for each in list(kinds):
            found = list(islice(each, 2))
            yield from found
            if len(found) < 2:
                kinds.remove(each)


@attrs.define
class ProcessorTime:
    """Seconds of a call for which its one thread had a processor: others disturb them less."""

    calls: int = 0

    def __call__(self, candidate: Candidate) -> float:
        """Measure some calls."""
        candidate.subject.restore()
        candidate.call()
        self.calls = self.calls or max(1, min(1000, int(SAMPLE / max(self.of(candidate, 1), 1e-7))))
        return self.of(candidate, self.calls)

    def of(self, candidate: Candidate, calls: int) -> float:
        """Return the seconds of one of so many calls."""
        begin = time.thread_time()
        for _ in range(calls):
            candidate.call()
        return (time.thread_time() - begin) / calls


@attrs.define
class Hunt:
    """A search for the best plan of one program."""

    bench: RealBench
    kind: str
    machine: Any
    sizes: Sizes
    most: int
    trials: dict[Choice, Trial] = attrs.field(factory=dict)
    codes: dict[str, Choice] = attrs.field(factory=dict)
    noise: float = 1.0  # between the times of the default in two series

    def run(self) -> tuple[Trial, Trial, float]:
        """Return the default, the best plan, and the ratio of the default's two times."""
        refusal = self.bench.first([()])[0]
        if refusal:
            raise ValueError(refusal)
        self.measure([()])
        while len(self.trials) < self.most:
            best = min(self.trials.values(), key=lambda trial: trial.seconds)
            near = [*self.together(best), *self.neighbours(best.choice)]
            new = list(islice(self.new(near), self.most // 2))
            if not new:
                break
            self.measure(new[: self.most - len(self.trials)])
        return self.finished()

    def neighbours(self, choice: Choice) -> Sequence[Choice]:
        """Return the plans that differ from one in a decision."""
        passes = self.bench.backend.options["codegen.passes"]
        loops = self.bench._generated(choice)[1]
        return [changed(choice, each) for each in decisions(loops, self.kind, passes, choice)]

    def together(self, best: Trial) -> Iterator[Choice]:
        """Yield what the fastest plans change, two at a time and all, on the best one."""
        base = self.trials[()].seconds
        better = sorted(
            (each for each in self.trials.values() if each.seconds < 0.98 * base and each.choice),
            key=lambda trial: trial.seconds,
        )
        whole: Choice = ()
        for each in better[:4]:
            whole = changed(whole, each.choice)
            yield whole
            yield changed(best.choice, each.choice)

    def new(self, choices: Sequence[Choice]) -> Iterator[Choice]:
        """Yield the plans whose code was not tried."""
        self.codes.setdefault(self.bench.source(()), ())
        for choice in choices:
            try:
                code = self.bench.source(choice)
            except (ValueError, TypeError):
                continue
            if code not in self.codes and self.bench._generated(choice)[1]:
                self.codes[code] = choice
                yield choice

    def measure(self, choices: Sequence[Choice]) -> None:
        """Build plans at once and time them in turns with the default."""
        refusals = self.bench.ready(choices)
        kept = [each for each, why in zip(choices, refusals, strict=True) if not why]
        together = list(dict.fromkeys([(), *kept]))
        costs = self.bench.costs(together, ROUNDS)
        scale = 1.0
        if () in self.trials:  # the machine may be slower or faster than it was
            scale = self.trials[()].seconds / min(costs[0])
            self.noise = max(self.noise, scale, 1 / scale)
        for choice, row in zip(together, costs, strict=True):
            source, loops = self.bench._generated(choice)
            seconds = predicted(loops, self.sizes_of(choice), self.machine)
            if choice not in self.trials and row:
                self.trials[choice] = Trial(choice, scale * min(row), seconds, len(source))

    def sizes_of(self, choice: Choice) -> Sizes:
        """Return the sizes of a call, and what the code takes from an option alone."""
        return classes.evolve(self.sizes, stream_from=dict(choice).get("codegen.stream_from"))

    def finished(self) -> tuple[Trial, Trial, float]:
        """Measure the fastest plans for longer, the default twice among them."""
        order = sorted(self.trials.values(), key=lambda trial: trial.seconds)
        chosen = [each.choice for each in order[:FASTEST] if each.choice]
        costs = self.bench.costs([(), *chosen, ()], LAST_ROUNDS)
        first, *others, again = map(min, costs)
        default = attrs.evolve(self.trials[()], seconds=min(first, again))
        found = [
            attrs.evolve(self.trials[choice], seconds=seconds)
            for choice, seconds in zip(chosen, others, strict=True)
        ]
        best = min([default, *found], key=lambda trial: trial.seconds)
        return default, best, max(first, again) / min(first, again)
