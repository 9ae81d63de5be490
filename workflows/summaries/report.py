"""`report`: one file of HTML that tells builds, runs and recorded steps."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from time import perf_counter
from typing import Any, Final, TypeAlias

from ...runtime.calls.machine import processor
from ...runtime.fields import Field, as_field
from ...runtime.process import ArgumentError, DeviceType, FieldforgeError, classes
from ...stages.interpret.work import work_of
from ..backends.backend import Backend
from ..batches import lock_file
from ..builds.pool import BuildPool
from ..builds.viewing import view_of_order, views_of_builds
from ..engine.inspection import Trace
from ..entries.entry_point import EntryPoint, entry_arguments, entry_of
from ..entries.recording import Step
from ..reports.page import page
from ..reports.recorded_calls import title_of, view_of_calls
from ..reports.view import BuildView, MeasuredView, StepView
from ..setups.model_plan import ModelPlan
from ..setups.set_up import SetUpProgram
from ..tuning.bench import undisturbed
from ..tuning.subject import Subject, make_subject


def report(
    *things: Any, to: str | os.PathLike[str] = "report.html", measured: bool = False
) -> Path:
    """Write a page about builds: one file of HTML, at most 1 MB, that needs no network.

    Args:
        things: programs and operators; pairs of one and the arguments of a call by name, which is
            then measured; traces; steps of `record`; results of `precompile`; plans; paths of lock
            files.
        to: the file, which is replaced.
        measured: whether the calls of recorded steps are measured. Fields that they write have
            their values back afterwards.

    Raises:
        ArgumentError: for anything else.

    >>> import tempfile
    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=ff.cpu)
    ... def doubled(u: Line) -> Line:
    ...     return u + u
    >>> arguments = {"u": ff.ones({I: 1000}), "out": ff.zeros({I: 1000})}
    >>> path = report((doubled, arguments), to=f"{tempfile.mkdtemp()}/doubled.html")
    >>> "of a copy" in path.read_text()
    True
    """
    builds, steps = sorted_out(view for thing in things for view in shown(thing, measured=measured))
    path = Path(to)
    path.write_text(page(builds, steps), encoding="utf-8")
    return path


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
        return classes.evolve(view, measured=_measure(entry, arguments, made))
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


_ROUNDS: Final = 15
_SAMPLE: Final = 2e-3  # seconds of calls behind one number
_MOST_CALLS: Final = 1000
_ROW: Final = 504  # points; no power of two, whose rows would share the sets of a cache
_FEWEST: Final = 2 * _ROW  # points of a copy
_LOWER: Final = "lower"


def _measure(entry: EntryPoint, arguments: Mapping[str, Any], trace: Trace) -> MeasuredView:
    """Time calls with these arguments; fields that they write have their values back afterwards.

    Args:
        entry: a program or operator with a backend.
        arguments: the arguments of a call by name, 'offset_provider' too.
        trace: the build of the variant for these arguments.

    Raises:
        ArgumentError: if the program has no backend, or its workflow no dataflow to count in.

    """
    if entry.backend is None or _LOWER not in trace:
        raise ArgumentError(
            f"'{entry.__name__}' cannot be measured: its workflow has no stage '{_LOWER}'.",
            hint="Measure a program with a backend, such as 'cpu'.",
        )
    subject = make_subject(entry, arguments)
    work = work_of(trace[_LOWER].artifact, subject.arguments, subject.provider)
    seconds, spread = _timed(subject.call(entry.backend), _waiting(subject))
    subject.restore()
    return MeasuredView(
        seconds=seconds,
        spread=spread,
        read=work.read,
        written=work.written,
        operations=work.operations,
        copy_rate=_copy_rate(entry.backend, work.read + work.written),
        machine=f"{processor()}, backend '{entry.backend.name}'",
        shapes=subject.shapes,
    )


def _timed(call: Callable[[], object], wait: Callable[[], object]) -> tuple[float, float]:
    """Return the median of the seconds of a call, and the ratio of the quartiles."""
    call()
    wait()
    with undisturbed():
        once = _seconds(call, wait, 1)
        count = max(1, min(_MOST_CALLS, int(_SAMPLE / max(once, 1e-7))))
        rounds = [_seconds(call, wait, count) for _ in range(_ROUNDS)]
    lower, median, upper = statistics.quantiles(rounds, n=4)
    return median, upper / lower


def _copy_rate(backend: Backend, size: int) -> float:
    """Return the bytes a second that a copy reads and writes which moves `size` bytes."""
    from ..backends.languages import for_programs
    from .copying import COLUMNS, ROWS, copy

    backend = for_programs(backend)
    rows = max(size // (16 * _ROW), _FEWEST // _ROW)
    fields = {
        name: as_field({ROWS: rows, COLUMNS: _ROW}, _zeros(rows), allocator=backend.allocator)
        for name in ("u", "out")
    }
    subject = make_subject(copy.with_backend(backend), fields)
    seconds, _ = _timed(subject.call(backend), _waiting(subject))
    return 16 * rows * _ROW / seconds


def _waiting(subject: Subject) -> Callable[[], object]:
    """Return what waits for the device of the outputs; `int`, which does nothing, on the host."""
    kinds = {field.device_type for _, field in subject.outputs()}
    return int if kinds <= {DeviceType.CPU} else subject.synchronise


def _zeros(rows: int) -> Any:
    import numpy as np

    return np.zeros((rows, _ROW))


def _seconds(call: Callable[[], object], wait: Callable[[], object], count: int) -> float:
    begin = perf_counter()
    for _ in range(count):
        call()
    wait()
    return (perf_counter() - begin) / count
