"""Search: change one option at a time, keep what is faster beyond noise, until nothing is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import attrs

from ..options.schema import Option
from .candidates import Choice, changed, values_of
from .verdict import Verdict, compared

AT_ONCE: Final = 4  # candidates that are built and measured together
FIRST_ROUNDS: Final = 5
SECOND_ROUNDS: Final = 11  # to confirm the best of several, which is also the luckiest


@attrs.frozen
class Trial:
    """One candidate: the option changed, its value, and what was found.

    Attributes:
        before: the choice that it was compared with.
        option: the option that differs.
        value: its value.
        verdict: the costs compared; None if it was not measured.
        said: why it was not measured, or that an earlier run measured it; else empty.
        code: the digest of the generated code.

    """

    before: Choice
    option: str
    value: Any
    verdict: Verdict | None = None
    said: str = ""
    code: str = ""

    @property
    def choice(self) -> Choice:
        """All options of the candidate."""
        return changed(self.before, self.option, self.value)


def ignore(*_: object) -> None:
    """Hear what is told, and do nothing."""


class Bench(Protocol):
    """Builds candidates, checks their results and measures them."""

    def source(self, choice: Choice) -> str:
        """Return the digest of the generated code of a choice: equal code is measured once."""

    def names(self, choice: Choice) -> Sequence[str]:
        """Return the values of the dataflow IR that may become arrays, or be recomputed."""

    def ready(self, choices: Sequence[Choice]) -> Sequence[str]:
        """Build and check choices; return for each why it is no candidate, or an empty text."""

    def costs(self, choices: Sequence[Choice], rounds: int) -> Sequence[Sequence[float]]:
        """Measure choices in turns; return the costs of each, one a round."""

    def is_over(self) -> bool:
        """Tell whether the budget is used up."""


@attrs.define
class Search:
    """The state of a search: the best choice so far, its gain, and what was tried.

    Attributes:
        bench: measures.
        options: the options to change, in this order.
        current: the values of all options before the search.
        known: verdicts of earlier runs, by the generated code.
        tell: is called for each trial.
        keep: is called for each better choice, with its verdict against the one before.

    """

    bench: Bench
    options: Sequence[Option]
    current: Mapping[str, Any]
    known: Mapping[str, Verdict] = attrs.field(factory=dict)
    tell: Callable[[Trial], None] = ignore
    keep: Callable[[Choice, Verdict], None] = ignore
    best: Choice = ()
    trials: list[Trial] = attrs.field(factory=list)
    _seen: dict[str, Choice] = attrs.field(factory=dict)  # by the generated code

    def run(self) -> Choice:
        """Return the best choice; ends when no option improves it or the budget is used up."""
        self._seen[self.bench.source(())] = ()  # a better choice of an earlier run replaced it
        improved = True
        while improved and not self.bench.is_over():
            improved = False
            for option in self.options:
                while self._improve(option):
                    improved = True
        return self.best

    def _improve(self, option: Option) -> bool:
        """Try the values of one option; tell whether one of them is better."""
        if self.bench.is_over():
            return False
        now = dict(self.best).get(option.name, self.current[option.name])
        values = values_of(option, now, self.bench.names(self.best))
        new = self._new([Trial(self.best, option.name, value) for value in values])
        measured: list[Trial] = []
        for start in range(0, len(new), AT_ONCE):
            if self.bench.is_over():
                break
            for trial in self._measured(new[start : start + AT_ONCE]):
                measured.append(trial)
                self.trials.append(trial)
                self.tell(trial)
        better = [each for each in measured if each.verdict is not None and each.verdict.is_better]
        for trial in sorted(better, key=lambda each: each.verdict.ratio if each.verdict else 1.0):
            verdict = self._confirmed(trial)
            if verdict.is_better:
                self.best = trial.choice
                self.keep(trial.choice, verdict)
                return True
        return False

    def _new(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return the trials whose code differs from that of all choices so far."""
        self._seen.setdefault(self.bench.source(self.best), self.best)
        new = []
        for trial in trials:
            code = self.bench.source(trial.choice)
            if code not in self._seen:
                self._seen[code] = trial.choice
                new.append(attrs.evolve(trial, code=code))
        return new

    def _measured(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return the trials with their verdicts, those that an earlier run has without measuring.

        All are measured a few times, in turns with the best choice.
        """
        old = [each for each in trials if each.code in self.known]
        new = [each for each in trials if each.code not in self.known]
        refusals = self.bench.ready([self.best, *(each.choice for each in new)])[1:] if new else ()
        pairs = list(zip(new, refusals, strict=True))
        timed = [trial for trial, refusal in pairs if not refusal]
        rows = (
            self.bench.costs([self.best, *(t.choice for t in timed)], FIRST_ROUNDS) if timed else ()
        )
        verdicts = {
            t.choice: compared(rows[0], row) for t, row in zip(timed, rows[1:], strict=True)
        }
        return [
            *(attrs.evolve(each, verdict=self.known[each.code],
                           said="measured before") for each in old),
            *(attrs.evolve(trial, verdict=verdicts.get(trial.choice), said=refusal)
              for trial, refusal in pairs),
        ]  # fmt: skip

    def _confirmed(self, trial: Trial) -> Verdict:
        """Measure a better trial once more, since the best of many is often the luckiest."""
        if any(self.bench.ready([trial.before, trial.choice])):
            return Verdict(1.0, 0.0)
        before, after = self.bench.costs([trial.before, trial.choice], SECOND_ROUNDS)
        return compared(before, after)
