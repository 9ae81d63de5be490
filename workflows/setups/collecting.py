"""The plan that collects new set-ups."""

from __future__ import annotations

from typing import Any, Final

_collecting: Final[list[list[Any]]] = []


def collect(steps: list[Any]) -> None:
    """Add set-ups to this list from now on."""
    _collecting.append(steps)


def stop(steps: list[Any]) -> None:
    """Stop adding set-ups to this list."""
    _collecting[:] = [each for each in _collecting if each is not steps]


def note(step: Any) -> bool:
    """Add a set-up to the innermost list; tell whether there is one."""
    if _collecting:
        _collecting[-1].append(step)
    return bool(_collecting)
