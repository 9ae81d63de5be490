"""Print uncaught errors of the language without fieldforge's own traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

from .errors import DSLError

_PACKAGE = __name__.partition(".")[0]


def install_excepthook(is_verbose: Callable[[], bool] = lambda: False) -> None:
    """Let `sys.excepthook` print an uncaught `DSLError` as `report` shows it.

    Every other exception, and all of them while `is_verbose()`, goes to the hook
    that was there before. Installing it twice changes nothing.
    """
    before = sys.excepthook
    if getattr(before, "_fieldforge", False):
        return

    def hook(
        kind: type[BaseException], error: BaseException, trace: TracebackType | None, /
    ) -> None:
        if isinstance(error, DSLError) and not is_verbose():
            sys.stderr.write(report(error, trace) + "\n")
        else:
            before(kind, error, trace)

    hook._fieldforge = True  # type: ignore[attr-defined]  # the mark of our own hook
    sys.excepthook = hook


def report(error: DSLError, trace: TracebackType | None = None) -> str:
    """Return the error with its notes and cause; without a location, with the user's own line."""
    import traceback

    lines = [f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]
    if error.location is None:
        frames = [f for f, _ in traceback.walk_tb(trace) if not _is_ours(f.f_globals)]
        if frames:
            place = traceback.extract_stack(frames[-1], limit=1)
            lines[1:1] = traceback.format_list(place)[0].rstrip().splitlines()
    if error.__cause__ is not None:
        lines.append(f"Because of {type(error.__cause__).__name__}: {error.__cause__}")
    return "\n".join(lines)


def _is_ours(names: dict[str, object]) -> bool:
    return str(names.get("__name__", "")).partition(".")[0] == _PACKAGE
