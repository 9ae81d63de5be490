"""NumPy's dtype rules where fields and numbers meet: outside operators, and in the builtins."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..language import operations
from . import field
from .operators import Operators


def numpy_combined(op: str, *operands: Any) -> Any:
    """Apply an operation to fields and numbers by NumPy's dtype rules, after promotion."""
    if not all(isinstance(x, Operators | np.generic | int | float) for x in operands):
        return NotImplemented
    common = common_dtype(*operands)
    if op == "div" and common.kind in "iub":
        common = np.dtype(np.float64)
    return field.combined(op, *(converted(operand, common) for operand in operands))


def common_dtype(*operands: Any) -> np.dtype[Any]:
    """Return NumPy's common dtype of fields and numbers; Python numbers adapt to the others."""
    kinds = [x.dtype.dtype if isinstance(x, Operators) else x for x in operands]
    if not any(hasattr(kind, "dtype") or isinstance(kind, np.dtype) for kind in kinds):
        kinds = [operations.literal(kind) for kind in kinds]
    return np.result_type(*kinds)


def converted(operand: Any, dtype: np.dtype[Any]) -> Any:
    """Return a field or number in another dtype."""
    if isinstance(operand, Operators):
        same = operand.dtype == dtype
        return operand if same else field.combined("cast", operand, dtype=dtype.name)
    with np.errstate(all="ignore"):
        return dtype.type(operand)
