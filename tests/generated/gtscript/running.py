"""Run drawn stencils by the interpreter, compiled and by the oracle; compare what they wrote."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from fieldforge.runtime.process.errors import FieldforgeError
from fieldforge.stages import CpuTarget, Variant
from fieldforge.stages.gtscript import NONE, READ, GTError, I
from fieldforge.stages.interpret.stage import Entry

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
OF_WRITTEN = "Found non-zero read extent on written fields: "
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
        if any(words in refused for words in ACCEPTED) or _is_mistaken(attempt, refused):
            return Outcome(case, "same", refused)
        return Outcome(case, "only the oracle refuses", f"{answer['error']}: {refused}")
    what = complaint(case, _with_bounds(answer, attempt), attempt.made, attempt.arrays)
    return Outcome(case, "oracle", what) if what else Outcome(case, "same")


def _is_mistaken(attempt: Attempt, refused: str) -> bool:
    """Tell whether the oracle refuses to write and read a field that nothing writes.

    It takes the indices of data axes on the left for targets.
    """
    access = {name: each.access for name, each in attempt.made.info.fields}
    named = refused.removeprefix(OF_WRITTEN).split(", ") if OF_WRITTEN in refused else []
    return any(access.get(name) in (NONE, READ) for name in named)


def _with_bounds(answer: Any, attempt: Attempt) -> Any:
    """Return an answer with our boundary of each field that is a bound of an interval, if larger.

    A shifted temporary needs the bounds of its interval around the domain. The oracle reads them
    there too, and does not tell.
    """
    ours = {name: each.boundary for name, each in attempt.made.info.fields}
    fields = dict(answer["fields"])
    for name in fields.keys() & set(_bounds_of_intervals(attempt.case["text"])):
        access, theirs, dtype = fields[name]
        sides = [list(side) for side in ours[name]]
        larger = [[*map(max, *each)] for each in zip(sides, theirs, strict=True)]
        fields[name] = [access, sides if larger == sides else theirs, dtype]
    return {**answer, "fields": fields}


def _bounds_of_intervals(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "interval":
            names = (each for arg in node.args for each in ast.walk(arg))
            yield from (each.id for each in names if isinstance(each, ast.Name))


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
