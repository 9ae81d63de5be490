"""The seconds of a build, from the length of what is compiled."""

from __future__ import annotations

from typing import Final

from ...ir.loops import Kernel, Portions, marks_of, nests_of, nodes_of

START: Final = 0.15  # of a compiler, with what every source includes
KILOBYTE: Final = 0.015  # of g++ -O3, one unit, measured on programs of 5 to 90 kB


def text_seconds(length: int) -> float:
    """Return the seconds of a compiler for so many bytes.

    >>> round(text_seconds(40_000), 2)
    0.75
    """
    return START + KILOBYTE * length / 1000


# Bytes of C++, of sources of 230 plans; the estimate is off by a tenth.
FRAME: Final = 2400
NEST: Final = 910
ROW: Final = 37
SLID_ROW: Final = 61  # more, in a nest in which values slide
PREFETCH: Final = 190
PORTIONS: Final = 4500


def build_seconds(kernel: Kernel) -> float:
    """Return about how many seconds the code of a tree for a CPU will take to compile."""
    length = FRAME + PORTIONS * sum(1 for _ in nodes_of(kernel, Portions))
    for nest in nests_of(kernel):
        marks = marks_of(nest)
        each = ROW + SLID_ROW * bool(marks.slides)
        length += NEST + each * len(nest.body) + PREFETCH * len(marks.asked)
    return text_seconds(length)
