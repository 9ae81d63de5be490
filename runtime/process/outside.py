"""Warnings at the place in a user's code that they are about."""

from __future__ import annotations

import sys
import warnings
from typing import Final

# attrs calls what converts and checks the fields of our classes; its methods have no module name.
_INSIDE: Final = (__name__.partition(".")[0] + ".", "attr.")


def warn_of_old(text: str) -> None:
    """Warn of a deprecated spelling, where code outside of the library called it."""
    warnings.warn(text, DeprecationWarning, stacklevel=from_outside())


def from_outside() -> int:
    """Return the `stacklevel` of the first caller outside of the library."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and _is_inside(frame.f_globals.get("__name__", "")):
        frame, level = frame.f_back, level + 1
    return level


def _is_inside(module: str) -> bool:
    return not module or module.startswith(_INSIDE)
