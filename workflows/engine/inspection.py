"""`Trace`: the stages of one build by name, their outputs, and why each ran or did not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

from ...cache.explain import Difference, differences, nearest
from ...cache.store import Store
from ...runtime.process import WorkflowError, classes, did_you_mean
from ...stages.base import Stage
from ..graph.edges import Step as PlanStep
from ..reports.view import BuildView, Feed, StageView
from .events import Outcome
from .handle import Result
from .reasons import is_stranger, said

HOW: Mapping[Outcome, str] = {
    "memory": "found in this process",
    "disk": "found in the store",
    "deep": "found in the store, with the whole build",
}


Inputs: TypeAlias = Callable[[], Mapping[str, Any]]


class _Listings(dict[str, str]):
    """The listings of a stage; a pass that did not run is an error that names those that did."""

    def __init__(self, stage: str, texts: Mapping[str, str]) -> None:
        super().__init__(texts)
        self.stage = stage

    def __missing__(self, name: str) -> str:
        known = ", ".join(f"'{own}'" for own in self)
        raise WorkflowError(
            f"Stage '{self.stage}' ran no pass '{name}', "
            + (f"expected one of {known}." if self else "and has no passes."),
            hint=did_you_mean(name, list(self)),
        )


@classes.frozen(eq=False, slots=False)
class Step:
    """One stage of a build: `seconds` to obtain its result, `build_seconds` to compute it."""

    name: str
    outcome: Outcome
    seconds: float
    build_seconds: float
    key: str
    _result: Result = classes.field(repr=False)
    _store: Store = classes.field(repr=False)
    _stage: Stage = classes.field(repr=False)
    _inputs: Inputs = classes.field(repr=False)
    _feeds: tuple[Any, ...] = classes.field(repr=False)

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

    @cached_property
    def after(self) -> Mapping[str, str]:
        """The listing of the IR after each pass of the stage, by the name of the pass.

        `trace["codegen"].after["tile"]` shows the loops as pass `tile` left them. The passes run
        again to tell; a stage without passes has none.
        """
        return _Listings(self.name, self._stage.after_passes(**self._inputs()))

    @cached_property
    def pages(self) -> Mapping[str, str]:
        """A page for a browser after each pass, by the name of the pass: DaCe's viewer of an SDFG.

        The passes run again to tell; a stage without a viewer has none.
        """
        return _Listings(self.name, self._stage.pages_after_passes(**self._inputs()))

    @property
    def feeds(self) -> tuple[Feed, ...]:
        """The inputs, each with the stage that it comes from."""
        return tuple(Feed(feed.port, feed.source or "") for feed in self._feeds)

    @property
    def components(self) -> Mapping[str, str]:
        """The labelled parts of the key."""
        return self._result.components

    def why(self) -> tuple[Difference, ...] | None:
        """Return the difference to the nearest earlier result; None if there is none."""
        return self._why

    @cached_property
    def _why(self) -> tuple[Difference, ...] | None:
        own = self._result
        record = nearest(self._store, own.stage, own.program, self.components, own.key)
        if record is None or is_stranger(dict(record.components), self.components):
            return None
        return differences(record.components, self.components)

    @property
    def is_first(self) -> bool:
        """Whether it ran on the text of a program that the store has never seen."""
        reads_text = any(label.endswith("input.source") for label in self.components)
        return self.outcome == "ran" and reads_text and self.why() is None

    def explain(self, is_new: bool = False) -> str:
        """Explain in a few lines why the stage ran, or where its result was found.

        `is_new` says that what the store has under the name is another program.
        """
        head = f"{self.name}: "
        if self.outcome != "ran":
            return f"{head}{HOW[self.outcome]}."
        if not self.components:
            return f"{head}ran, as it does in every process."
        changed = None if is_new else self.why()
        if changed is None:
            return f"{head}ran, for the first time for '{self._result.program}'."
        equal = len(self.components) - sum(part.new is not None for part in changed)
        lines = [f"{head}ran, because its key changed; {equal} parts of it are as before."]
        return "\n".join([*lines, *(f"  {said(part)}" for part in changed)])


@classes.frozen(eq=False)
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
            raise WorkflowError(
                f"The trace of '{self.program}' has no stage '{name}', expected one of {known}.",
                hint=did_you_mean(name, self._steps),
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

    def __repr__(self) -> str:
        return f"<trace of '{self.program}': {', '.join(self)}>"

    def _repr_html_(self) -> str:
        from ..reports.page import fragment

        return fragment(self.view())

    def view(self, title: str = "", *, whole: bool = False) -> BuildView:
        """Return what reports and notebooks show; `whole` runs the passes again for listings."""
        is_new = self.is_new
        stages = tuple(_seen(step, is_new, whole) for step in self.values())
        return BuildView(title or self.program, stages, self.note)

    @property
    def is_new(self) -> bool:
        """Whether the store has seen no program like this one under its name."""
        return any(step.is_first for step in self.values())

    def explain(self) -> str:
        """Explain for each stage why it ran or where its result was found."""
        return "\n".join(step.explain(self.is_new) for step in self.values())


def make_trace(
    program: str,
    plan: tuple[PlanStep, ...],
    results: Mapping[str, Result],
    store: Store,
    note: str = "",
    inputs: Mapping[str, Any] = MappingProxyType({}),
) -> Trace:
    """Sort results by dependency; `inputs` are those of the workflow."""
    steps = {
        step.name: _as_step(results[step.name], store, step, _inputs(step, results, inputs))
        for step in plan
        if step.name in results
    }
    return Trace(program, steps, note)


def _inputs(step: PlanStep, results: Mapping[str, Result], given: Mapping[str, Any]) -> Inputs:
    """Return what gives the inputs of a step when they are asked for."""
    return lambda: {
        feed.need: given[feed.port]
        if feed.source is None
        else results[feed.source].outputs[feed.port].get()
        for feed in step.feeds
    }


def _as_step(result: Result, store: Store, step: PlanStep, inputs: Inputs) -> Step:
    return Step(
        result.name,
        result.outcome,
        result.seconds,
        result.build_seconds,
        result.key,
        result,
        store,
        step.stage,
        inputs,
        step.feeds,
    )


def _seen(step: Step, is_new: bool, whole: bool) -> StageView:
    artifact = step.artifact
    return StageView(
        name=step.name,
        feeds=step.feeds,
        ports=tuple(step.artifacts),
        outcome=step.outcome,
        seconds=step.seconds,
        build_seconds=step.build_seconds,
        key=step.key,
        why=step.explain(is_new),
        text=step.text if hasattr(artifact, "text") else "",
        kind=type(artifact).__name__,
        parts=dict(step.components),
        listings=step.after if whole else {},
        loops=str(getattr(artifact, "loops", "")),
    )


def _duration(seconds: float) -> str:
    return f"{seconds * 1e3:8.2f} ms"
