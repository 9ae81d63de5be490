"""`Trace`: the stages of one build by name, their outputs, and why each ran or did not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from ...cache.explain import Difference, differences
from ...cache.record import Record
from ...cache.store import Store
from ...runtime.process.errors import WorkflowError, nearest
from ..graph.plan import Step as PlanStep
from .events import Outcome
from .handle import Result
from .reasons import said

HOW: Mapping[Outcome, str] = {
    "memory": "found in this process",
    "disk": "found in the store",
    "deep": "found in the store, with the whole build",
}


@attrs.frozen(eq=False)
class Step:
    """One stage of a build: `seconds` to obtain its result, `build_seconds` to compute it."""

    name: str
    outcome: Outcome
    seconds: float
    build_seconds: float
    key: str
    _result: Result = attrs.field(repr=False)
    _store: Store = attrs.field(repr=False)

    @property
    def artifacts(self) -> Mapping[str, Any]:
        """The outputs by port."""
        return {port: handle.get() for port, handle in self._result.outputs.items()}

    @property
    def artifact(self) -> Any:
        """The first output."""
        return next(iter(self.artifacts.values()))

    @property
    def text(self) -> str:
        """The first output as text."""
        return str(getattr(self.artifact, "text", self.artifact))

    @property
    def loops(self) -> str:
        """The loop IR, if the stage wrote one."""
        if not hasattr(self.artifact, "loops"):
            raise WorkflowError(
                f"Stage '{self.name}' writes no loops.", hints=["Look at stage 'codegen'."]
            )
        return str(self.artifact.loops)

    @property
    def components(self) -> Mapping[str, str]:
        """The labelled parts of the key."""
        return self._result.components

    def why(self) -> tuple[Difference, ...] | None:
        """Return the difference to the nearest earlier result; None if there is none."""
        record = _nearest_other(self._store, self._result)
        return None if record is None else differences(record.components, self.components)

    def explain(self) -> str:
        """Explain in a few lines why the stage ran, or where its result was found."""
        head = f"{self.name}: "
        if self.outcome != "ran":
            return f"{head}{HOW[self.outcome]}."
        if not self.components:
            return f"{head}ran, as it does in every process."
        changed = self.why()
        if changed is None:
            return f"{head}ran, for the first time for '{self._result.program}'."
        equal = len(self.components) - sum(part.new is not None for part in changed)
        lines = [f"{head}ran, because its key changed; {equal} parts of it are as before."]
        return "\n".join([*lines, *(f"  {said(part)}" for part in changed)])


@attrs.frozen(eq=False)
class Trace(Mapping[str, Step]):
    """The stages of one build in the order in which they run.

    `trace["lower"].text` is the output of stage 'lower'; `str(trace)` is a table.
    """

    program: str
    _steps: Mapping[str, Step]
    note: str = ""  # if the build exceeded its budget: by how much, and in which stage

    def __getitem__(self, name: str) -> Step:
        if name not in self._steps:
            known = ", ".join(f"'{own}'" for own in self._steps)
            close = nearest(name, self._steps)
            raise WorkflowError(
                f"The trace of '{self.program}' has no stage '{name}', expected one of {known}.",
                hints=[f"Did you mean '{close}'?"] if close else [],
            )
        return self._steps[name]

    def __contains__(self, name: object) -> bool:
        return name in self._steps

    def __iter__(self) -> Iterator[str]:
        return iter(self._steps)

    def __len__(self) -> int:
        return len(self._steps)

    def __str__(self) -> str:
        width = max((len(name) for name in self), default=0)
        rows = [
            f"{step.name:<{width}}  {step.outcome:<6}  {_duration(step.seconds)}, "
            f"to build {_duration(step.build_seconds)}  {step.key[:8]}"
            for step in self.values()
        ]
        return "\n".join([*(row.rstrip() for row in rows), *([self.note] if self.note else [])])

    def explain(self) -> str:
        """Explain for each stage why it ran or where its result was found."""
        return "\n".join(step.explain() for step in self.values())


def make_trace(
    program: str,
    plan: tuple[PlanStep, ...],
    results: Mapping[str, Result],
    store: Store,
    note: str = "",
) -> Trace:
    """Sort results by dependency."""
    steps = {
        step.name: _as_step(results[step.name], store) for step in plan if step.name in results
    }
    return Trace(program, steps, note)


def _as_step(result: Result, store: Store) -> Step:
    return Step(
        result.name,
        result.outcome,
        result.seconds,
        result.build_seconds,
        result.key,
        result,
        store,
    )


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:8.2f} ms"


def _nearest_other(store: Store, result: Result) -> Record | None:
    """Return the most similar other stored result of this stage and program."""
    best, found = (-1, -1), None
    for record in store.records(result.stage, result.program):
        if record.key == result.key:
            continue
        old = dict(record.components)
        shared = sum(old.get(label) == part for label, part in result.components.items())
        if (shared, record.created) > best:
            best, found = (shared, record.created), record
    return found
