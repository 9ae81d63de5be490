"""What a build may do to the last bits of results: the option `numerics` of several stages."""

from __future__ import annotations

from typing import Final

import attrs

from ..runtime.process.errors import OptionError
from .base import Stage

# strict: the bits of embedded execution, transcendental functions within 4 ulp; contract: fused
# multiply-add and vectorised functions too; fast: sums in any order, divisions by reciprocals too
NUMERICS: Final = ("strict", "contract", "fast")


# whose transcendental functions generated C++ has where numerics is not strict
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
