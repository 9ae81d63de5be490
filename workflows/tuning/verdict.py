"""Verdict: whether one series of costs is lower than another, or only noise."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Final

from ...runtime.process import classes

LEAST_GAIN: Final = 0.01  # smaller differences are not worth an option
WORTH: Final = 0.02  # a gain that a search must not miss, if it has the time
MOST_NOISE: Final = 0.05  # a difference of this size would have been seen
SURE: Final = 4.0  # standard errors between a ratio and 1
SURE_OF_ONE: Final = 3.3  # the same for a comparison that was not chosen among many
_OF_NORMAL: Final = 1.4826  # from the median deviation to the standard deviation
_OF_MEDIAN: Final = 1.2533  # from the standard error of a mean to that of a median


@classes.frozen
class Verdict:
    """The ratio of two costs that were measured in turns, and its standard error.

    >>> compared([2.0, 2.1, 2.0], [1.0, 1.0, 1.0])
    Verdict(ratio=0.5, spread=0.0)
    """

    ratio: float
    spread: float

    @property
    def is_better(self) -> bool:
        """Whether the second cost is lower by more than noise."""
        return self.ratio < 1.0 - max(LEAST_GAIN, SURE * self.spread)

    @property
    def is_confirmed(self) -> bool:
        """Whether one comparison, made for this pair alone, shows a gain."""
        return self.ratio < 1.0 - max(LEAST_GAIN, SURE_OF_ONE * self.spread)

    @property
    def is_worse(self) -> bool:
        """Whether the second cost is higher by more than noise."""
        return self.ratio > 1.0 + max(LEAST_GAIN, SURE * self.spread)

    @property
    def is_open(self) -> bool:
        """Whether more measurements might still show a gain that matters."""
        noise = SURE * self.spread
        return not (self.is_better or self.is_worse) and noise > WORTH and self.ratio < 1.0 + noise

    @property
    def is_sure(self) -> bool:
        """Whether the noise is small enough for a next run to trust this one."""
        return SURE * self.spread < MOST_NOISE

    @property
    def gain(self) -> float:
        """How many times faster the second is."""
        return 1.0 / self.ratio

    def __str__(self) -> str:
        return f"{self.gain:.3f} ± {self.spread * self.gain:.3f}"


def compared(before: Sequence[float], after: Sequence[float]) -> Verdict:
    """Compare costs pair by pair: both costs of a pair saw the same state of the machine."""
    ratios = [new / old for old, new in zip(before, after, strict=True)]
    middle = statistics.median(ratios)
    deviation = statistics.median(abs(ratio - middle) for ratio in ratios)
    return Verdict(middle, _OF_NORMAL * _OF_MEDIAN * deviation / len(ratios) ** 0.5)
