"""Run the steps of a plan on an executor, each as soon as its inputs are ready."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait

from ..graph.edges import Step
from .side_by_side import dependencies


def drive(plan: Sequence[Step], work: Callable[[Step], None], executor: Executor) -> None:
    """Run `work` on every step; the first error cancels waiting steps and is raised.

    Running steps finish first, so that none is left behind.
    """
    place = {step.name: index for index, step in enumerate(plan)}
    waiting, consumers = dependencies(plan)
    ready = [step for step in plan if waiting[step.name] == 0]
    running: dict[Future[None], Step] = {}
    failure: BaseException | None = None
    while running or (ready and failure is None):
        for step in ready:
            future = executor.submit(work, step)
            running[future] = step
            if future.done() and future.exception() is not None:
                break  # a serial executor has failed already; skip the others
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        ready = []
        for future in sorted(done, key=lambda future: place[running[future].name]):
            step = running.pop(future)
            if future.cancelled():
                continue
            failure = failure or future.exception()
            for consumer in consumers[step.name]:
                waiting[consumer.name] -= 1
                if waiting[consumer.name] == 0:
                    ready.append(consumer)
        if failure is not None:
            ready = []
            for future in running:
                future.cancel()
    if failure is not None:
        raise failure
