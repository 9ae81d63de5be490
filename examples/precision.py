"""The working precision of the examples: float64, unless a module is loaded `in_precision`."""

from __future__ import annotations

import importlib.util
from types import ModuleType
from typing import Any

import numpy as np

wpfloat: Any = np.float64


def in_precision(name: str, dtype: Any) -> ModuleType:
    """Load the example `name` once more, with `dtype` as its working precision.

    >>> in_precision("diffusion", np.float32).wpfloat.__name__
    'float32'
    """
    global wpfloat  # noqa: PLW0603  # the module that is loaded imports this name
    spec = importlib.util.find_spec(f"fieldforge.examples.{name}")
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"There is no example '{name}'.")
    module = importlib.util.module_from_spec(spec)
    before, wpfloat = wpfloat, np.dtype(dtype).type
    try:
        spec.loader.exec_module(module)
    finally:
        wpfloat = before
    return module
