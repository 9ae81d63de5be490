"""An error as text for the person who wrote the stencil: without the library's own frames."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Final

_PACKAGE: Final = __name__.partition(".")[0]
_verbose: Final[list[Callable[[], bool]]] = []


def ask_verbose(is_verbose: Callable[[], bool]) -> None:
    """Let notebooks show the library's frames too while `is_verbose()`."""
    _verbose[:] = [is_verbose]


def lines(error: BaseException) -> list[str]:
    """Return what a notebook shows of an error, line by line."""
    if any(is_verbose() for is_verbose in _verbose):
        import traceback

        return "".join(traceback.format_exception(error)).splitlines()
    return report(error, error.__traceback__).splitlines()


def report(error: BaseException, trace: TracebackType | None = None) -> str:
    """Return the error with its notes and cause; without a location, with the user's own line."""
    import traceback

    lines = [f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]
    if getattr(error, "location", None) is None:
        frames = [f for f, _ in traceback.walk_tb(trace) if not _is_ours(f.f_globals)]
        if frames:
            place = traceback.extract_stack(frames[-1], limit=1)
            lines[1:1] = traceback.format_list(place)[0].rstrip().splitlines()
    if error.__cause__ is not None:
        lines.append(f"Because of {type(error.__cause__).__name__}: {error.__cause__}")
    return "\n".join(lines)


def _is_ours(names: dict[str, object]) -> bool:
    """Tell whether a frame is ours, or one of the standard library that we went through."""
    package = str(names.get("__name__", "")).partition(".")[0]
    return package == _PACKAGE or package in sys.stdlib_module_names
