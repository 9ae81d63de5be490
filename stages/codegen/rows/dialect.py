"""How a platform spells what rows consist of: constants, operations, pointers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ....runtime.process import classes
from ...ir.loops import Compute, Row
from .expressions import TYPES, Expression, is_nothing, literal
from .extrema import spelled
from .operations import express, vectorised, written_out
from .options import WriterOptions

FEWEST_LEAVES: Final = 4  # with fewer, a test for each extremum costs no more


@classes.frozen
class Dialect:
    """How a platform spells rows.

    Attributes:
        constant: from the text and the dtype of a constant to its literal.
        operation: from an operation, the dtype of its result, operands and their dtypes.
        pointer: from type, name and address to the definition of a pointer to a row; the last
            argument tells that rows of the body are parts of the address.
        extremum: from a row of a tree of extrema, the leaves that its root tests for NaN, and
            what names rows, see `extrema.py`.
        fewest_leaves: of such a tree; 0 where each extremum has a test of its own.
        nests_operands: whether a row with one use stands in the text of that, see `nesting.py`.

    """

    constant: Callable[[str, str], str]
    operation: Callable[[str, str, Sequence[str], Sequence[str]], Expression]
    pointer: Callable[[str, str, str, bool], str]
    extremum: Callable[[Compute, Sequence[Row], Callable[[Row], str]], Expression] = spelled
    fewest_leaves: int = 0
    nests_operands: bool = False


def cpp(options: WriterOptions) -> Dialect:
    """Return the dialect of compilers for CPUs."""

    def constant(text: str, dtype: str) -> str:
        is_marked = options.checked and is_nothing(text, dtype)
        return f"nothing_{TYPES[dtype][0]}" if is_marked else literal(text, dtype)

    def operation(op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
        written = written_out(op, dtype, args, dtypes) if options.own_math else None
        if written is None and options.vector_math:
            written = vectorised(op, dtype, args, dtypes)
        return written or express(op, dtype, args, dtypes)

    return Dialect(constant, operation, held_pointer, fewest_leaves=FEWEST_LEAVES)


def held_pointer(type_: str, name: str, address: str, is_told: bool) -> str:
    """Define a pointer; the compiler keeps its value in a register if rows are parts of it."""
    return f"{type_}* {name} = {address};{held(name) if is_told else ''}"


def held(name: str) -> str:
    """Return an empty instruction that makes compilers keep a sum in a register.

    They would keep the parts of an address that a neighbour table gives and sum them for each
    strip.
    """
    return f' asm("" : "+r"({name}));'
