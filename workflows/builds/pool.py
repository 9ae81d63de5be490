"""`BuildPool`: run several builds at a time, in threads, processes or an executor; show them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from threading import BoundedSemaphore, Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Self, TypeAlias, TypeVar

from ...runtime.process import classes
from ..engine.executors import WorkerLostError, Workers
from ..engine.request import RequestError, fulfil, read_reply
from .order import Order

if TYPE_CHECKING:
    from ...stages.compile.running import Slots

E = TypeVar("E", bound=BaseException)

FEW: Final = 4  # builds per job; fewer finish in threads before a worker process has started
MOST_WAITING: Final = 64  # threads that wait for an external executor


@classes.define(eq=False)
class BuildPool:
    """Builds in progress; leaving the `with` block waits for all of them.

    `expected` is the number of builds, if known. The `with` block shows `progress`; a function
    given as `progress` is also called without a block. `was_stored` says for each order whether
    the store had it before; it is empty where nobody looked.
    """

    jobs: int = 1
    progress: Progress = None
    _executor: Executor | None = classes.field(default=None, repr=False)
    expected: int = 0
    _futures: list[tuple[str, Future[Any]]] = classes.field(factory=list, init=False, repr=False)
    orders: list[Order] = classes.field(factory=list, init=False, repr=False)
    was_stored: list[list[bool]] = classes.field(factory=list, init=False, repr=False)
    _threads: ThreadPoolExecutor | None = classes.field(default=None, init=False, repr=False)
    _workers: Workers | None = classes.field(default=None, init=False, repr=False)
    _budget: BoundedSemaphore = classes.field(init=False, repr=False)
    _slots: Slots = classes.field(init=False, repr=False)
    _is_over: bool = classes.field(default=False, init=False, repr=False)
    _observe: Observe | None = classes.field(default=None, init=False, repr=False)
    _shown: ExitStack = classes.field(factory=ExitStack, init=False, repr=False)
    _telling: Lock = classes.field(factory=Lock, init=False, repr=False)
    _done: int = classes.field(default=0, init=False, repr=False)
    _refusal: BaseException | None = classes.field(default=None, init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        from ...stages.compile.running import Slots

        self._budget = BoundedSemaphore(max(self.jobs, 1))
        self._slots = Slots(self.jobs)
        self._observe = self.progress if callable(self.progress) else None

    def add_order(self, order: Order) -> Future[Any]:
        """Start to build one variant; the future returns its entry."""
        if self._threads is None:
            count = max(self.jobs, 1) if self._executor is None else MOST_WAITING
            self._threads = ThreadPoolExecutor(count, thread_name_prefix=self._thread_names)
        remote = self._executor or self._own_workers()
        stored: list[bool] = []  # filled by the build, read by the progress report
        future = self._threads.submit(self._build, order, remote, stored)
        self._futures.append((order.name, future))
        self.orders.append(order)
        self.was_stored.append(stored)
        future.add_done_callback(partial(self._tell, order.name, stored))
        return future

    def forget_done(self) -> None:
        """Release the orders and results of builds that are done."""
        left = [place for place, (_, future) in enumerate(self._futures) if not future.done()]
        self._futures = [self._futures[place] for place in left]
        self.orders = [self.orders[place] for place in left]
        self.was_stored = [self.was_stored[place] for place in left]

    def wait(self) -> None:
        """Wait for all builds; raise an `ExceptionGroup` of every error, in order.

        An interrupt such as Ctrl-C stops the remaining builds, ends their compilers and removes
        their temporary files.
        """
        found = zip(self._futures, self.settle(), strict=True)
        errors = [named(error, name) for (name, _), error in found if error is not None]
        if errors:
            message = f"{len(errors)} of {len(self._futures)} programs were not built"
            raise BaseExceptionGroup(message, errors)

    def settle(self, within: float | None = None) -> list[BaseException | None]:
        """Wait for all builds; return the error of each, or None, in order.

        Builds that take more than `within` seconds are stopped: theirs is a `TimeoutError`.
        """
        futures = [future for _, future in self._futures]
        try:
            late = wait(futures, within).not_done if within is not None else set()
            if late:
                self.cancel()
            for _ in as_completed(set(futures) - late):
                self._raise_refusal()
        except BaseException:
            self.cancel()
            raise
        self.close()  # waits for the last progress report
        self._raise_refusal()
        said = f"It is not built within {within or 0.0:.1f} seconds."
        return [TimeoutError(said) if each in late else each.exception() for each in futures]

    def outcomes(self) -> Iterator[tuple[Order, BaseException | None, Sequence[bool]]]:
        """Wait for all builds; return order, error and whether the store had it, for each."""
        return zip(self.orders, self.settle(), self.was_stored, strict=True)

    def cancel(self) -> None:
        """Drop waiting builds and stop running ones, compilers included."""
        from ...stages.compile.running import stop_compilers

        self._is_over = True
        for _, future in self._futures:
            future.cancel()
        if self._workers is not None:
            self._workers.shutdown(cancel_futures=True)
        running = {future for _, future in self._futures}
        while running:  # a thread may be about to start a compiler
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
        """Report a finished build to the observer, one at a time, from the building thread.

        An exception of the observer is raised where the caller waits.
        """
        if self._observe is None or future.cancelled():
            return
        with self._telling:
            self._done += 1
            total = max(self.expected, len(self._futures))
            try:
                self._observe(Built(name, self._done, total, future.exception(), any(stored)))
            except BaseException as error:
                self._refusal = self._refusal or error

    def _raise_refusal(self) -> None:
        if self._refusal is not None:
            raise self._refusal

    def _own_workers(self) -> Workers | None:
        """Return worker processes for the Python passes, if the number of builds justifies them."""
        if self.jobs <= 1 or max(self.expected, len(self._futures)) < FEW * self.jobs:
            return None
        if self._workers is None:
            self._workers = Workers(self.jobs)
        return self._workers

    def _build(self, order: Order, remote: Executor | None, stored: list[bool]) -> Any:
        """Build one variant, in another process if it can be sent there and is not stored yet."""
        request = None
        if self._observe is not None or remote is not None:
            stored.append(order.is_stored())
        if remote is not None and not any(stored):
            request = order.request()
        if remote is None or request is None:
            return self._build_here(order)
        content = request.encode(results=remote is self._executor)
        try:
            reply = read_reply(remote.submit(fulfil, content).result())
            return order.take(reply)
        except (WorkerLostError, RequestError):
            if self._is_over:
                raise
            return self._build_here(order)

    def _build_here(self, order: Order) -> Any:
        from ...stages.compile.running import using_slots

        with self._budget, using_slots(self._slots):
            return order.build()

    def _repr_html_(self) -> str:
        from ..reports.page import overview_fragment
        from .viewing import views_of_builds

        views = views_of_builds(self.outcomes(), whole=False)
        return overview_fragment(f"{len(self.orders)} builds", list(views))

    def close(self) -> None:
        """Release threads and processes once they are done."""
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        if self._workers is not None:
            self._workers.shutdown()
        self._threads = self._workers = None


def named(error: E, program: str) -> E:
    """Add a note that names the program to an error."""
    note = f"While compiling '{program}'."
    if note not in getattr(error, "__notes__", ()):
        error.add_note(note)
    return error


@classes.frozen
class Built:
    """One of many builds has finished; `error` is its error, if it failed.

    `is_found` says that the store had it already, so nothing was built.
    """

    program: str
    done: int
    total: int
    error: BaseException | None = None
    is_found: bool = False


Observe: TypeAlias = Callable[[Built], None]
Progress: TypeAlias = Observe | Literal["auto"] | None


@contextmanager
def shown(progress: Progress, total: int) -> Iterator[Observe | None]:
    """Yield the observer; 'auto' draws a bar on a terminal and otherwise prints lines.

    A `total` of 0 means that the number is unknown.
    """
    if progress != "auto":
        yield progress
        return
    if not sys.stderr.isatty():
        yield tell_lines
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("building"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task: Any = bar.add_task("building", total=total or None, last="")

        def show(built: Built) -> None:
            if built.error is not None:
                bar.console.print(f"[red]failed[/red] {built.program}")
            bar.update(task, completed=built.done, total=built.total, last=built.program)

        yield show


def tell_lines(built: Built) -> None:
    """Print one line per program, for logs and batch jobs."""
    state = "found" if built.is_found else "built"
    if built.error is not None:
        state = f"failed: {type(built.error).__name__}"
    width = len(str(built.total))
    print(f"[{built.done:>{width}}/{built.total}] {built.program}: {state}", file=sys.stderr)  # noqa: T201
