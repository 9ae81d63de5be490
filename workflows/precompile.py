"""Build many programs at once, and report every error under the name of its program."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from types import TracebackType
from typing import Any, Self

import attrs

from ..runtime.settings import current
from .executors import pool


@attrs.frozen
class Built:
    """One of many programs is done; `error` says how it failed."""

    program: str
    done: int
    total: int
    error: BaseException | None = None


@attrs.define(eq=False)
class Precompilation:
    """Programs that are being built; leaving the `with` block waits for all of them."""

    jobs: int = 1
    progress: Callable[[Built], None] | None = None
    _executor: Executor | None = attrs.field(default=None, repr=False)
    _futures: list[tuple[str, Future[Any]]] = attrs.field(factory=list, init=False, repr=False)
    _pool: Executor | None = attrs.field(default=None, init=False, repr=False)

    def add(self, program: Any, **static: Any) -> None:
        """Begin to build a program for the default layout of its fields."""
        if self._pool is None:
            self._pool = self._executor or pool(self.jobs)
        future = self._pool.submit(program.build, **static)
        self._futures.append((str(program.__name__), future))

    def wait(self) -> None:
        """Wait for all; raise an `ExceptionGroup` with every error, in order."""
        errors: list[Exception] = []
        try:
            for number, (name, future) in enumerate(self._futures, start=1):
                error = future.exception()
                if isinstance(error, Exception):
                    errors.append(_named(error, name))
                elif error is not None:
                    raise error
                if self.progress is not None:
                    self.progress(Built(name, number, len(self._futures), error))
        finally:
            self._close()
        if errors:
            raise ExceptionGroup(f"{len(errors)} of {self._total} programs were not built", errors)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self.wait()
        else:
            for _, future in self._futures:
                future.cancel()
            self._close()

    @property
    def _total(self) -> int:
        return len(self._futures)

    def _close(self) -> None:
        if self._pool is not None and self._pool is not self._executor:
            self._pool.shutdown(cancel_futures=True)
        self._pool = None


def precompile(
    programs: Iterable[Any] = (),
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[Built], None] | None = None,
) -> Precompilation:
    """Build many programs, several at a time.

    With programs, wait for them; without, use it in a `with` statement and `add` them. Errors come
    together in one `ExceptionGroup`, each with a note that names its program.

        precompile([diffusion, advection], jobs=8)
        with precompile(jobs=8) as builds:
            builds.add(diffusion)
    """
    made = Precompilation(current().jobs if jobs is None else jobs, progress, executor)
    given = tuple(programs)
    for program in given:
        made.add(program)
    if given:
        made.wait()
    return made


def _named(error: Exception, name: str) -> Exception:
    note = f"While compiling '{name}'."
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error
