"""Builds in the background: start them, wait for them."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Lock
from typing import Any

from ...runtime.process import classes, current
from .call_builds import awaited_builds
from .order import Order
from .pool import BuildPool


@classes.define(eq=False)
class Build:
    """A build in progress; the first caller of `result` gets its error."""

    program: str
    future: Future[Any]
    told: bool = False

    def result(self) -> Any:
        """Wait for the build and return the entry."""
        try:
            return self.future.result()
        except Exception:
            self.told = True
            raise
        except BaseException:  # for instance Ctrl-C
            _cancel_all()
            raise

    def mark_told(self) -> None:
        """Remember that the caller got the error; it is raised once."""
        self.told = True


_under_way: list[Build] = []
_batches: dict[int, BuildPool] = {}  # by the number of jobs
_beginning = Lock()


def begin(order: Order) -> Build:
    """Start a build; the settings limit how many run at once."""
    jobs = current().jobs
    with _beginning:
        batch = _batches.setdefault(jobs, BuildPool(jobs))
        batch.forget_done()
        build = Build(order.name, batch.add_order(order))
        _under_way[:] = [each for each in _under_way if not _is_settled(each)]
        _under_way.append(build)
    return build


def wait_for_compilation() -> None:
    """Wait for all builds that `compile` has started, and for those of calls on the first tier.

    Afterwards every call that was made before takes compiled code, so a benchmark waits here after
    its first calls. One failed build raises its error, several raise an `ExceptionGroup`. Each
    failure is raised once.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=ff.cpu)
    ... def halved(u: Line) -> Line:
    ...     return 0.5 * u
    >>> halved.compile()  # returns at once
    <field_operator halved (cpu)>
    >>> wait_for_compilation()
    """
    for each in awaited_builds():
        begin(each.order).future.add_done_callback(each.settle)
    waiting = list(_under_way)
    del _under_way[: len(waiting)]
    errors: list[Exception] = []
    for build in waiting:
        error = _error_of(build)
        if error is None or build.told:
            continue
        build.mark_told()
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
    except BaseException:  # an error of the waiting, not of the build
        _cancel_all()
        raise


def _cancel_all() -> None:
    """Drop waiting builds and end the compilers of running ones."""
    for jobs in tuple(_batches):
        _batches.pop(jobs).cancel()


def _is_settled(build: Build) -> bool:
    return build.future.done() and (build.told or build.future.exception() is None)
