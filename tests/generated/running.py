"""Run cases embedded, by the interpreter and compiled, and compare what they wrote."""

import signal
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.cache.memory import Memory
from fieldforge.runtime.calls.program_errors import NotFiniteError, ReadBeyondError
from fieldforge.runtime.embedded import provenance
from fieldforge.runtime.process.errors import CheckError, OverlapError
from fieldforge.stages import CpuTarget, Variant
from fieldforge.stages.interpret.stage import Interpret
from fieldforge.stages.parse.free_names import number_text
from fieldforge.workflows.variants.known_domains import ranges_of
from fieldforge.workflows.variants.naming import variant_of

from .building import LIMITS, PLACEMENTS, Schedule, compiled, define, lowered, written
from .case import Case
from .direct import only_call
from .entrances import entrance_of
from .memory import arguments_of, grouped, is_intact, scalar
from .pieces import FLOATS

PATIENCE: Final = 10  # seconds for any step but the compiler's
LONG_PATIENCE: Final = 120  # DaCe takes as much longer, and so does the compiler
STRICT: Final = ff.cpu.with_options(numerics="strict", flags=("-O1",))
EARLY: Final = ("definition", "embedded", "lower", "reference", "codegen")
SLOW: Final = ("direct", "entrance")  # they start the compiler for one program
_INTEGERS: Final = {"float32": np.int32, "float64": np.int64}


@attrs.frozen
class Disagreement:
    """A case in which the executions differ; `stage` says who, `what` how."""

    case: Case = attrs.field(repr=False)
    stage: str
    what: str
    schedule: Schedule = attrs.field(factory=Schedule)

    @property
    def sort(self) -> str:
        """What disagreements have in common that shrinking must keep."""
        return f"{self.stage}: {self.what.partition(chr(10))[0].partition(' at ')[0][:80]}"


@contextmanager
def _in_time(stage: str, patience: int = PATIENCE) -> Iterator[None]:
    """Raise where a step takes too long; compiled code is not interrupted."""

    def late(*_: Any) -> None:
        raise TimeoutError(f"Stage '{stage}' takes more than {patience} s.")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(patience)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@attrs.define
class Run:
    """A case on its way through the three executions."""

    case: Case
    schedule: Schedule
    names: Mapping[str, Any] = attrs.field(factory=dict)
    meant: dict[str, Any] = attrs.field(factory=dict)
    low: Any = None
    made: Any = None
    refuses_overlap: bool = False
    found: Disagreement | None = None

    @property
    def program(self) -> Any:
        """The program."""
        return self.names["program_under_test"]

    @property
    def tables(self) -> Mapping[str, Any]:
        """The offset provider."""
        return self.names.get("tables", {})  # type: ignore[no-any-return]  # a dictionary

    def given(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return fields and scalars as the parameters of the program."""
        return grouped(self.case, arguments, self.names)

    def attempt(self, stage: str, step: Callable[[], None]) -> None:
        """Do a step; whatever it raises is a disagreement with the language."""
        if self.found is not None:
            return
        try:
            is_dace = self.schedule.backend.startswith("dace") and stage == "codegen"
            with _in_time(stage, LONG_PATIENCE if is_dace or stage in SLOW else PATIENCE):
                step()
        except Exception as error:
            self.found = Disagreement(self.case, stage, _told(error), self.schedule)


def check(
    cases: Sequence[Case],
    schedules: Sequence[Schedule] | None = None,
    optimise: str = "-O1",
    entering: Callable[[int], None] = lambda index: None,
    until: str = "cpu",
) -> list[Disagreement]:
    """Run cases, compiled together, and return those that disagree.

    `entering` hears of each; nothing is compiled where only what comes `until` then is asked for.
    """
    chosen = schedules or [schedule_of(case) for case in cases]
    runs = [Run(case, schedule) for case, schedule in zip(cases, chosen, strict=True)]
    target = CpuTarget.host()
    with ff.using(ff.Engine(Memory())), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index, run in enumerate(runs):
            entering(index)
            _interpret(run)
            if until not in EARLY and run.case.seed % 8 == 5:
                run.attempt("direct", lambda run=run: _direct(run))
            if until not in EARLY and not run.refuses_overlap:
                run.attempt("entrance", lambda run=run: _enter(run))
            run.attempt("codegen", lambda run=run: _write(run, target))
        ready = [run for run in runs if run.found is None and until not in EARLY]
        try:
            programs = compiled([run.made for run in ready], optimise) if ready else []
        except ff.errors.FieldforgeError as error:
            if len(ready) == 1:
                ready[0].found = Disagreement(ready[0].case, "compile", _told(error))
                return [run.found for run in runs if run.found is not None]
            return [found for run in runs for found in _alone(run, optimise)]
        for run, program in zip(ready, programs, strict=True):
            entering(runs.index(run))
            run.attempt("cpu", lambda run=run, program=program: _compare(run, "cpu", program))
    return [run.found for run in runs if run.found is not None]


def schedule_of(case: Case, backend: str = "cpu") -> Schedule:
    """Choose how a case is compiled by a backend; the same for the same case."""
    choice = case.seed % 16
    parallel_from = 1 if choice in (1, 6, 9, 14) else 16384
    static_domains, checked = case.seed % 48 >= 32, case.seed // 16 % 4 == 3
    checked = checked and backend != "rows"  # checked programs wait for compiled code
    placement, small_tiles = PLACEMENTS[choice % 4], choice >= 8
    static = case.seed % 5 == 4
    return Schedule(
        placement, parallel_from, small_tiles, static_domains, checked, backend, static,
        limits=case.seed // 3 % len(LIMITS),
    )  # fmt: skip


def _alone(run: Run, optimise: str) -> list[Disagreement]:
    if run.found is not None:
        return [run.found]
    return check([run.case], [run.schedule], optimise)  # the compiler refused some other case


def _interpret(run: Run) -> None:
    """Run embedded, then lower and interpret."""
    run.attempt("definition", lambda: _define(run))
    run.attempt("embedded", lambda: _embedded(run))
    run.attempt("lower", lambda: _lower(run))
    run.attempt("reference", lambda: _compare(run, "reference", _entry(run)))


def _define(run: Run) -> None:
    run.names = define(run.case.text, run.case.unstructured)


def _embedded(run: Run) -> None:
    arguments = arguments_of(run.case)
    try:
        run.program(*run.given(arguments).values(), offset_provider=run.tables)
    except OverlapError:
        run.refuses_overlap = True
    run.meant = arguments


def _variant(run: Run) -> Variant:
    arguments = run.given(arguments_of(run.case))
    found = variant_of(tuple(arguments), tuple(arguments.values()), {})
    # What has no elements fits no layout for sure; a call would build once more, for any.
    empty = {run.case.leaf(spec.name) for spec in run.case.fields if 0 in spec.shape}
    found = attrs.evolve(found, unit=tuple(each for each in found.unit if each[0] not in empty))
    if run.schedule.static:
        static = sorted(
            (run.case.leaf(name), number_text(scalar(dtype, text)))
            for name, dtype, text in run.case.scalars
        )
        found = attrs.evolve(found, static=tuple(static))
    if run.schedule.static_domains:
        found = attrs.evolve(found, ranges=ranges_of(tuple(arguments), arguments))
    if not run.case.unstructured:
        return found
    tables = sorted(run.tables.items())
    return attrs.evolve(
        found,
        tables=tuple(
            (name, table.shape[-1], table.skip_value is not None) for name, table in tables
        ),
    )


def _lower(run: Run) -> None:
    run.low = lowered(run.program, _variant(run), run.schedule.checked)


def _entry(run: Run) -> Any:
    return Interpret().run(lowered=run.low)["entry"]


def _write(run: Run, target: CpuTarget) -> None:
    run.made = written(run.low, _variant(run), run.schedule, target)


def _compare(run: Run, stage: str, program: Callable[..., None]) -> None:
    arguments = arguments_of(run.case)
    provider = {"offset_provider": run.tables} if run.case.unstructured else {}
    refused = False
    try:
        program(*run.given(arguments).values(), **provider)
    except OverlapError as error:
        if not run.refuses_overlap:
            run.found = Disagreement(run.case, stage, f"refused: {error}", run.schedule)
        return
    except NotFiniteError:  # all is written nevertheless: only 'checked' puts it back
        refused = True
    except ReadBeyondError:  # a read that 'where' hides: 'checked' runs embedded instead
        return
    if run.refuses_overlap:
        what = "an overlap is refused embedded only"
        run.found = Disagreement(run.case, stage, what, run.schedule)
        return
    for spec in run.case.fields:
        meant, given = run.meant[spec.name].asnumpy(), arguments[spec.name].asnumpy()
        what = difference(meant, given, spec.ulps)
        if what:
            run.found = Disagreement(run.case, stage, f"'{spec.name}' {what}", run.schedule)
            return
        if spec.layout != "default" and meant.size and not is_intact(arguments[spec.name]):
            what = f"memory around '{spec.name}' was written"
            run.found = Disagreement(run.case, stage, what, run.schedule)
            return
    if run.schedule.checked and stage == "cpu" and refused != _is_refused_embedded(run):
        what = "compiled checks refuse it, embedded ones do not" if refused else "no check saw NaN"
        run.found = Disagreement(run.case, stage, what, run.schedule)


def _direct(run: Run) -> None:
    """Call the operator by itself, embedded and by a backend as people use it."""
    call = None if run.refuses_overlap else only_call(run.case.text)
    if call is None:
        return
    for backend in (None, STRICT):
        arguments = arguments_of(run.case)
        call.run(backend, {**run.names, **run.given(arguments)}, run.tables)
        for spec in run.case.fields:
            meant, given = run.meant[spec.name].asnumpy(), arguments[spec.name].asnumpy()
            what = difference(meant, given, spec.ulps)
            if what:
                name = "embedded" if backend is None else backend.name
                what = f"'{spec.name}' {what} ({name})"
                run.found = Disagreement(run.case, "direct", what, run.schedule)
                return


def _enter(run: Run) -> None:
    """Run a program recorded, set up or split, with options at their limits."""
    entrance = entrance_of(run.case)
    if entrance is None:
        return
    options = LIMITS[run.schedule.limits]
    program = run.program.with_backend(STRICT.with_options(**options))
    for what, arguments in entrance(run.case, program, run.names, run.tables):
        for spec in run.case.fields:
            meant, given = run.meant[spec.name].asnumpy(), arguments[spec.name].asnumpy()
            found = difference(meant, given, spec.ulps)
            if found:
                found = f"'{spec.name}' {found} ({what}, {options})"
                run.found = Disagreement(run.case, "entrance", found, run.schedule)
                return


def _is_refused_embedded(run: Run) -> bool:
    """Tell whether embedded execution finds a number that is not finite."""
    try:
        with provenance.checked({}):
            given = run.given(arguments_of(run.case))
            run.program(*given.values(), offset_provider=run.tables)
    except CheckError:
        return True
    return False


def difference(meant: np.ndarray[Any, Any], given: np.ndarray[Any, Any], ulps: int) -> str:
    """Say where two arrays first differ by more than `ulps`; every NaN is like every other.

    >>> difference(np.array([1.0, 0.0]), np.array([1.0, -0.0]), 0)
    'differs at (1,): meant 0.0, got -0.0'
    """
    if meant.dtype.name not in FLOATS:
        wrong = meant != given
    else:
        bits = _INTEGERS[meant.dtype.name]
        same = meant.view(bits) == given.view(bits) if ulps == 0 else _near(meant, given, ulps)
        wrong = ~(same | (np.isnan(meant) & np.isnan(given)))
    if not wrong.any():
        return ""
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"differs at {place}: meant {meant[place]}, got {given[place]}"


def _near(meant: np.ndarray[Any, Any], given: np.ndarray[Any, Any], ulps: int) -> Any:
    spacing = np.spacing(np.maximum(np.abs(meant), np.abs(given)))
    return (meant == given) | (np.abs(meant - given) <= ulps * spacing)


def _told(error: BaseException) -> str:
    """Return an error as a line, and where it came from as more lines."""
    first = f"{type(error).__name__}: {str(error).strip()}"
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    return "\n".join(
        [
            first,
            *(f"  in {frame.name}, line {frame.lineno} of {frame.filename}" for frame in frames),
        ]
    )
