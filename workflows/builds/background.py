"""Builds that go on while the caller does something else."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

import attrs

from ...runtime.process.settings import current
from .order import Order
from .pool import BuildPool


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
        except BaseException:  # Ctrl-C, say
            _cancel_all()
            raise


_under_way: list[Build] = []
_batches: dict[int, BuildPool] = {}  # by the number of jobs


def begin(order: Order) -> Build:
    """Start a build; as many go on at once as the settings allow."""
    jobs = current().jobs
    batch = _batches.setdefault(jobs, BuildPool(jobs))
    build = Build(order.name, batch.add_order(order))
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
        error = _error_of(build)
        if error is None or build.told:
            continue
        build.told = True
        if not isinstance(error, Exception):
            raise error
        errors.append(error)
    if not _under_way:
        for jobs in tuple(_batches):
            _batches.pop(jobs).close()
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup(f"{len(errors)} programs were not built", errors)


def _error_of(build: Build) -> BaseException | None:
    try:
        return build.future.exception()
    except BaseException:  # of the waiting, not of the build
        _cancel_all()
        raise


def _cancel_all() -> None:
    """Drop what has not begun and end the compilers of what has."""
    for jobs in tuple(_batches):
        _batches.pop(jobs).cancel()


def _is_settled(build: Build) -> bool:
    return build.future.done() and (build.told or build.future.exception() is None)
