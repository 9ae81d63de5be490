"""The seconds of a build, from the length of what is compiled."""

from __future__ import annotations

from typing import Final

START: Final = 0.15  # of a compiler, with what every source includes
KILOBYTE: Final = 0.015  # of g++ -O3, one unit, measured on programs of 5 to 90 kB
CLAMPED: Final = 0.02  # of code that clamps indices
EARNED: Final = 1.3  # a build of so many times the plain one must come back
CALLS: Final = 10.0  # within so many seconds of calls


def text_seconds(length: int, clamped: int = 0) -> float:
    """Return the seconds of a compiler for so many bytes, those that clamp indices apart.

    >>> round(text_seconds(40_000, 10_000), 2)
    0.95
    """
    return START + (KILOBYTE * length + CLAMPED * clamped) / 1000


def is_earned(build: float, plain: float, call: float, best: float) -> bool:
    """Tell whether a longer build comes back within seconds of calls that are shorter.

    >>> is_earned(1.2, 0.5, 100e-6, 80e-6), is_earned(1.2, 0.5, 100e-6, 99e-6)
    (True, False)
    """
    saved = CALLS * (1 - best / call) if call else 0.0
    return build <= EARNED * plain or build - plain <= saved
