"""Digests of arrays: dtype, shape and values, whatever the layout."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np


def digest_of(array: np.ndarray[Any, Any]) -> str:
    """Return the SHA-256 digest of an array.

    >>> digest_of(np.ones(2)) == digest_of(np.ones(4)[::2])
    True
    """
    text = f"{array.dtype.str} {array.shape} ".encode()
    return hashlib.sha256(text + np.ascontiguousarray(array).tobytes()).hexdigest()
