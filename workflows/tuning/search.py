"""Search: change one or two options, keep what is faster beyond noise, until nothing is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from ...runtime.process import classes
from ...stages.base import VALUES
from ..options.schema import Option
from .candidates import Choice, changed, joined, values_of
from .verdict import LEAST_GAIN, Verdict, compared

AT_ONCE: Final = 4  # candidates that are built and measured together
FIRST_ROUNDS: Final = 5
MOST_ROUNDS: Final = 30  # for candidates that noise leaves open
# To decide about the best of several, which is also the luckiest; more if noise leaves it open.
SECOND_ROUNDS: Final = (40, 120)
MANY: Final = 4  # values of an option that is a size
PROMISING: Final = 3  # of the candidates that look better, so many are measured for longer


@classes.frozen
class Trial:
    """One candidate: the options changed, and what was found.

    Attributes:
        before: the choice that it was compared with.
        changes: the options that differ, one or two, with their values.
        verdict: the costs compared; None if it was not measured.
        said: why it was not measured, or that an earlier run measured it; else empty.
        code: the digest of the generated code.

    """

    before: Choice
    changes: Choice
    verdict: Verdict | None = None
    said: str = ""
    code: str = ""

    @property
    def choice(self) -> Choice:
        """All options of the candidate."""
        return changed(self.before, self.changes)


def unranked(_: Choice) -> Sequence[Choice]:
    """Rank nothing: a search then tries the options in turn."""
    return ()


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
        """Measure choices in turns; return the costs of each, one a round.

        The rounds are fewer if the budget ends.
        """

    def is_over(self) -> bool:
        """Tell whether the budget is used up."""


@classes.define
class Search:
    """The state of a search: the best choice so far, its gain, and what was tried.

    Attributes:
        bench: measures.
        options: the options to change, in this order.
        current: the values of all options before the search.
        known: verdicts of earlier runs, by the generated code.
        tell: is called for each trial.
        keep: is called for each better choice, with its verdict against the one before.
        ranked: returns changes of a choice, the most promising first.

    """

    bench: Bench
    options: Sequence[Option]
    current: Mapping[str, Any]
    known: Mapping[str, Verdict] = classes.field(factory=dict)
    tell: Callable[[Trial], None] = ignore
    keep: Callable[[Choice, Verdict], None] = ignore
    ranked: Callable[[Choice], Sequence[Choice]] = unranked
    best: Choice = ()
    trials: list[Trial] = classes.field(factory=list)
    _seen: dict[str, Choice] = classes.field(factory=dict)  # by the generated code

    def run(self) -> Choice:
        """Return the best choice; ends when no option improves it or the budget is used up."""
        self._seen[self.bench.source(())] = ()  # a better choice of an earlier run replaced it
        ways = self._with_one, self._together, self._with_two
        while not self.bench.is_over() and any(way() for way in ways):
            pass
        return self.best

    def _with_one(self) -> bool:
        """Try the best changes first, or each option in turn; tell whether one was better."""
        changes = self.ranked(self.best)
        if changes:
            chunks = (changes[n : n + AT_ONCE] for n in range(0, len(changes), AT_ONCE))
            return any(not self.bench.is_over() and self._improve(chunk) for chunk in chunks)
        improved = False
        for option in self.options:
            while self._improve([((option.name, value),) for value in self._values(option)]):
                improved = True
        return improved

    def _together(self) -> bool:
        """Try together what looks faster: a gain of several may be beyond noise."""
        now = {**self.current, **dict(self.best)}
        whole: Choice = ()
        tries = []
        for trial in _promising(each for each in self.trials if each.before == self.best):
            whole = joined(whole, trial.changes, now)
            tries.append(whole)
        return len(tries) > 1 and not self.bench.is_over() and self._improve(tries[1:])

    def _with_two(self) -> bool:
        """Try arrays together with sizes: an array may pay in tiles of another size only."""
        lists = [option for option in self.options if option.tune == (VALUES,)]
        sizes = [option for option in self.options if len(option.tune) > MANY]
        return any(
            self._improve(
                [
                    ((names.name, chosen), (size.name, value))
                    for chosen in self._values(names)
                    for value in self._values(size)
                ]
            )
            for names in lists
            for size in sizes
        )

    def _values(self, option: Option) -> list[Any]:
        """Return the other values of an option."""
        now = dict(self.best).get(option.name, self.current[option.name])
        return list(values_of(option, now, self.bench.names(self.best)))

    def _improve(self, changes: Sequence[Choice]) -> bool:
        """Try changes of the best choice; tell whether one of them is better."""
        new = self._new([Trial(self.best, each) for each in changes])
        measured: list[Trial] = []
        for start in range(0, len(new), AT_ONCE):
            if self.bench.is_over():
                break
            for trial in self._measured(new[start : start + AT_ONCE]):
                measured.append(trial)
                self.trials.append(trial)
                self.tell(trial)
        for trial in _promising(measured):
            verdict = self._confirmed(trial)
            if verdict.is_confirmed:
                self.best = trial.choice
                self.keep(trial.choice, verdict)
                return True
        return False

    def _new(self, trials: Iterable[Trial]) -> list[Trial]:
        """Return the trials whose code differs from that of all choices so far."""
        self._seen.setdefault(self.bench.source(self.best), self.best)
        new = []
        for trial in trials:
            if self.bench.is_over():
                break
            code = self.bench.source(trial.choice)
            if code not in self._seen:
                self._seen[code] = trial.choice
                new.append(classes.evolve(trial, code=code))
        return new

    def _measured(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return the trials with their verdicts; those of an earlier run are not measured again.

        Those for which the budget is too short are left out.
        """
        old = [each for each in trials if each.code in self.known]
        new = [each for each in trials if each.code not in self.known]
        refusals = self.bench.ready([self.best, *(each.choice for each in new)])[1:] if new else ()
        pairs = list(zip(new, refusals, strict=True))
        verdicts = self._compared([trial.choice for trial, refusal in pairs if not refusal])
        return [
            *(
                classes.evolve(each, verdict=self.known[each.code], said="measured before")
                for each in old
            ),
            *(
                classes.evolve(trial, verdict=verdicts.get(trial.choice), said=refusal)
                for trial, refusal in pairs
                if refusal or trial.choice in verdicts
            ),
        ]

    def _compared(self, choices: Sequence[Choice]) -> dict[Choice, Verdict]:
        """Measure choices in turns with the best one, those that noise leaves open for longer."""
        series: dict[Choice, tuple[list[float], list[float]]] = {each: ([], []) for each in choices}
        verdicts: dict[Choice, Verdict] = {}
        is_open, rounds = list(choices), 0
        while is_open and rounds < MOST_ROUNDS and not (rounds and self.bench.is_over()):
            before, *after = self.bench.costs([self.best, *is_open], FIRST_ROUNDS)
            if len(before) < FIRST_ROUNDS:  # the budget ended, and few rounds say nothing
                break
            rounds += FIRST_ROUNDS
            for choice, costs in zip(is_open, after, strict=True):
                series[choice][0].extend(before)
                series[choice][1].extend(costs)
                verdicts[choice] = compared(*series[choice])
            is_open = [each for each in is_open if verdicts[each].is_open]
        return verdicts

    def _confirmed(self, trial: Trial) -> Verdict:
        """Measure a trial for longer, since the best of many is often the luckiest."""
        if any(self.bench.ready([trial.before, trial.choice])):  # an earlier run measured it
            return Verdict(1.0, 0.0)
        verdict = in_turns(self.bench, trial.before, trial.choice, SECOND_ROUNDS)
        return verdict or Verdict(1.0, 0.0)


def in_turns(bench: Bench, old: Choice, new: Choice, most: Iterable[int]) -> Verdict | None:
    """Measure two choices in turns, for longer while noise leaves open which is faster.

    Return None if the budget ends before there are enough rounds; `most` are those of each series.
    """
    before: list[float] = []
    after: list[float] = []
    verdict = None
    for rounds in most:
        first, second = bench.costs([old, new], rounds)
        before.extend(first)
        after.extend(second)
        if len(before) < FIRST_ROUNDS:
            break
        verdict = compared(before, after)
        if verdict.is_confirmed or not verdict.is_open or bench.is_over():
            break
    return verdict


def _promising(trials: Iterable[Trial]) -> list[Trial]:
    """Return the trials that look better, even if only by noise; the best first."""
    found = [(each.verdict.ratio, each) for each in trials if each.verdict is not None]
    better = [row for row in found if row[0] < 1.0 - LEAST_GAIN]
    return [trial for _, trial in sorted(better, key=lambda row: row[0])[:PROMISING]]
