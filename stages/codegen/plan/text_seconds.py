"""The seconds of a build, from the length of what is compiled."""

from __future__ import annotations

from typing import Final

START: Final = 0.15  # of a compiler, with what every source includes
KILOBYTE: Final = 0.015  # of g++ -O3, one unit, measured on programs of 5 to 90 kB
CLAMPED: Final = 0.02  # of code that clamps indices


def text_seconds(length: int, clamped: int = 0) -> float:
    """Return the seconds of a compiler for so many bytes, those that clamp indices apart.

    >>> round(text_seconds(40_000, 10_000), 2)
    0.95
    """
    return START + (KILOBYTE * length + CLAMPED * clamped) / 1000
