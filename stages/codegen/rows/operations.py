"""Operations of the language as C++ expressions, with the values of NumPy's; none is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from ....runtime.language.operations import BY_NAME
from ....runtime.process import FieldforgeError
from ..mathematics import function
from .expressions import TYPES, Expression, is_float, literal
from .spellings import LIBRARY, SPELLINGS

Spelling = TypeVar("Spelling")


class SpellingError(FieldforgeError):
    """A writer that does not spell exactly the operations of the language."""


def complete(writer: str, spellings: Mapping[str, Spelling]) -> Mapping[str, Spelling]:
    """Return the spellings of a writer, one for each operation of the table.

    >>> complete("Fortran", {})
    Traceback (most recent call last):
    ...
    fieldforge.stages.codegen.rows.operations.SpellingError: The Fortran writer lacks ...

    Raises:
        SpellingError: an operation has no spelling, or a spelling stands for no operation.

    """
    missing = [name for name in BY_NAME if name not in spellings]
    if missing:
        raise SpellingError(
            f"The {writer} writer lacks a spelling of {_listed(missing)}.",
            hints=[f"Add it to the spellings of the {writer} writer below 'stages/codegen'."],
        )
    unknown = [name for name in spellings if name not in BY_NAME]
    if unknown:
        raise SpellingError(
            f"The {writer} writer spells {_listed(unknown)}, which the language does not have.",
            hints=["Add a row to 'runtime/language/operation_table.py', or remove the spelling."],
        )
    return spellings


def _listed(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


__all__ = [
    "DECLARATION", "LIBRARY", "TYPES", "VECTORISED",
    "Expression", "express", "literal", "vectorised", "written_out",
]  # fmt: skip

_SPELLINGS: Final = complete("C++", SPELLINGS)
VECTORISED: Final = ("exp", "log", "pow", "sin", "cos")
DECLARATION: Final = "#pragma omp declare simd notinbranch"


def express(op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
    """Return `op` on operands of `dtypes` with a result of `dtype`.

    >>> express("add", "float64", ["a", "b"], ["float64", "float64"]).text
    'a + b'
    """
    return _SPELLINGS[op](dtype, args, dtypes)


def vectorised(
    op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]
) -> Expression | None:
    """Return `op` as a call that glibc can vectorise, None if it has no vector variant."""
    if op not in VECTORISED or not is_float(dtype) or any(each != dtype for each in dtypes):
        return None
    name = op + ("f" if dtype == "float32" else "")
    real = TYPES[dtype][0]
    takes = ", ".join([real] * len(args))
    text = f'{DECLARATION}\nextern "C" {real} {name}({takes}) noexcept;'
    return Expression(f"{name}({', '.join(args)})", ((name, text),))


def written_out(
    op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]
) -> Expression | None:
    """Return `op` as a call of our own function, None if there is none.

    >>> written_out("pow", "float64", ["v1", "s32(3)"], ["float64", "int32"]).text
    'v1 * v1 * v1'
    """
    name = f"{op}_{TYPES[dtype][0]}"
    functions = function(name)
    if not functions or dtypes[0] != dtype:
        return None
    if op == "pow" and (factors := _SMALL_POWERS.get(args[1])):
        return Expression(" * ".join([args[0]] * factors))
    operands = [
        arg if each == dtype else f"{TYPES[dtype][0]}({arg})"
        for arg, each in zip(args, dtypes, strict=True)
    ]
    return Expression(f"{name}({', '.join(operands)})", functions)


# a product of up to three factors is as exact as a power
_SMALL_POWERS: Final = {
    literal(f"{power}{rest}", dtype): power
    for power in (1, 2, 3)
    for dtype, rest in (("float32", ".0"), ("float64", ".0"), ("int32", ""), ("int64", ""))
}
