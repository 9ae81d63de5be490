"""The working precision of the examples: float64, unless a module is loaded `in_precision`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType
from typing import Any

import numpy as np

wpfloat: Any = np.float64


def in_precision(name: str, dtype: Any) -> ModuleType:
    """Return the example `name` with `dtype` as its working precision, a module of its own.

    >>> in_precision("diffusion", np.float32).wpfloat.__name__
    'float32'
    """
    global wpfloat  # noqa: PLW0603  # the module that is loaded imports this name
    kind, full = np.dtype(dtype).type, f"fieldforge.examples.{name}"
    if kind is wpfloat:
        return importlib.import_module(full)
    twin = f"{full}_{kind.__name__}"
    if twin in sys.modules:
        return sys.modules[twin]
    origin = importlib.util.find_spec(full)
    if origin is None or origin.origin is None:
        raise ModuleNotFoundError(f"There is no example '{name}'.")
    spec = importlib.util.spec_from_file_location(twin, origin.origin)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before, wpfloat = wpfloat, kind
    sys.modules[twin] = module  # named collections look their module up to read annotations
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[twin]
        raise
    finally:
        wpfloat = before
    return module
