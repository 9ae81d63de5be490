"""`plan`: the set-ups of a model, built together before the time loop, and watched inside it.

What all time loops of a process have compiled is told in one line when it ends.
"""

from __future__ import annotations

import atexit
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Final, Self

from ...runtime.process import DomainError, FieldforgeError, classes, current, get_logger, metrics
from ...stages.compile.compiler import same_compilers
from ..batches.orders import Missing, why
from ..builds.order import Order
from ..builds.pool import BuildPool, Built, Progress, named
from ..engine.engine import engine, using
from ..engine.events import Event, Finished
from ..engine.policy import Policy, current_policy, policy, policy_of_thread
from ..entries.entry_point import EntryPoint
from .collecting import collect, stop
from .request import SetUpWarning
from .set_up import SetUpProgram

COMPILES = "compile"  # the stages whose names start like this run a compiler


@classes.define
class LoopReport:
    """The builds during a time loop: the seconds of all stages, by program."""

    seconds: dict[str, float] = classes.field(factory=dict)
    compiles: dict[str, int] = classes.field(factory=dict)

    def __call__(self, event: Event) -> None:
        """Count a stage that ran."""
        if not isinstance(event, Finished):
            return
        self.seconds[event.program] = self.seconds.get(event.program, 0.0) + event.seconds
        if event.stage.startswith(COMPILES):
            self.compiles[event.program] = self.compiles.get(event.program, 0) + 1

    @property
    def count(self) -> int:
        """The number of compiled variants."""
        return sum(self.compiles.values())

    def __str__(self) -> str:
        if not self.compiles:
            return "Nothing was compiled in the time loop."
        rows = [
            f"  {name}: {count} in {self.seconds[name]:.2f} s"
            for name, count in sorted(self.compiles.items())
        ]
        return "\n".join([f"{self.count} variants were compiled in the time loop:", *rows])


@classes.define(eq=False)
class ModelPlan:
    """The set-ups of a model; those made inside its `with` block wait for `build`.

    >>> import fieldforge as ff
    >>> from fieldforge.cache.memory import Memory
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def halved(u: Line) -> Line:
    ...     return u / 2.0
    >>> @ff.program(backend=ff.cpu)
    ... def halve(u: Line, out: Line):
    ...     halved(u, out=out)
    >>> with ff.using(ff.Engine(Memory())):
    ...     with ff.plan() as plan:
    ...         step = ff.setup(halve, constant_args={"u": ff.ones({I: 2})})
    ...     print(plan.check()[0].why)
    ...     plan.build(progress=None)
    ...     out = ff.zeros({I: 2})
    ...     with plan.loop() as report:
    ...         step(out)
    'halve' was never built into this store.
    >>> print(report, out.asnumpy())
    Nothing was compiled in the time loop. [0.5 0.5]
    """

    steps: list[SetUpProgram] = classes.field(factory=list)
    _others: list[tuple[EntryPoint, Any, dict[str, Any]]] = classes.field(factory=list, init=False)

    def __enter__(self) -> Self:
        collect(self.steps)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        stop(self.steps)

    def add(self, entry: EntryPoint, offset_provider: Any = None, **static: Sequence[Any]) -> None:
        """Add a program or operator that the loop calls as it is, such as in a reduction.

        The arguments are those of its `compile`.
        """
        self._others.append((entry, offset_provider, static))

    def orders(self) -> Iterator[Order]:
        """Yield the build of every variant of every set-up."""
        used = engine()
        for step in self.steps:
            for variant, provider in step.wanted():
                yield step.program.order(variant, provider, used)
        for entry, given, static in self._others:
            for each in entry.instances.values() if entry.backend is not None else ():
                for variant, provider in each.wanted(given, static):
                    yield each.order(variant, provider, used)

    def check(self) -> tuple[Missing, ...]:
        """Return every variant that is not in the store, and why; compiles and loads nothing."""
        refused = ((order, order.missing()) for order in self.orders())
        return tuple(
            Missing(order.name, order.about, missing.stage, why(order, missing))
            for order, missing in refused
            if missing is not None
        )

    def build(
        self,
        *,
        jobs: int | None = None,
        executor: Executor | None = None,
        comm: Any = None,
        progress: Progress = "auto",
    ) -> None:
        """Build what is missing, load everything, and compare sizes with the bound fields.

        Args:
            jobs: the number of concurrent builds; the settings have the default.
            executor: runs the builds instead of this process, as for `precompile`.
            comm: an MPI communicator; every rank calls `build`, and each program is built once.
            progress: as for `precompile`.

        Raises:
            ExceptionGroup: all errors, each with a note that names its program.

        """
        orders = list(self.orders())
        errors: list[BaseException] = []
        with same_compilers():
            errors += self._build_all(orders, jobs, executor, comm, progress)
        errors += self._mismatches()
        if errors:
            raise BaseExceptionGroup(f"{len(errors)} set-ups are not ready", errors)

    def _build_all(
        self,
        orders: list[Order],
        jobs: int | None,
        executor: Executor | None,
        comm: Any,
        progress: Progress,
    ) -> Sequence[BaseException]:
        """Build side by side; return the errors."""
        try:
            if comm is not None:
                self._build_together(orders, comm, jobs, progress)
            else:
                count = current().jobs if jobs is None else jobs
                missing = _load_stored(orders, progress)
                if missing:
                    with BuildPool(count, progress, executor, len(missing)) as builds:
                        for order in missing:
                            builds.add_order(order)
        except ExceptionGroup as group:
            return group.exceptions
        return ()

    @contextmanager
    def loop(self, chosen: Policy = "must_hit") -> Iterator[LoopReport]:
        """Watch a time loop: with `must_hit`, a call that would compile is an error.

        The error names program, argument and value. With 'may_build', what is compiled is counted
        in the report and in the metrics, and told in a warning at the end and in the log at exit.
        """
        report, used = LoopReport(), engine()
        with ExitStack() as stack:
            stack.enter_context(policy(chosen))
            stack.enter_context(using(classes.evolve(used, observers=[*used.observers, report])))
            yield report
        _keep(report)
        if report.count:
            warnings.warn(str(report), SetUpWarning, stacklevel=3)

    def _mismatches(self) -> list[BaseException]:
        found: list[BaseException] = []
        for step in self.steps:
            try:
                step.check_sizes()
            except DomainError as error:
                found.append(named(error, step.name))
        return found

    def _build_together(
        self, orders: list[Order], comm: Any, jobs: int | None, progress: Progress
    ) -> None:
        from ..batches.collective import Collective

        with Collective(comm, jobs, progress) as builds:
            for order in orders:
                builds.add_order(order)


def _load_stored(orders: Sequence[Order], progress: Progress) -> list[Order]:
    """Load what the store has, in this thread, and return the rest: a pool would look twice."""
    missing: list[Order] = []
    done = 0
    if current_policy() != "may_build":
        return list(orders)
    with policy_of_thread("must_hit"):
        for order in orders:
            try:
                order.build()
            except FieldforgeError:  # not stored, or an error that the pool tells together
                missing.append(order)
                continue
            if callable(progress):
                done += 1
                progress(Built(order.name, done, len(orders), None, is_found=True))
    return missing


def plan() -> ModelPlan:
    """Return an empty plan; set-ups collect in it inside `with ff.plan() as model:`."""
    return ModelPlan()


def _keep(report: LoopReport) -> None:
    """Add what was compiled to the report at exit and to the metrics, which are written then."""
    seconds = {name: report.seconds[name] for name in report.compiles}
    _add_to_total(report.compiles, sum(seconds.values()))
    if not metrics.is_any_level_enabled():
        return
    for name, count in report.compiles.items():
        source = metrics.get_source(f"{name}<compiled in the time loop>", assign_current=False)
        source.metadata.update(name=name, compiles=source.metadata.get("compiles", 0) + count)
        source.metrics["compile"].add_sample(report.seconds[name])


EVENT: Final = "loops.compiled"
_compiles: Final[dict[str, int]] = {}
_seconds: Final[list[float]] = []


def _add_to_total(compiles: Mapping[str, int], seconds: float) -> None:
    """Add what one loop has compiled; the first one asks for the report at exit."""
    if not compiles:
        return
    if not _compiles:
        atexit.register(_tell_total)
    for name, count in compiles.items():
        _compiles[name] = _compiles.get(name, 0) + count
    _seconds.append(seconds)


def _tell_total() -> None:
    """Log the total; `FIELDFORGE_LOG=warning` prints it."""
    get_logger().warning(
        EVENT,
        variants=sum(_compiles.values()),
        seconds=round(sum(_seconds), 2),
        programs=", ".join(f"{name}: {count}" for name, count in sorted(_compiles.items())),
    )
