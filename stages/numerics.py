"""The options `numerics` and `mathematics`: how exact floats must be, and whose functions run."""

from __future__ import annotations

from typing import Final

import attrs

from ..runtime.process.errors import OptionError
from .base import Stage

# strict: the bits of embedded execution, except transcendental functions (within 4 ulp)
# contract: also fused multiply-adds and vectorised functions
# fast: also sums in any order, and products with reciprocals for quotients
NUMERICS: Final = ("strict", "contract", "fast")


# the source of transcendental functions in generated C++ where numerics is not strict
MATHEMATICS: Final = ("own", "library")


def check_numerics(stage: Stage, _: attrs.Attribute[str], value: str) -> None:
    """Refuse another value of the option."""
    _check(stage, "numerics", value, NUMERICS)


def check_mathematics(stage: Stage, _: attrs.Attribute[str], value: str) -> None:
    """Refuse another value of the option."""
    _check(stage, "mathematics", value, MATHEMATICS)


def _check(stage: Stage, option: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise OptionError(
            f"Option '{option}' of stage '{stage.name}' cannot be '{value}'.",
            name=value,
            known=known,
        )
