"""Run drawn stencils by the interpreter, compiled and by the oracle; compare what they wrote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from fieldforge.runtime.process.errors import FieldforgeError
from fieldforge.stages.artifacts import Variant
from fieldforge.stages.gtscript.axes import I
from fieldforge.stages.gtscript.errors import GTError
from fieldforge.stages.interpret.stage import Entry
from fieldforge.stages.target import CpuTarget

from ...stages.gtscript.ask import ask
from ...stages.gtscript.cases import Case, complaint, difference, run
from ..building import Schedule, compiled, written
from .drawing import HALO, LEVELS_AROUND

# What the oracle refuses and we accept, by section 11 of the specification and by words.
ACCEPTED = (
    "No offset write capabilities of temporaries",
    "'AbsoluteKIndex' object has no attribute 'get'",
    "'int' and 'FieldRef'",  # an offset along K in an interval of the call
)
REFUSED = ("inside one 'if'", "its extent would grow", "not supported yet")


@attrs.frozen
class Outcome:
    """What became of a case: `sort` is 'same', 'refused', or says who disagrees; `what` how."""

    case: Case = attrs.field(repr=False)
    sort: str
    what: str = ""

    @property
    def is_disagreement(self) -> bool:
        """Whether executions differ."""
        return self.sort not in ("same", "refused", "refused by a rule", "reads too far")


@attrs.define
class Attempt:
    """A case on its way: the program and its results, or the error."""

    case: Case
    made: Any = None
    arrays: Any = None
    error: Exception | None = None


def check(
    cases: Sequence[Case],
    oracle: str | None = None,
    backends: Sequence[str] = ("rows", "cpu"),
    optimise: str = "-O1",
) -> list[Outcome]:
    """Run cases; `oracle` is the interpreter of an environment with gt4py."""
    attempts = [_interpreted(case) for case in cases]
    answers = ask(oracle, cases) if oracle else [None] * len(cases)
    outcomes = [_judged(each, answer) for each, answer in zip(attempts, answers, strict=True)]
    for backend in backends:
        _compare(attempts, outcomes, backend, optimise)
    return outcomes


def _interpreted(case: Case) -> Attempt:
    attempt = Attempt(case)
    try:
        attempt.made, attempt.arrays = run(case, lambda made, given: Entry(made.lowered)(*given))
    except Exception as error:
        attempt.error = error
    return attempt


def _judged(attempt: Attempt, answer: Any) -> Outcome:
    case, error = attempt.case, attempt.error
    if error is not None and not isinstance(error, GTError):
        if "range of the indices" in str(error) or _reaches_too_far(answer):
            return Outcome(case, "reads too far")
        return Outcome(case, "interpreter", f"{type(error).__name__}: {error}")
    if answer is None:
        return Outcome(case, "refused" if error else "same")
    refused = answer.get("message")
    if error is not None:
        if refused is not None:
            return Outcome(case, "refused", f"{error} | {refused}")
        if any(words in str(error) for words in REFUSED):
            return Outcome(case, "refused by a rule")
        return Outcome(case, "only we refuse", str(error))
    if refused is not None:
        if "Compute domain too large" in refused or "Origin for field" in refused:
            return Outcome(case, "reads too far")
        if any(words in refused for words in ACCEPTED):
            return Outcome(case, "same", refused)
        return Outcome(case, "only the oracle refuses", f"{answer['error']}: {refused}")
    what = complaint(case, answer, attempt.made, attempt.arrays)
    return Outcome(case, "oracle", what) if what else Outcome(case, "same")


def _variant(made: Any, case: Case) -> Variant:
    """Return the layout of a case."""
    leaves = [each for each in made.lowered.program.leaves if each.kind == "field"]
    is_known = case.get("layout", "C") == "F"
    return Variant(unit=tuple((each.name, "I") for each in leaves if is_known and I in each.dims))


def _reaches_too_far(answer: Any) -> bool:
    if not answer or "fields" not in answer:
        return bool(answer) and "Compute domain too large" in answer.get("message", "")
    most = (HALO, HALO, LEVELS_AROUND)
    return any(
        end > limit
        for _, boundary, _ in answer["fields"].values()
        for side, limit in zip(boundary, most, strict=True)
        for end in side
    )


def _compare(
    attempts: Sequence[Attempt], outcomes: list[Outcome], backend: str, optimise: str
) -> None:
    """Compare compiled code with the interpreter, bit for bit."""
    places = [n for n, each in enumerate(attempts) if each.made is not None]
    if not places:
        return
    schedule, target = Schedule(backend=backend), CpuTarget.host()
    sources, kept = [], []
    for place in places:
        try:
            made, case = attempts[place].made, attempts[place].case
            source = written(made.lowered, _variant(made, case), schedule, target)
        except FieldforgeError as error:
            if not (backend == "rows" and "Imperative columns wait" in str(error)):
                outcomes[place] = Outcome(attempts[place].case, f"{backend} writes", str(error))
            continue
        sources.append(source)
        kept.append(place)
    for place, program in zip(kept, compiled(sources, optimise), strict=True):
        case = attempts[place].case
        try:
            _, arrays = run(case, lambda _, given, program=program: program(*given))
        except FieldforgeError as error:
            outcomes[place] = Outcome(case, f"{backend} refuses", str(error))
            continue
        for name, meant in attempts[place].arrays.items():
            wrong = difference(meant, arrays[name], 0)
            if wrong and not outcomes[place].is_disagreement:
                outcomes[place] = Outcome(case, backend, f"'{name}' {wrong}")
