"""Check that a writer of source text spells every operation of the language."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from ...runtime.language.operations import BY_NAME
from ...runtime.process import FieldforgeError

Spelling = TypeVar("Spelling")


class SpellingError(FieldforgeError):
    """A writer that does not spell exactly the operations of the language."""


def complete(writer: str, spellings: Mapping[str, Spelling]) -> Mapping[str, Spelling]:
    """Return the spellings of a writer, one for each operation of the table.

    >>> complete("Fortran", {})
    Traceback (most recent call last):
    ...
    fieldforge.stages.codegen.spellings.SpellingError: The Fortran writer lacks a spelling of ...

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
