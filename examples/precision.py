"""The precision that a model computes in: one name for all its programs, as large models do."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import fieldforge as ff

wpfloat: type = ff.float64  # 'working precision'


def in_precision(name: str, precision: type) -> ModuleType:
    """Return the example `name` with all its programs in another precision.

    >>> import numpy as np
    >>> single = in_precision("nabla", np.float32)
    >>> single.EdgeField
    Field[[Edge, K], float32]
    """
    global wpfloat  # noqa: PLW0603  (read by the module while it is executed, as by its import)
    spec = importlib.util.find_spec(f"{__package__}.{name}")
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError(f"There is no example '{name}'.")
    module = importlib.util.module_from_spec(spec)
    before, wpfloat = wpfloat, precision
    try:
        spec.loader.exec_module(module)
    finally:
        wpfloat = before
    return module
