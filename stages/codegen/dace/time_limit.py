"""Interrupt a function of the user's that runs too long; the error names it."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ..errors import CodegenError


class PassTimeLimitError(CodegenError):
    """A transformation of the user took longer than option 'pass_seconds' allows."""


@contextmanager
def time_limit(name: str, seconds: float) -> Iterator[None]:
    """Interrupt a function of the user in this thread after some seconds; 0 is no limit.

    Raises:
        PassTimeLimitError: in the place where the function is, or after it.

    """
    if not seconds:
        yield
        return
    thread, has_ended, is_late = threading.get_ident(), threading.Lock(), threading.Event()

    def interrupt() -> None:
        with has_ended:
            if not is_over:
                is_late.set()
                ctypes.pythonapi.PyThreadState_SetAsyncExc(
                    ctypes.c_ulong(thread), ctypes.py_object(_LateError)
                )

    is_over: list[bool] = []
    timer = threading.Timer(seconds, interrupt)
    timer.daemon = True
    timer.start()
    try:
        try:
            yield
        finally:
            with has_ended:
                is_over.append(True)
            timer.cancel()
            for _ in range(_DELIVERED if is_late.is_set() else 0):
                pass  # an interrupt that is on its way arrives between two instructions
    except _LateError:
        pass
    if is_late.is_set():
        raise PassTimeLimitError(
            f"Pass '{name}' took longer than {seconds:g} s.",
            hints=["Give it more by option 'pass_seconds', or leave the pass out."],
        )


class _LateError(BaseException):
    """Ends a function of the user; no `except Exception` of its own may stop it."""


_DELIVERED: Final = 10_000
