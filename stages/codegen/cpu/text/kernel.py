"""Write a kernel as plain C++: one function, without headers and without the user's names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.bounds import Bound
from ....ir.loops import Kernel
from ....ir.strides import Stride
from ...entry_point import PARAMETERS, UNUSED, entry_head
from ...rows import checks
from ...rows.definitions import pointers, scalars
from ...rows.dialect import Dialect, cpp
from ...rows.expressions import TYPES, Expression
from ...rows.options import Steps, WriterOptions
from ...rows.scope import WITHIN, Scope, places_of
from ...soft_reads import Clamping
from .ahead import ASK
from .elements import LISTED
from .nodes import Writing, write_steps
from .portions import ELEMENTS
from .streams import stream_function
from .strips import MASKED
from .threads import CALLEE, LIMITS, MACHINE, MARCH, SHARING, TURNS
from .tiles import EVEN
from .units import Caller, Known, known, write_units

ENDS: Final = """\
#define INLINE __attribute__((always_inline))
static inline s64 later(s64 a, s64 b) { return a < b ? b : a; }
static inline s64 earlier(s64 a, s64 b) { return a < b ? a : b; }"""


def write_cpp(
    kernel: Kernel,
    ints: Sequence[Bound | Stride],
    options: WriterOptions,
    clamping: Clamping | None = None,
    steps: Steps | None = None,
) -> str:
    """Return the source of a kernel to which a call passes the integers `ints`.

    Code for calls that lead out of fields, by `clamping`, clamps indices; a checked kernel reports
    such a call. With `steps`, a call may run a single statement.
    """
    integers, ends = (clamping.integers, clamping.ends) if clamping else ((), {})
    scope = Scope(kernel, places_of((*ints, *integers)), options, _dialect(options), clamped=ends)
    first: tuple[str, ...] = ()
    if options.checked:
        scope = classes.evolve(scope, tests=checks.tested_stores(kernel), clamped={})
        if clamping is not None:
            first = (f"  if (ints[{clamping.flag}]) return {checks.beyond(kernel)};",)
    writing = Writing(steps)
    nests = tuple(write_steps(scope, kernel, writing))
    has_context = bool({"share", *LIMITS} & scope.uses.names.keys())
    limits = [Known(name, line) for name, line in LIMITS.items() if name in scope.uses.names]
    entry = Caller(
        (*entry_head(context=CALLEE if has_context else ""), *first),
        (
            *definitions(scope, steps),
            *known(scope, checks.head),
            *limits,
            *writing.functions.values(),
        ),
        (UNUSED, *nests),
        (f"  return {checks.status(scope)};", "}"),
        _parameters(has_context, checked=bool(scope.tests)),
    )
    functions = [text for _, text in sorted(scope.uses.functions.items())]
    tools = [*_tools(scope), *functions, ""]
    types = _types("\n".join((*tools, *entry.text())))
    return "\n".join([*write_units([*types, *tools], entry), ""])


def _dialect(options: WriterOptions) -> Dialect:
    """Return the dialect of sources with `ENDS`, whose rows stand in one another."""
    plain = cpp(options)

    def operation(op: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> Expression:
        if dtype == "int64" and op in EXTREMA:
            return Expression(f"{EXTREMA[op]}({', '.join(args)})")
        return plain.operation(op, dtype, args, dtypes)

    return classes.evolve(plain, operation=operation, nests_operands=True)


def _types(text: str) -> Iterator[str]:
    """Define the types that a text names."""
    named = set(_TYPE.findall(text))
    return (f"typedef {type_} {name};" for name, type_ in TYPES.values() if name in named)


EXTREMA: Final = {"minimum": "earlier", "maximum": "later"}
_TYPE: Final = re.compile(r"\b[bsuf]\d+\b")
# The tools in their order, by the name that text asks for.
TOOLS: Final[Mapping[str, str]] = {
    "measured": MACHINE, "rows_of_block": MARCH, "even": EVEN, "rows_of_tile": TURNS,
    "share": SHARING, "masked": MASKED, "run": ELEMENTS, "ask": ASK,
    "listed": LISTED,
}  # fmt: skip


def _tools(scope: Scope) -> Iterator[str]:
    """Yield the functions that the text calls, besides operations."""
    asked = set(scope.uses.names)
    if {"share", *LIMITS} & asked:
        asked.add("measured")
    if "rows_of_tile" in asked:
        asked.add("even")
    yield ENDS
    yield from (text for name, text in TOOLS.items() if name in asked)
    if "stream" in asked:
        yield stream_function(scope.options.vector_bytes)
    yield from checks.functions(scope)
    if scope.clamped:
        yield WITHIN


def definitions(scope: Scope, steps: Steps | None) -> Iterator[Known]:
    """Yield the definitions of integers, scalars and memory."""
    for place in range(len(scope.places)):
        yield Known(f"n{place}", "", value=f"ints[{place}]")
    if steps is not None:
        yield Known("only", "", value=f"ints[{steps.place}]")
    yield from known(scope, scalars)
    yield from known(scope, pointers)


def _parameters(has_context: bool, *, checked: bool = False) -> tuple[tuple[str, str], ...]:
    """Return types and names of what the nests of a function need."""
    context = (("const Context* ", CALLEE),) if has_context else ()
    return (*PARAMETERS, *context, *((checks.FOUND,) if checked else ()))
