"""Literals of the IRs: from a number to its canonical spelling, and back."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def spell(value: np.generic) -> str:
    """Return the canonical spelling of a scalar: the shortest that reads back to it.

    >>> spell(np.float32(0.1)), spell(np.float64("-inf")), spell(np.bool_(True)), spell(np.int8(-3))
    ('0.1', '-inf', 'True', '-3')
    """
    if isinstance(value, np.floating):
        return "nan" if math.isnan(value) else str(value)
    return str(value.item())


def number(text: str, dtype: str) -> Any:
    """Return the NumPy scalar of a spelling; raise `ValueError` if it is not one of `dtype`.

    >>> number("0.1", "float32"), number("300", "int32")
    (np.float32(0.1), np.int32(300))
    """
    kind = np.dtype(dtype)
    if kind.kind == "b":
        if text not in ("True", "False"):
            raise ValueError(f"'{text}' is not 'True' or 'False'.")
        return np.bool_(text == "True")
    if kind.kind == "f":
        with np.errstate(all="ignore"):
            return kind.type(float(text))
    value = int(text)
    if not np.iinfo(kind).min <= value <= np.iinfo(kind).max:
        raise ValueError(f"{text} is not a number of type '{dtype}'.")
    return kind.type(value)


def respell(text: str, dtype: str) -> str:
    """Return the canonical spelling of the number that `text` spells.

    >>> respell("1.50", "float64"), respell("0.10000000149011612", "float32")
    ('1.5', '0.1')
    """
    return spell(number(text, dtype))
