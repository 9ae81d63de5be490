"""Turn programs, traces, batches, lock files and recorded steps into what a report shows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ...runtime.fields.field import Field
from ...runtime.process import classes
from ...runtime.process.errors import ArgumentError, FieldforgeError
from ..batches import lock_file
from ..builds.pool import BuildPool
from ..builds.viewing import view_of_order, views_of_builds
from ..engine.inspection import Trace
from ..entries.entry_point import EntryPoint, entry_arguments, entry_of
from ..entries.recording import Step
from ..reports.recorded_calls import title_of, view_of_calls
from ..reports.view import BuildView, StepView
from ..setups.model_plan import ModelPlan
from ..setups.set_up import SetUpProgram
from .measuring import measure

Shown: TypeAlias = BuildView | StepView
PROVIDER = "offset_provider"


def shown(thing: Any, *, measured: bool = False) -> Iterator[Shown]:
    """Yield the views of one thing; see `report` for what it may be."""
    match _as_entries(thing):
        case (EntryPoint() as entry, Mapping() as arguments):
            yield _run(entry, arguments, entry.__name__, measured=True)
        case EntryPoint() as entry:
            yield _traced(entry)
        case SetUpProgram():
            yield _traced(thing.program)
        case Trace():
            yield thing.view(whole=True)
        case Step():
            yield from _step(thing, measured=measured)
        case BuildPool():
            yield from views_of_builds(thing.outcomes())
        case ModelPlan():
            yield from map(view_of_order, thing.orders())
        case str() | os.PathLike():
            yield from _locked(Path(thing))
        case _:
            raise ArgumentError(
                f"A report shows programs, traces, recorded steps, batches and lock files, got a "
                f"'{type(thing).__name__}'.",
            )


def _as_entries(thing: Any) -> Any:
    """Return the program behind an object, alone or with the arguments of a call."""
    match thing:
        case (program, Mapping() as arguments):
            return entry_of(program), entry_arguments(program, arguments)
        case _:
            return entry_of(thing)


def sorted_out(views: Iterable[Shown]) -> tuple[list[BuildView], list[StepView]]:
    """Return builds and steps apart, in order."""
    every = list(views)
    builds = [each for each in every if isinstance(each, BuildView)]
    return builds, [each for each in every if isinstance(each, StepView)]


def _traced(entry: EntryPoint) -> BuildView:
    return entry.trace().view(title_of(entry), whole=True)


def _step(step: Step, *, measured: bool) -> Iterator[Shown]:
    """Yield the calls of a step, and the build of each variant that they use."""
    yield view_of_calls(step.calls, step.slots)
    found: dict[Any, BuildView] = {}
    call: Any
    for call, args, kwargs, provider in step.calls:
        given = dict(zip(call.parameters, args, strict=False)) | dict(kwargs or {})
        key = (title_of(call), _shape(given))
        if key not in found:
            more = {} if provider is None else {PROVIDER: provider}
            found[key] = _run(call, {**given, **more}, title_of(call), measured=measured)
    yield from found.values()


def _run(
    entry: EntryPoint, arguments: Mapping[str, Any], title: str, *, measured: bool
) -> BuildView:
    """Return the build for these arguments, with a measured run."""
    made = entry.trace(**arguments)
    view = made.view(title, whole=True)
    if not measured:
        return view
    try:
        return classes.evolve(view, measured=measure(entry, arguments, made))
    except FieldforgeError as error:
        return classes.evolve(view, note=f"Not measured: {error}")


def _locked(path: Path) -> Iterator[BuildView]:
    folder = os.path.dirname(path) or "."
    for row in lock_file.read(path):
        try:
            yield view_of_order(row.order(folder), row.program)
        except FieldforgeError as error:
            yield BuildView(f"{row.program} on '{row.backend}'", note=str(error))


def _shape(given: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(
        (name, (value.domain, str(value.dtype)) if isinstance(value, Field) else repr(value))
        for name, value in given.items()
    )
