"""Run the steps of a plan in the caller, and independent ones beside it in threads."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context

from ..graph.edges import Step


def run_side_by_side(plan: Sequence[Step], work: Callable[[Step], None], most: int) -> None:
    """Run `work` on every step as soon as its inputs are ready, on at most `most` threads.

    The caller runs a chain by itself. The error of the first step that failed is raised, in the
    order of the plan; steps that run beside it finish first.

    >>> run_side_by_side([], print, 2)
    """
    _Run(plan, work, most).whole()


def dependencies(plan: Sequence[Step]) -> tuple[dict[str, int], dict[str, list[Step]]]:
    """Count the open sources of each step, and list its users; workflow inputs are ready."""
    consumers: dict[str, list[Step]] = {step.name: [] for step in plan}
    waiting = {}
    for step in plan:
        sources = sorted({str(feed.source) for feed in step.feeds if feed.source in consumers})
        waiting[step.name] = len(sources)
        for source in sources:
            consumers[source].append(step)
    return waiting, consumers


class _Run:
    """The steps that are ready, and the threads that run them."""

    def __init__(self, plan: Sequence[Step], work: Callable[[Step], None], most: int) -> None:
        self._plan, self._work, self._most = plan, work, most
        self._place = {step.name: index for index, step in enumerate(plan)}
        self._waiting, self._consumers = dependencies(plan)
        self._ready = [self._place[name] for name, count in self._waiting.items() if count == 0]
        # begins like the name of the caller, so that a pool of builds ends these compilers too
        self._name = f"{threading.current_thread().name}-stage"
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._busy = 1  # the caller
        self._failures: dict[int, BaseException] = {}
        self._is_over = False

    def whole(self) -> None:
        """Run all steps; returns when no thread is left."""
        try:
            self._go_on()
            self._join()
        except BaseException:  # Ctrl-C while it waits
            self._end(at_once=True)
            self._join()
            raise
        if self._failures:
            raise self._failures[min(self._failures)]

    def _go_on(self) -> None:
        """Run steps until none is ready."""
        index = self._next()
        while index is not None:
            try:
                self._work(self._plan[index])
            except BaseException as error:  # raised again in the caller
                self._failures[index] = error
                self._end(at_once=not isinstance(error, Exception))
            else:
                self._finish(self._plan[index])
            index = self._next()
        with self._lock:
            self._busy -= 1

    def _join(self) -> None:
        for thread in self._threads:  # a thread that runs may add another
            thread.join()

    def _end(self, *, at_once: bool) -> None:
        """Begin no more steps; `at_once` ends the compilers of those that run in threads."""
        with self._lock:
            self._is_over = True
            self._ready.clear()
        if at_once:
            from ...stages.compile.running import stop_compilers

            stop_compilers(self._name)

    def _finish(self, step: Step) -> None:
        with self._lock:
            for consumer in self._consumers[step.name]:
                self._waiting[consumer.name] -= 1
                if self._waiting[consumer.name] == 0 and not self._is_over:
                    self._ready.append(self._place[consumer.name])

    def _next(self) -> int | None:
        """Take the first step that is ready; start threads for the others."""
        with self._lock:
            if not self._ready:
                return None
            index = min(self._ready)
            self._ready.remove(index)
            for _ in range(min(len(self._ready), self._most - self._busy)):
                # the context has the policy and the slots for compilers of the caller
                thread = threading.Thread(
                    target=copy_context().run, args=(self._go_on,), name=self._name
                )
                self._threads.append(thread)
                self._busy += 1
                thread.start()
            return index
