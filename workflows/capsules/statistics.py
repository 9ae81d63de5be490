"""Fields without their values: what is known of the numbers, and numbers like them from a seed."""

from __future__ import annotations

from typing import Any

import numpy as np


def statistics_of(array: np.ndarray[Any, Any], seed: int, number: int) -> dict[str, Any]:
    """Describe an array by type, shape, extremes, mean and deviation; `number` varies the seed."""
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    known = {"min": 0.0, "max": 0.0, "mean": 0.0, "deviation": 0.0}
    if finite.size:
        wide = finite.astype(np.float64)
        known = {
            "min": float(wide.min()),
            "max": float(wide.max()),
            "mean": float(wide.mean()),
            "deviation": float(wide.std()),
        }
    known["not_finite"] = float(array.size - finite.size)
    return {
        "statistics": known,
        "seed": [seed, number],
        "shape": list(array.shape),
        "dtype": array.dtype.name,
    }


def drawn(row: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Draw an array with the statistics of a row; the same row gives the same numbers.

    >>> row = statistics_of(np.array([1, 2, 3]), 7, 0)
    >>> bool((drawn(row) == drawn(row)).all()), drawn(row).max() <= 3
    (True, np.True_)
    """
    known, shape, dtype = row["statistics"], tuple(row["shape"]), np.dtype(row["dtype"])
    random = np.random.default_rng(row["seed"])
    if dtype.kind == "b":
        return np.asarray(random.random(shape) < known["mean"])
    if dtype.kind in "iu":
        return random.integers(int(known["min"]), int(known["max"]), shape, dtype, endpoint=True)
    numbers = random.normal(known["mean"], known["deviation"], shape)
    return np.clip(numbers, known["min"], known["max"]).astype(dtype)
