"""Where stages run: in the caller or in a pool of threads; any executor of Python's fits."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class Serial(Executor):
    """Run each task at once, in the thread that submits it.

    >>> Serial().submit(pow, 2, 5).result()
    32
    """

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run the task and return a future that is done."""
        future: Future[T] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # an executor hands every error to whoever asks for the result
            future.set_exception(error)
        return future


def pool(jobs: int) -> Executor:
    """Return `Serial()` for one job, else that many threads; use it in a `with` statement."""
    return Serial() if jobs <= 1 else ThreadPoolExecutor(jobs, thread_name_prefix="fieldforge")
