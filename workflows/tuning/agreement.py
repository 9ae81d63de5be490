"""Agreement: whether the results of a candidate are those of the reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]
# Of the largest number of a field: what rounding may make of two functions of two libraries.
TOLERANCES: Final[Mapping[str, float]] = {"float64": 1e-10, "float32": 1e-4}


def disagreement(found: Mapping[str, Array], expected: Mapping[str, Array]) -> str:
    """Say where results differ from the expected ones by more than rounding; empty if nowhere.

    >>> disagreement({"out": np.array([1.0, 3.0])}, {"out": np.array([1.0, 2.0])})
    "'out' differs from the reference at (1,): 3.0 for 2.0"
    """
    for name, reference in expected.items():
        place = _first_difference(found[name], reference)
        if place is not None:
            return (
                f"'{name}' differs from the reference at {place}: "
                f"{found[name][place]} for {reference[place]}"
            )
    return ""


def _first_difference(found: Array, expected: Array) -> tuple[int, ...] | None:
    tolerance = TOLERANCES.get(expected.dtype.name)
    if tolerance is None:
        wrong = found != expected
    else:
        finite = expected[np.isfinite(expected)]
        scale = float(np.max(np.abs(finite), initial=0.0))
        with np.errstate(invalid="ignore"):
            near = np.abs(found - expected) <= tolerance * scale
        wrong = ~(near | (found == expected) | (np.isnan(found) & np.isnan(expected)))
    if not wrong.any():
        return None
    return tuple(int(index) for index in np.argwhere(wrong)[0])
