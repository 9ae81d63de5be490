"""Gates: boxes that the call may find empty, as boxes that change no hull."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...runtime.language import MOST
from . import bounds
from .bounds import Bound, Const

FAR: Final = 4 * MOST  # beyond any index, also added to one; sums of several do not wrap


def far_unless(ranges: Iterable[tuple[Bound, Bound]]) -> Bound:
    """Return 0 if none of the ranges is empty, else `FAR`.

    A box whose starts grow and whose stops shrink by it begins far after its end if it is empty.

    >>> str(far_unless([(Const(2), Const(5))])), str(far_unless([(Const(2), Const(2))]))
    ('0', '1099511627776')
    """
    there: Bound = Const(1)
    for start, stop in ranges:
        count = bounds.maximum(Const(0), bounds.subtract(stop, start))
        there = bounds.multiply(bounds.minimum(Const(1), count), there)
    return bounds.add(bounds.multiply(there, -FAR), FAR)
