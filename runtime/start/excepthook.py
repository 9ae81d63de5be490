"""Print uncaught errors of the language without fieldforge's own traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

from .error_text import ask_verbose, report


def install_excepthook(is_verbose: Callable[[], bool] = lambda: False) -> None:
    """Let `sys.excepthook` print an uncaught `DSLError` as `report` shows it.

    Every other exception, and all of them while `is_verbose()`, goes to the hook
    that was there before. Installing it twice changes nothing. Notebooks show all our errors so.
    """
    ask_verbose(is_verbose)
    before = sys.excepthook
    if getattr(before, "_fieldforge", False):
        return

    def hook(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None, /
    ) -> None:
        from ..process.errors import (
            DSLError,  # every process installs the hook, and most end without it
        )

        if isinstance(error, DSLError) and not is_verbose():
            sys.stderr.write(report(error, trace) + "\n")
        else:
            before(kind, error, trace)

    hook._fieldforge = True  # type: ignore[attr-defined]  # the mark of our own hook
    sys.excepthook = hook
