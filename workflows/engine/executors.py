"""Executors for builds: serial, threads, worker processes; any executor of Python works."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Final, ParamSpec, TypeVar

from ...runtime.process import FieldforgeError
from .worker import receive, send

P = ParamSpec("P")
T = TypeVar("T")

PACKAGE: Final = __name__.partition(".")[0]
_PATIENCE: Final = 5.0  # seconds a worker may take to clean up


class Serial(Executor):
    """Runs each task immediately, in the submitting thread.

    >>> Serial().submit(pow, 2, 5).result()
    32
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the task and return a finished future."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # the future raises every error where its result is read
            future.set_exception(error)
        return future


def pool(jobs: int) -> Executor:
    """Return `Serial()` for one job, else a thread pool; use it in a `with` statement."""
    return Serial() if jobs <= 1 else ThreadPoolExecutor(jobs, thread_name_prefix="fieldforge")


class WorkerLostError(FieldforgeError, RuntimeError):
    """A worker process died twice on one task: killed, or out of memory."""


class Workers(Executor):
    """A pool of worker processes that never import the running script.

    A worker starts when there is work for it. The pool replaces one that dies and retries its task
    once. Functions and arguments are pickled.

    >>> with Workers(1) as workers:
    ...     workers.submit(pow, 2, 5).result()
    32
    """

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(max(jobs, 1), thread_name_prefix="fieldforge-worker")
        self._own = threading.local()
        self._started: list[Worker] = []
        self._is_over = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run an importable function in a worker process."""
        if kwargs:
            raise TypeError("Tasks of 'Workers' take positional arguments.")
        return self._threads.submit(self._call, fn, args)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End idle workers; with `cancel_futures` busy ones too."""
        self._is_over = self._is_over or cancel_futures
        if cancel_futures:
            self.stop()
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        if wait:
            self.stop()

    def stop(self) -> None:
        """End all workers; each ends its compiler first."""
        started, self._started[:] = list(self._started), []
        for worker in started:
            worker.ask_to_leave()
        for worker in started:
            worker.wait()

    def _call(self, fn: Callable[..., T], args: tuple[Any, ...]) -> T:
        content = pickle.dumps((fn, args, sys.path))
        for _ in range(2):
            answer = None if self._is_over else self._mine().ask(content)
            if answer is not None:
                is_good, value = pickle.loads(answer)
                if is_good:
                    return value  # type: ignore[no-any-return]  # what `fn` returned
                raise value
            self._own.worker = None
            if self._is_over:
                break
        raise WorkerLostError(
            "A worker process died before it answered.",
            hints=["The machine may have run out of memory; build fewer programs at a time."],
        )

    def _mine(self) -> Worker:
        """Return the worker of this thread."""
        worker: Worker | None = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = Worker()
            self._started.append(worker)
        return worker


class Worker:
    """One child process and the pipes to it."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", f"{PACKAGE}.workflows.engine.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0,
            # NumPy's threads spin while it is imported, one for each core in every worker.
            env={"OPENBLAS_NUM_THREADS": "1", **os.environ},
        )  # fmt: skip

    def ask(self, content: bytes) -> bytes | None:
        """Send a message and wait for the answer; None if the process has died."""
        assert self.process.stdin is not None, "it was asked for"
        assert self.process.stdout is not None, "it was asked for"
        try:
            send(self.process.stdin, content)  # type: ignore[arg-type]  # a binary pipe
            return receive(self.process.stdout)  # type: ignore[arg-type]  # the same
        except (OSError, ValueError):
            return None

    def ask_to_leave(self) -> None:
        """Ask the process to end its compiler and itself."""
        with suppress(OSError):
            self.process.terminate()

    def wait(self) -> None:
        """Wait until the process ends; kill it when that takes too long."""
        try:
            self.process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
