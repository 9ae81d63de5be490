"""Make values active where others are, so that one array can hold all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..fields import AnyField, make, values_of
from ..language import Domain
from ..language.active_numbers import is_active, lifted
from .piecewise_field import AnyValue, Piece, PiecewiseField, pieces_of


def are_active(*operands: Any) -> bool:
    """Tell whether some operand, a field or a number, is active."""
    return any(
        is_active(values_of(piece.field))
        for operand in operands
        if isinstance(operand, AnyValue)
        for piece in pieces_of(operand)
    )


def alike(*operands: Any) -> tuple[Any, ...]:
    """Return operands of one dtype that are all active if one of them is."""
    return tuple(map(_lifted, operands)) if are_active(*operands) else operands


def _lifted(operand: Any) -> Any:
    match operand:
        case PiecewiseField() if operand.is_partial:
            return operand.each(_lifted)  # type: ignore[attr-defined]  # a 'PartialField'
        case PiecewiseField():
            return PiecewiseField([Piece(each.box, _on(each.field)) for each in operand.pieces])
        case np.generic():
            return make(lifted(operand), Domain())
    return _on(operand)


def _on(field: AnyField) -> AnyField:
    return make(lifted(values_of(field)), field.domain)
