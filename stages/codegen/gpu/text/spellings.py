"""Spell each operation of the language for GPUs: as in C++, by functions of the device."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from typing import Final

from ....ir.loops import Compute, Row
from ...mathematics import FOR_THREADS
from ...rows import Dialect, Expression, WriterOptions, literal, written_out
from ...rows.extrema import spelled
from ...rows.operations import complete
from ...rows.spellings import SPELLINGS as CPP, Spelling, extreme

# CUDA, HIP and the host's C library have the functions of C under their own names.
_CONSTANTS: Final = re.compile(r'__builtin_(nanf?)\(""\)|__builtin_(inff?)\(\)')
_NAMES: Final = {"nan": "NOT_A_NUMBER", "inf": "INFINITE"}


def on_device(text: str) -> str:
    """Translate C++ of ours to C++ of a device, whose macros the prelude of the source defines.

    >>> on_device('a > 0.0 ? __builtin_fma(a, b, c) : -__builtin_inf()')
    'a > 0.0 ? fma(a, b, c) : -INFINITE_f64'
    >>> on_device("static inline f64 half(f64 a) { return 0.5 * a; }")
    'DEVICE f64 half(f64 a) { return 0.5 * a; }'
    >>> on_device("u16(a)")  # a cast of the language; functions of ours have wider ones
    'u16(a)'
    """
    return (
        _CONSTANTS.sub(_constant, text)
        .replace(" __attribute__((always_inline))", "")
        .replace("__builtin_", "")
        .replace("static inline", "DEVICE")
    )


def _constant(found: re.Match[str]) -> str:
    name = found[1] or found[2]
    return f"{_NAMES[name[:3]]}_{'f32' if name.endswith('ff') or name == 'nanf' else 'f64'}"


def translated(expression: Expression, changes: Collection[tuple[str, str]] = ()) -> Expression:
    """Translate an expression and the functions that it calls, whose texts have `changes`."""
    functions = tuple(
        (name, on_device(reduce(lambda made, pair: made.replace(*pair), changes, text)))
        for name, text in expression.functions
    )
    return Expression(on_device(expression.text), functions)


def _device(spell: Spelling) -> Spelling:
    def spelled(dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
        return translated(spell(dtype, args, dtypes))

    return spelled


_UNORDERED: Final = """\
template <typename T> DEVICE bool unordered(T a, T b) { return (a != a) | (b != b); }"""
# With fewer, values wait for the test at the root in registers that others could have.
FEWEST_LEAVES: Final = 6
_PLAIN: Final = {"minimum": extreme("<"), "maximum": extreme(">")}  # no loop to vectorise
SPELLINGS: Final = complete("GPU", {op: _device(spell) for op, spell in (CPP | _PLAIN).items()})


def _extremum(row: Compute, leaves: Sequence[Row], name: Callable[[Row], str]) -> Expression:
    """Spell a row of a tree of extrema without the builtins of a compiler for CPUs."""
    made = translated(spelled(row, leaves, name))
    functions = {key: text.replace("WHOLE(", "(") for key, text in made.functions if key != "WHOLE"}
    if "isunordered" in made.text:
        functions["isunordered"] = _UNORDERED
    return Expression(made.text.replace("isunordered(", "unordered("), tuple(functions.items()))


def dialect_of(options: WriterOptions) -> Dialect:
    """Return how rows are spelled for a device."""

    def operation(op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
        written = written_out(op, dtype, args, dtypes) if options.own_math else None
        own = written and translated(written, FOR_THREADS.items())
        return own or SPELLINGS[op](dtype, args, dtypes)

    return Dialect(
        lambda text, dtype: on_device(literal(text, dtype)),
        operation,
        lambda type_, name, address, _: f"{type_}* const {name} = {address};",
        _extremum,
        FEWEST_LEAVES,
    )
