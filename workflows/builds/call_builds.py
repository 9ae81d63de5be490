"""Builds of variants whose calls run on the first tier: one at a time, beside the calls."""

from __future__ import annotations

import os
import threading
import warnings
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from ...runtime.process import CompilerNotFoundError, FieldforgeError, classes
from ..engine.events import Warned
from ..engine.policy import policy_of_thread
from .order import Order

if TYPE_CHECKING:  # futures import `logging`
    from concurrent.futures import Future

THREAD: Final = "fieldforge-first-tier"


class FirstTierWarning(UserWarning):
    """Calls stay on the first tier, because there is no compiled code for them."""


@classes.define(eq=False)
class CallBuild:
    """The build that calls of one variant wait for while they run on the first tier.

    Attributes:
        order: the build; it hands the entry to the program.
        is_wanted: tells whether calls of the variant still run on the first tier.
        error: why it failed; it is not tried again.
        is_awaited: whether somebody waits, who gets the error.

    """

    order: Order
    is_wanted: Callable[[], bool]
    error: Exception | None = None
    is_awaited: bool = False

    def __attrs_post_init__(self) -> None:
        with _lock:
            _known.add(self)

    def ask(self) -> None:
        """Begin the build when those before it are done; the native core calls this."""
        if self.error is None and self.is_wanted():
            _put(self)

    def run(self) -> None:
        """Build; calls take the new entry from then on."""
        if not self.is_wanted():
            return
        try:
            with policy_of_thread("may_build"):  # the call that came first was allowed to build
                self.order.build()
        except Exception as error:  # reported, since no caller waits
            self.error = error
            # Nobody reads the reports of a script that has ended.
            if not self.is_awaited and threading.main_thread().is_alive():
                self._report(error)

    def settle(self, future: Future[Any]) -> None:
        """Remember the error of a build that somebody else ran."""
        error = None if future.cancelled() else future.exception()
        self.error = error if isinstance(error, Exception) else None

    def _report(self, error: Exception) -> None:
        if isinstance(error, CompilerNotFoundError):
            warn_of_no_compiler(error)
            return
        reason = error.message if isinstance(error, FieldforgeError) else str(error)
        name = self.order.name
        said = f"'{name}' stays on the first tier, because it is not built: {reason}"
        self.order.engine.tell(Warned(name, "compile", said))
        warnings.warn(f"{said} '{name}.build()' shows all of the error.", FirstTierWarning, 1)


def warn_of_no_compiler(error: CompilerNotFoundError) -> None:
    """Warn once in a process that all calls stay on the first tier."""
    if not _warned:
        _warned.append(True)
        said = f"Programs stay on the first tier, which is slower: {error.message}"
        warnings.warn(said, FirstTierWarning, 2)


def awaited_builds() -> list[CallBuild]:
    """Return what calls on the first tier wait for; the caller builds it and gets the errors."""
    with _lock:
        _waiting.clear()
        found = [each for each in _known if each.error is None and each.is_wanted()]
    for each in found:
        each.is_awaited = True
    return found


_known: Final[WeakSet[CallBuild]] = WeakSet()
_warned: Final[list[bool]] = []
_lock = threading.Lock()
_waiting: Final[deque[CallBuild]] = deque()
_under_way: Final[list[CallBuild]] = []  # at most one, while the thread runs
_abandoned: Final[list[CallBuild]] = []  # was under way when this process was forked


def _put(build: CallBuild) -> None:
    is_over = bool(_abandoned) or not threading.main_thread().is_alive()
    with _lock:
        if is_over or build in _waiting or build in _under_way:
            return
        if _under_way:
            _waiting.append(build)
            return
        # No daemon: a script that ends waits until the build under way is stored.
        threading.Thread(target=_work, args=(build,), name=THREAD, daemon=False).start()
        _under_way.append(build)


def _work(build: CallBuild | None) -> None:
    try:
        while build is not None:
            build.run()
            build = _next()
    except BaseException:  # of an observer, or a warning that is an error
        with _lock:
            _under_way.clear()
        raise


def _next() -> CallBuild | None:
    """Return the next build; None ends the thread, when there is none or the script has ended."""
    with _lock:
        if not threading.main_thread().is_alive():
            _waiting.clear()
        _under_way[:] = [_waiting.popleft()] if _waiting else []
        return _under_way[0] if _under_way else None


def _begin_in_child() -> None:
    """Forget the builds of the parent: their thread is not here, and the core asks again.

    What the thread was building is never finished here, and who needs the same would wait for it:
    then the child stays on the first tier.
    """
    global _lock  # noqa: PLW0603  # another thread of the parent may hold it
    _lock = threading.Lock()
    _waiting.clear()
    _abandoned.extend(_under_way)
    _under_way.clear()


os.register_at_fork(after_in_child=_begin_in_child)
