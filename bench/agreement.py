"""Whether two computations of one program agree, and how nearly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Outputs = Mapping[str, np.ndarray]  # "field-0", "field-1" for the elements of a tuple


def flat(outputs: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Name each array of the outputs; tuples of fields are taken apart, nested ones too."""
    return {
        f"{name}-{at}": leaf for name in names for at, leaf in enumerate(_leaves(outputs[name]))
    }


def compared(ours: Outputs, theirs: Outputs, dtype: str) -> tuple[bool, str]:
    """Return whether they are close enough to be the same program, and how close in words."""
    worst = 0.0
    for name, array in ours.items():
        other = theirs[name]
        if other.shape != array.shape:
            return False, f"'{name}' has shape {other.shape}, ours {array.shape}"
        if np.array_equal(array, other, equal_nan=True):
            continue
        if not np.array_equal(np.isfinite(array), np.isfinite(other)):
            return False, f"'{name}' is not finite at other points than ours"
        scale = float(np.nanmax(np.abs(array))) or 1.0
        apart = np.abs(array.astype(np.float64) - other)
        worst = max(worst, float(np.nanmax(apart)) / scale)
    bound = 1e4 * float(np.finfo(dtype).eps)
    return worst <= bound, "same bits" if worst == 0.0 else f"{worst:.1e} of the largest value"


def _leaves(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [leaf for element in value for leaf in _leaves(element)]
    return [np.asarray(value.asnumpy() if hasattr(value, "asnumpy") else value)]
