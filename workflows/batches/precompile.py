"""Build many programs at once, and report every error under the name of its program."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack
from functools import partial
from threading import BoundedSemaphore, Lock
from types import TracebackType
from typing import Any, Final, Self, TypeVar

import attrs

from ...cache.store import Store
from ...runtime.process.settings import current
from ..engine.executors import WorkerLostError, Workers
from ..engine.request import RequestError, fulfil, read_reply
from ..engine.session import engine, using
from .orders import Order, orders_of
from .progress import Built, Observe, Progress, shown

E = TypeVar("E", bound=BaseException)

FEW: Final = 4  # builds a job; fewer are done in threads before a worker has even started
MOST_WAITING: Final = 64  # threads that wait for an executor


@attrs.define(eq=False)
class Precompilation:
    """Programs that are being built; leaving the `with` block waits for all of them.

    `expected` is how many there will be, if that is known. `progress` is shown from entering the
    block to leaving it; without a block a function is told all the same.
    """

    jobs: int = 1
    progress: Progress = None
    _executor: Executor | None = attrs.field(default=None, repr=False)
    expected: int = 0
    _futures: list[tuple[str, Future[Any]]] = attrs.field(factory=list, init=False, repr=False)
    _threads: ThreadPoolExecutor | None = attrs.field(default=None, init=False, repr=False)
    _workers: Workers | None = attrs.field(default=None, init=False, repr=False)
    _budget: BoundedSemaphore = attrs.field(init=False, repr=False)
    _is_over: bool = attrs.field(default=False, init=False, repr=False)
    _observe: Observe | None = attrs.field(default=None, init=False, repr=False)
    _shown: ExitStack = attrs.field(factory=ExitStack, init=False, repr=False)
    _telling: Lock = attrs.field(factory=Lock, init=False, repr=False)
    _done: int = attrs.field(default=0, init=False, repr=False)
    _refusal: BaseException | None = attrs.field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        self._budget = BoundedSemaphore(max(self.jobs, 1))
        self._observe = self.progress if callable(self.progress) else None

    def add(self, program: Any, offset_provider: Any = None, **static: Any) -> None:
        """Begin to build a program for the default layout of its fields."""
        for order in orders_of(program, offset_provider, **static):
            self.add_order(order)

    def add_order(self, order: Order) -> Future[Any]:
        """Begin to build one variant of a program; the future gives what calls need."""
        if self._threads is None:
            count = max(self.jobs, 1) if self._executor is None else MOST_WAITING
            self._threads = ThreadPoolExecutor(count, thread_name_prefix=self._thread_names)
        remote = self._executor or self._own_workers()
        stored: list[bool] = []  # filled by the build, read when it is told of
        future = self._threads.submit(self._build, order, remote, stored)
        self._futures.append((order.name, future))
        future.add_done_callback(partial(self._tell, order.name, stored))
        return future

    def wait(self) -> None:
        """Wait for all; raise an `ExceptionGroup` with every error, in the order of the programs.

        Whatever ends the waiting, such as Ctrl-C, ends all that goes on: no compiler is left, and
        no file.
        """
        found = zip(self._futures, self.settle(), strict=True)
        errors = [named(error, name) for (name, _), error in found if error is not None]
        if errors:
            message = f"{len(errors)} of {len(self._futures)} programs were not built"
            raise BaseExceptionGroup(message, errors)

    def settle(self) -> list[BaseException | None]:
        """Wait for all, and return the error of each or None, in order."""
        futures = [future for _, future in self._futures]
        try:
            for _ in as_completed(futures):
                self._raise_refusal()
        except BaseException:
            self.cancel()
            raise
        self.close()  # waits until all is told
        self._raise_refusal()
        return [future.exception() for future in futures]

    def cancel(self) -> None:
        """Drop what has not begun and end what goes on."""
        from ...stages.compile.running import stop_compilers

        self._is_over = True
        for _, future in self._futures:
            future.cancel()
        if self._workers is not None:
            self._workers.shutdown(cancel_futures=True)
        running = {future for _, future in self._futures}
        while running:  # a thread may be just about to start a compiler
            stop_compilers(self._thread_names)
            running = wait(running, timeout=0.05).not_done
        self.close()

    @property
    def _thread_names(self) -> str:
        return f"fieldforge-{id(self):x}"

    def __enter__(self) -> Self:
        self._observe = self._shown.enter_context(shown(self.progress, self.expected))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._shown:
            if error is None:
                self.wait()
            else:
                self.cancel()

    def _tell(self, name: str, stored: Sequence[bool], future: Future[Any]) -> None:
        """Tell of a build that is done, in the thread that has done it and one at a time.

        What the observer raises ends the waiting.
        """
        if self._observe is None or future.cancelled():
            return
        with self._telling:
            self._done += 1
            total = max(self.expected, len(self._futures))
            try:
                self._observe(Built(name, self._done, total, future.exception(), any(stored)))
            except BaseException as error:  # raised where the caller waits
                self._refusal = self._refusal or error

    def _raise_refusal(self) -> None:
        if self._refusal is not None:
            raise self._refusal

    def _own_workers(self) -> Workers | None:
        """Return processes for the Python passes once there are enough builds to be worth it."""
        if self.jobs <= 1 or max(self.expected, len(self._futures)) < FEW * self.jobs:
            return None
        if self._workers is None:
            self._workers = Workers(self.jobs)
        return self._workers

    def _build(self, order: Order, remote: Executor | None, stored: list[bool]) -> Any:
        """Build one variant, elsewhere if it can travel and is not stored yet."""
        request = None
        if self._observe is not None or remote is not None:
            stored.append(order.is_stored())
        if remote is not None and not any(stored):
            request = order.request()
        if remote is None or request is None:
            with self._budget:
                return order.build()
        content = request.encode(results=remote is self._executor)
        try:
            reply = read_reply(remote.submit(fulfil, content).result())
            return order.take(reply)
        except (WorkerLostError, RequestError):
            if self._is_over:
                raise
            with self._budget:
                return order.build()

    def close(self) -> None:
        """Let threads and processes go once they are done."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        if self._workers is not None:
            self._workers.shutdown()
        self._threads = self._workers = None


def precompile(
    programs: Iterable[Any] = (),
    *,
    jobs: int | None = None,
    executor: Executor | None = None,
    store: Store | None = None,
    progress: Progress = "auto",
) -> Precompilation:
    """Build many programs, several at a time.

    With programs, wait for them; without, use it in a `with` statement and `add` them. A program
    may come as a pair with the arguments of its `compile`. Errors come together in one
    `ExceptionGroup`, each with a note that names its program.

        precompile([diffusion, (advection, {"n": [1, 2]})], jobs=8)
        with precompile(jobs=8) as builds:
            builds.add(diffusion)

    Args:
        programs: what to build.
        jobs: how many builds run at once, compilers included; by default those of the settings.
        executor: where builds run instead of here: any executor of `concurrent.futures`, such as
            `dask.distributed.Client.get_executor()` or `mpi4py.futures.MPIPoolExecutor`.
        store: where results go instead of the engine's store; only for `programs`.
        progress: a function that is told of each program as soon as it is done, by the thread
            that built it; 'auto' draws a bar on a terminal and elsewhere prints a line a program to
            standard error; None shows nothing.

    """
    given: list[tuple[Any, Any]] = [
        item if isinstance(item, tuple) else (item, {}) for item in programs
    ]
    made = Precompilation(current().jobs if jobs is None else jobs, progress, executor)
    if not given:
        return made
    with ExitStack() as stack:
        if store is not None:
            stack.enter_context(using(attrs.evolve(engine(), store=store)))
        wanted = [order for program, static in given for order in orders_of(program, **static)]
        made.expected = len(wanted)
        stack.enter_context(made)
        for order in wanted:
            made.add_order(order)
    return made


def named(error: E, program: str) -> E:
    """Note with an error which program it belongs to."""
    note = f"While compiling '{program}'."
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error
