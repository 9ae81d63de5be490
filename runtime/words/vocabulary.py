"""The words that stand in stencils: iteration orders, blocks, casts, mathematics.

Stencils are read as text, so these objects only have to exist where a definition names them.
"""

from __future__ import annotations

from typing import Any, Final, NoReturn

FORWARD: Final = +1
BACKWARD: Final = -1
PARALLEL: Final = 0


class Word:
    """A word of GTScript, which means something inside a stencil only.

    >>> Word("computation")
    <word 'computation' of GTScript>
    """

    def __init__(self, name: str, meaning: str = "") -> None:
        self.__name__ = name
        self.__doc__ = meaning or None

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse to be called: stencils never run as Python."""
        raise TypeError(f"'{self.__name__}' of GTScript can only be used in a stencil.")

    def __getitem__(self, _: Any) -> NoReturn:
        raise TypeError(f"'{self.__name__}' of GTScript can only be used in a stencil.")

    def __repr__(self) -> str:
        return f"<word '{self.__name__}' of GTScript>"


BLOCKS: Final = {
    "computation": "Begin a computation: the order of its levels.",
    "interval": "Select the levels of a block.",
    "horizontal": "Restrict a block to regions of the horizontal plane.",
    "region": "Name a region of the horizontal plane, relative to the compute domain.",
    "__INLINED": "Keep one branch of an `if`, by a condition that is known when it is built.",
    "compile_assert": "Refuse to build a stencil unless a condition holds.",
    "externals": "List the externals of a stencil.",
}

MATHEMATICS: Final = {
    "abs": "The absolute value.",
    "min": "The smaller of two numbers; NaN if one is NaN.",
    "max": "The larger of two numbers; NaN if one is NaN.",
    "mod": "The remainder, with the sign of the divisor.",
    "sin": "The sine of an angle in radians.",
    "cos": "The cosine of an angle in radians.",
    "tan": "The tangent of an angle in radians.",
    "asin": "The inverse of the sine, in radians.",
    "acos": "The inverse of the cosine, in radians.",
    "atan": "The inverse of the tangent, in radians.",
    "sinh": "The hyperbolic sine.",
    "cosh": "The hyperbolic cosine.",
    "tanh": "The hyperbolic tangent.",
    "asinh": "The inverse of the hyperbolic sine.",
    "acosh": "The inverse of the hyperbolic cosine.",
    "atanh": "The inverse of the hyperbolic tangent.",
    "sqrt": "The square root.",
    "exp": "The exponential.",
    "log": "The natural logarithm.",
    "log10": "The logarithm to base 10.",
    "gamma": "The gamma function.",
    "cbrt": "The cube root.",
    "isfinite": "Whether a number is neither infinite nor NaN.",
    "isinf": "Whether a number is infinite.",
    "isnan": "Whether a number is NaN.",
    "floor": "The largest whole number that is not larger.",
    "ceil": "The smallest whole number that is not smaller.",
    "trunc": "The whole number towards zero.",
    "erf": "The error function.",
    "erfc": "One minus the error function.",
    "round": "The nearest whole number; halves go to the even one.",
    "round_away_from_zero": "The nearest whole number; halves go away from zero.",
}

WORDS: Final = {name: Word(name, meaning) for name, meaning in {**BLOCKS, **MATHEMATICS}.items()}
