"""Builds that go on while the caller does something else."""

from __future__ import annotations

import functools
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

import attrs

from ..runtime.settings import current
from .executors import pool


@attrs.define(eq=False)
class Build:
    """A build under way; a failure is raised to the first who asks."""

    program: str
    future: Future[Any]
    told: bool = False

    def result(self) -> Any:
        """Wait, and return what was built."""
        try:
            return self.future.result()
        except Exception:
            self.told = True
            raise


_under_way: list[Build] = []


def begin(program: str, task: Callable[[], Any]) -> Build:
    """Start a build, in a pool of as many threads as the settings allow."""
    build = Build(program, _pool(current().jobs).submit(task))
    _under_way[:] = [each for each in _under_way if not _is_settled(each)]
    _under_way.append(build)
    return build


def wait_for_compilation() -> None:
    """Wait for everything that `compile` has started.

    One build that failed raises its error, several an `ExceptionGroup`; each failure is
    raised once.
    """
    waiting = list(_under_way)
    del _under_way[: len(waiting)]
    errors: list[Exception] = []
    for build in waiting:
        error = build.future.exception()
        if error is None or build.told:
            continue
        build.told = True
        if not isinstance(error, Exception):
            raise error
        errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup(f"{len(errors)} programs were not built", errors)


def _is_settled(build: Build) -> bool:
    return build.future.done() and (build.told or build.future.exception() is None)


@functools.lru_cache(maxsize=4)
def _pool(jobs: int) -> Executor:
    return pool(jobs)
