"""Bench: build candidates side by side, check their results, and measure them in turns.

Agreement: whether the results of a candidate are those of the reference.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final

import numpy as np

from ...runtime.process import FieldforgeError, classes, current
from ...stages.artifacts import Lowered
from ...stages.ir.dataflow import Dataflow
from ..backends.backend import Backend
from ..builds.pool import BuildPool
from ..engine.engine import engine
from .candidates import Choice, applied, decided_names
from .subject import Subject, Values

CODEGEN: Final = "codegen"
SAMPLE: Final = 2e-3  # seconds of calls behind one number
MOST_CALLS: Final = 1000

Cost = Callable[["Candidate"], float]


@classes.frozen(eq=False)
class Candidate:
    """One choice of options, ready to be called.

    Attributes:
        options: what it changes, by name.
        call: makes one call.
        subject: the program and its fields.

    """

    options: Choice
    call: Callable[[], object]
    subject: Subject


@classes.define(eq=False)
class RealBench:
    """Measures candidates of one program; `cost` is what a search makes small.

    Attributes:
        subject: the program with its arguments.
        backend: has the options of the empty choice.
        cost: measures a candidate; by default the seconds of a call.
        left: the seconds that are left of the budget.
        expected: the results of the reference.
        least: the least seconds of a call by choice, where no other cost is asked for.

    """

    subject: Subject
    backend: Backend
    cost: Cost | None
    left: Callable[[], float]
    expected: Values
    least: dict[Choice, float] = classes.field(factory=dict, init=False)
    _ready: dict[Choice, Candidate] = classes.field(factory=dict, init=False)
    _traces: dict[Choice, Any] = classes.field(factory=dict, init=False)
    _calls: int = classes.field(default=0, init=False)
    _longest: float = classes.field(default=0.0, init=False)  # seconds of one measurement

    def is_over(self) -> bool:
        """Tell whether the budget is used up, or would be by one more measurement."""
        return self.left() <= self._longest

    def source(self, choice: Choice) -> str:
        """Return the digest of the generated code; for a refused choice, of the message."""
        return hashlib.sha256(self._generated(choice)[0].encode()).hexdigest()[:16]

    def loops(self, choice: Choice) -> str:
        """Return the listing of the loops; nothing for a refused choice."""
        return self._generated(choice)[1]

    def program(self) -> Dataflow | None:
        """Return the dataflow whose rows options name; None where it cannot be lowered."""
        try:
            trace = self._trace(self.subject.on(self.backend))
        except FieldforgeError:
            return None
        lowered = (step.artifact for step in trace.values() if isinstance(step.artifact, Lowered))
        return next((each.program for each in reversed([*lowered])), None)

    def names(self, choice: Choice) -> Sequence[str]:
        """Return the values that may become arrays, or be recomputed."""
        return decided_names(self.loops(choice))

    def first(self, choices: Sequence[Choice]) -> Sequence[str]:
        """Do what `ready` does, however long it takes: a search needs a start."""
        return self._all_checked(choices, None)

    def ready(self, choices: Sequence[Choice]) -> Sequence[str]:
        """Build choices at the same time, then check each; return why one is no candidate.

        Builds end with the budget.
        """
        return self._all_checked(choices, max(self.left(), 0.0))

    def costs(self, choices: Sequence[Choice], rounds: int) -> Sequence[Sequence[float]]:
        """Measure choices in turns, each once a round; fewer rounds if the budget ends."""
        rows: list[list[float]] = [[] for _ in choices]
        with undisturbed():
            for _ in range(rounds):
                if not all(self._measure(*pair) for pair in zip(rows, choices, strict=True)):
                    break
        self.subject.restore()
        whole = min(map(len, rows))
        return [row[:whole] for row in rows]

    def _measure(self, row: list[float], choice: Choice) -> bool:
        """Add a cost to a row, if there is time for it."""
        if self.is_over():
            return False
        begin = perf_counter()
        row.append((self.cost or self._seconds)(self._ready[choice]))
        if self.cost is None:
            self.least[choice] = min(self.least.get(choice, row[-1]), row[-1])
        self._longest = max(self._longest, perf_counter() - begin)
        return True

    def _all_checked(self, choices: Sequence[Choice], within: float | None) -> Sequence[str]:
        new = [choice for choice in choices if choice not in self._ready]
        errors = dict(zip(new, self._build(new, within), strict=True))
        found = []
        for choice in choices:
            is_late = within is not None and choice not in self._ready and self.is_over()
            late = TimeoutError("The budget ended before a call.") if is_late else None
            found.append(self._checked(choice, errors.get(choice) or late))
        return found

    def _generated(self, choice: Choice) -> tuple[str, str]:
        """Return the source and the listing of the loops."""
        found = self._traces.get(choice)
        if found is None:
            try:
                entry = self.subject.on(applied(self.backend, choice))
                trace = self._trace(entry)
                step = trace[CODEGEN]
                flags = getattr(step.artifact, "flags", ())
                found = f"{' '.join(flags)}\n{step.text}", step.loops
            except FieldforgeError as error:
                found = f"{choice}: {error}", ""
            self._traces[choice] = found
        text: tuple[str, str] = found
        return text

    def _trace(self, entry: Any) -> Any:
        from ..builds.building import trace

        variant = self.subject.variant(entry)
        return trace(entry.__definition__, entry.backend, variant, CODEGEN)

    def _build(self, choices: Sequence[Choice], within: float | None) -> list[BaseException | None]:
        """Build choices side by side, in so many seconds; return the error of each, or None."""
        if not choices:
            return []
        pool, used = BuildPool(current().jobs, None, None, len(choices)), engine()
        errors: list[BaseException | None] = []
        orders = []
        for choice in choices:
            try:
                entry = self.subject.on(applied(self.backend, choice))
                order = entry.order(self.subject.variant(entry), self.subject.provider, used)
                orders.append(classes.evolve(order, is_alone=True))
                errors.append(None)
            except FieldforgeError as error:
                errors.append(error)
        for order in orders:
            pool.add_order(order)
        settled = iter(pool.settle(within) if orders else [])
        return [next(settled) if error is None else error for error in errors]

    def _checked(self, choice: Choice, error: BaseException | None) -> str:
        if error is not None:
            return str(error).partition("\n")[0]
        if choice not in self._ready:
            call = self.subject.call(applied(self.backend, choice))
            self.subject.restore()
            try:
                call()
            except FieldforgeError as refusal:
                return str(refusal).partition("\n")[0]
            self.subject.synchronise()
            wrong = disagreement(self.subject.results(), self.expected)
            if wrong:
                return wrong
            self._ready[choice] = Candidate(choice, call, self.subject)
        return ""

    def _seconds(self, candidate: Candidate) -> float:
        """Return the seconds of a call, the mean of so many that they can be measured."""
        if not self._calls:
            once = _timed(candidate, 1)
            self._calls = max(1, min(MOST_CALLS, int(SAMPLE / max(once, 1e-7))))
        return _timed(candidate, self._calls)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Keep the garbage collector away from what is measured."""
    was_on = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _timed(candidate: Candidate, calls: int) -> float:
    candidate.subject.restore()
    candidate.call()
    candidate.subject.synchronise()
    begin = perf_counter()
    for _ in range(calls):
        candidate.call()
    candidate.subject.synchronise()
    return (perf_counter() - begin) / calls


Array = np.ndarray[Any, Any]
# Of the largest number of a field: what rounding may make of two functions of two libraries.
TOLERANCES: Final[Mapping[str, float]] = {"float64": 1e-10, "float32": 1e-4}


def disagreement(found: Mapping[str, Array], expected: Mapping[str, Array]) -> str:
    """Say where results differ from the expected ones by more than rounding; empty if nowhere.

    >>> disagreement({"out": np.array([1.0, 3.0])}, {"out": np.array([1.0, 2.0])})
    "'out' differs from the reference at (1,): 3.0 for 2.0"
    """
    for name, reference in expected.items():
        place = _first_difference(found[name], reference)
        if place is not None:
            return (
                f"'{name}' differs from the reference at {place}: "
                f"{found[name][place]} for {reference[place]}"
            )
    return ""


def _first_difference(found: Array, expected: Array) -> tuple[int, ...] | None:
    tolerance = TOLERANCES.get(expected.dtype.name)
    if tolerance is None:
        wrong = found != expected
    else:
        finite = expected[np.isfinite(expected)]
        scale = float(np.max(np.abs(finite), initial=0.0))
        with np.errstate(invalid="ignore"):
            near = np.abs(found - expected) <= tolerance * scale
        wrong = ~(near | (found == expected) | (np.isnan(found) & np.isnan(expected)))
    if not wrong.any():
        return None
    return tuple(int(index) for index in np.argwhere(wrong)[0])
