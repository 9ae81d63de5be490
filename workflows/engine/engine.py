"""`Engine`: run workflows; every result is cached under the content of its inputs."""

from __future__ import annotations

import functools
import os
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ...cache.memory import Memory, SingleFlight
from ...cache.opening import open_store
from ...cache.root import VERSION
from ...cache.store import Store
from ...runtime.process import Settings, WorkflowError, classes, current, get_logger
from ...stages.base import Stage
from ..graph.edges import Step
from ..graph.graph import Workflow
from .deep import Shortcut, find_shortcut, keep_shortcut
from .events import Event, Hit, Observer, log_event
from .handle import Handle, Result, given
from .job import Job, Resources
from .policy import Policy, current_policy
from .side_by_side import run_side_by_side

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from .dump import Dump


def _as_tuple(observers: Iterable[Observer]) -> tuple[Observer, ...]:
    return tuple(observers)


@classes.frozen(eq=False)
class Engine:
    """Runs workflows over one store; threads may share it.

    The engine looks for a result in this process, then in the store, and runs the stage on a
    miss. Stages that do not need each other run at the same time: those of a chain in the caller,
    others beside it in threads, or all on `executor`. With the setting `jobs=0` they run in turn.

    >>> import fieldforge as ff
    >>> with ff.using(Engine()) as own:  # its store is the memory of this process
    ...     ff.engine() is own
    True
    """

    store: Store = classes.field(factory=Memory)
    executor: Executor | None = None
    observers: tuple[Observer, ...] = classes.field(default=(), converter=_as_tuple)
    dump: Dump | None = None
    _resources: Resources = classes.field(init=False, repr=False)
    _known: WeakKeyDictionary[Any, tuple[Stage, Result]] = classes.field(
        factory=WeakKeyDictionary, init=False, repr=False
    )

    @_resources.default
    def _set_up(self) -> Resources:
        path = self.store.path
        memo = os.path.join(path, VERSION, "sources") if path is not None else None
        return Resources(self.store, SingleFlight(), self.tell, memo, bool(self.observers))

    def run(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any],
        *,
        until: Sequence[str] = (),
        program: str = "workflow",
        deep: bool = True,
        trust: bool = False,
        load: bool = True,
        policy: Policy | None = None,
        afresh: Collection[str] = (),
        found: Shortcut | None = None,
    ) -> Mapping[str, Result]:
        """Run the stages that `until` depends on (all, by default) and return results by stage.

        Args:
            workflow: the stages.
            inputs: the inputs of the workflow.
            until: the last stages to run.
            program: the name in records, events and errors.
            deep: skip the stages that the deep record covers; their results are not returned.
            trust: reuse the results of prerequisites that are the same objects.
            load: also run the stages whose results are never stored.
            policy: what may run; the default is the policy of the innermost block.
            afresh: stages that run even if their results are known, and replace these.
            found: what `look` has found for this workflow and these inputs.

        """
        flow = workflow.upto(*until) if until else workflow
        _require(flow, inputs)
        outside = {need: given(inputs[need]) for need in flow.inputs}
        is_deep = deep and not self.dump
        shortcut = self._shortcut(flow, outside, program, found) if is_deep else None
        if shortcut is not None and afresh:
            shortcut = classes.evolve(shortcut, results={}, remaining=frozenset(flow.names))
        results: dict[str, Result] = dict(shortcut.results) if shortcut else {}
        remaining = shortcut.remaining if shortcut else flow.names
        may = policy or current_policy()
        plan = [
            step
            for step in flow.plan
            if step.name in remaining and (load or step.stage.cache != "never")
        ]

        def work(step: Step) -> None:
            feeds = {
                feed.need: results[feed.source].outputs[feed.port]
                if feed.source
                else outside[feed.need]
                for feed in step.feeds
            }
            results[step.name] = self._step(step, feeds, program, trust, may, step.name in afresh)

        self._work_through(plan, work)
        results = {step.name: results[step.name] for step in flow.plan if step.name in results}
        if shortcut is not None and not shortcut.results:
            keep_shortcut(self.store, shortcut, results, program)
        for result in results.values():
            for handle in result.outputs.values():
                handle.drop_files()
        return results

    def look(
        self,
        workflow: Workflow,
        inputs: Mapping[str, Any],
        *,
        until: Sequence[str] = (),
        program: str = "workflow",
    ) -> Shortcut | None:
        """Look up the deep record of a build without running it; None if the workflow has none."""
        flow = workflow.upto(*until) if until else workflow
        _require(flow, inputs)
        outside = {need: given(inputs[need]) for need in flow.inputs}
        return find_shortcut(self.store, flow, outside, program, self._resources.memo)

    def tell(self, event: Event) -> None:
        """Send an event to all observers."""
        for observer in self.observers:
            observer(event)

    def _work_through(self, plan: Sequence[Step], work: Callable[[Step], None]) -> None:
        if self.executor is not None:
            from .schedule import drive

            drive(plan, work, self.executor)
        elif len(plan) < 2 or not current().jobs:
            for step in plan:
                work(step)
        else:
            run_side_by_side(plan, work, current().jobs)

    def _shortcut(
        self,
        flow: Workflow,
        outside: Mapping[str, Handle],
        program: str,
        found: Shortcut | None,
    ) -> Shortcut | None:
        began = time.perf_counter()
        memo = self._resources.memo
        shortcut = found or find_shortcut(self.store, flow, outside, program, memo)
        for result in shortcut.results.values() if shortcut else ():
            seconds = time.perf_counter() - began
            self.tell(Hit(program, result.name, result.key, "deep", seconds))
        return shortcut

    def _step(
        self,
        step: Step,
        feeds: Mapping[str, Handle],
        program: str,
        trust: bool,
        may: Policy,
        afresh: bool,
    ) -> Result:
        job = Job(self._resources, step.name, step.stage, feeds, program, may, afresh)
        result = job.result(lambda: self._earlier(step, feeds, program, trust))
        if type(step.stage).prerequisites is not Stage.prerequisites:
            self._remember(step.stage, feeds, result)
        for event in self.dump.write(result) if self.dump else ():
            self.tell(event)
        return result

    def _earlier(
        self, step: Step, feeds: Mapping[str, Handle], program: str, trust: bool
    ) -> tuple[Result, ...]:
        """Run the same stage for its prerequisites first, each once and in order."""
        from .prerequisites import in_order  # a stage asks for them when it runs

        done: dict[int, Result] = {}

        def is_known(inputs: Mapping[str, Handle]) -> bool:
            return trust and self._recall(step.stage, inputs) is not None

        for node in in_order(step.stage, feeds, program, is_known):
            earlier = tuple(done[id(child)] for child in node.children)
            if node.feeds is feeds:
                return earlier
            known = self._recall(step.stage, node.feeds) if trust else None
            job = Job(self._resources, step.name, step.stage, node.feeds, node.program)
            done[id(node)] = known or job.result(lambda earlier=earlier: earlier)  # type: ignore[misc]  # mypy cannot type a lambda's default
        return ()

    def _remember(self, stage: Stage, feeds: Mapping[str, Handle], result: Result) -> None:
        """Cache the result with its one input; both are freed together."""
        if len(feeds) == 1 and hasattr(type(value := _only(feeds)), "__weakref__"):
            self._known[value] = stage, result

    def _recall(self, stage: Stage, feeds: Mapping[str, Handle]) -> Result | None:
        if len(feeds) != 1 or not hasattr(type(value := _only(feeds)), "__weakref__"):
            return None
        known = self._known.get(value)
        return known[1] if known is not None and known[0] == stage else None


def _only(feeds: Mapping[str, Handle]) -> Any:
    return next(iter(feeds.values())).get()


def _require(flow: Workflow, inputs: Mapping[str, Any]) -> None:
    missing = [need for need in flow.inputs if need not in inputs]
    if missing:
        names = ", ".join(f"'{need}'" for need in missing)
        raise WorkflowError(
            f"The workflow needs the input {names}, got {', '.join(sorted(inputs)) or 'none'}.",
            hints=["Give it to 'run', or add a stage that provides it."],
        )


ROUTINE = ("store.kept", "store.swept", "store.pruned")

_chosen: list[Engine] = []


class StoreWarning(UserWarning):
    """The store could not read or write something, so that it is built again."""


def engine() -> Engine:
    """Return the engine of this process; its store is opened at first use.

    >>> type(engine()).__name__
    'Engine'
    """
    return _chosen[-1] if _chosen else _engine_for(current())


@contextmanager
def using(chosen: Engine) -> Iterator[Engine]:
    """Use the engine `chosen` for every build inside the block, in all threads.

    >>> with using(Engine()) as own:
    ...     engine() is own
    True
    """
    _chosen.append(chosen)
    try:
        yield chosen
    finally:
        _chosen.remove(chosen)


@functools.lru_cache(maxsize=8)
def _engine_for(settings: Settings) -> Engine:
    store = open_store(settings, tell_of_store)
    if not settings.dump:
        return Engine(store, observers=[log_event])
    from .dump import Dump

    dump = Dump(settings.cache_dir / "dump", frozenset(settings.dump))
    return Engine(store, observers=[log_event], dump=dump)


def tell_of_store(name: str, **facts: Any) -> None:
    """Log an event of the store; a fault, which has an error for the user, is a warning too."""
    logger = get_logger("fieldforge.store")
    (logger.debug if name in ROUTINE else logger.warning)(name, **facts)
    error = facts.get("error")
    if error is not None:
        warnings.warn(StoreWarning(str(error)), stacklevel=2)
