"""Evaluate the integer programs of a plan in Python; the native core evaluates them at a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from .plan import Code, Word

_BINARY: Final[Mapping[str, Callable[[int, int], int]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
}


def evaluate(
    code: Code,
    number: Callable[[Word], int | None],
    entry: Callable[[Word, int, int], int | None],
) -> int | None:
    """Return the value of a postfix program; None if it needs a number that is not known.

    >>> twice = (Word("scalar"), Word("const", 2), Word("mul"))
    >>> evaluate(twice, lambda word: word.value or 21, lambda *_: None)
    42

    Args:
        code: the words of the program.
        number: gives the value of a word without operands, such as a scalar argument.
        entry: gives the smallest or largest entry of a table in a range of rows.

    """
    stack: list[int | None] = []
    for word in code:
        is_entry = word.op in ("lowest", "beyond")
        if not is_entry and word.op not in _BINARY:
            stack.append(number(word))
            continue
        right, left = stack.pop(), stack.pop()
        if left is None or right is None:
            stack.append(None)
        else:
            stack.append(entry(word, left, right) if is_entry else _BINARY[word.op](left, right))
    return stack[-1]
