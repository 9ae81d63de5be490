"""Write a kernel as plain C++: one function, without headers and without the user's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.bounds import Bound
from ....ir.loops.kernel import Kernel
from ....ir.strides import Stride
from ...entry_point import PARAMETERS, UNUSED, entry_head
from ...rows import checks
from ...rows.definitions import pointers, scalars
from ...rows.dialect import cpp
from ...rows.expressions import TYPES
from ...rows.options import Steps, WriterOptions
from ...rows.scope import WITHIN, Scope, TextUses, places_of
from ...soft_reads import Clamping
from ..passes.plain_loops import plain_loops
from .nodes import Writing, write_steps
from .streams import stream_function
from .strips import MASKED
from .threads import CALLEE, FAR, MACHINE, MARCH, SHARING, TURNS
from .tiles import EVEN
from .units import CLAMPED_SHARE, Caller, Known, known, write_units

ENDS: Final = """\
static inline s64 later(s64 a, s64 b) { return a < b ? b : a; }
static inline s64 earlier(s64 a, s64 b) { return a < b ? a : b; }"""
# Few calls run the version that clamps indices, so it is optimised for size and compiles fast.
CLAMPED: Final = """\
#ifdef __clang__
#define CLAMPED __attribute__((cold, noinline, minsize))
#else
#define CLAMPED __attribute__((cold, noinline, optimize("O1", "fp-contract=off")))
#endif"""


def write_cpp(
    kernel: Kernel,
    ints: Sequence[Bound | Stride],
    options: WriterOptions,
    clamping: Clamping | None = None,
    steps: Steps | None = None,
) -> str:
    """Return the source of a kernel to which a call passes the integers `ints`.

    With `clamping`, it has a version that clamps indices; a checked kernel reports the call
    instead. With `steps`, a call may run a single statement.
    """
    scope = Scope(kernel, places_of(ints), options, cpp(options))
    if options.checked:
        scope = classes.evolve(scope, tests=checks.tested_stores(kernel))
    nests = tuple(write_steps(scope, kernel, Writing(steps)))
    has_context = bool({"share", "far"} & scope.uses.names.keys())
    first: list[str] = []
    callers: list[Caller] = []
    if clamping is not None:
        beyond = f"return {checks.beyond(kernel)};"
        if not options.checked:
            callers.append(clamped_version(scope, clamping, steps))
            context = f", {CALLEE}" if len(callers[0].parameters) > len(PARAMETERS) else ""
            beyond = f"return clamped(ptrs, ints, scalars, arena{context});"
        first = [f"  if (ints[{clamping.flag}]) {beyond}"]
    far = [Known("far", FAR)] if "far" in scope.uses.names else []
    callers.append(
        Caller(
            (*entry_head(context=CALLEE if has_context else ""), *first),
            (*_definitions(scope, steps), *known(scope, checks.head), *far),
            (UNUSED, *nests),
            (f"  return {checks.status(scope)};", "}"),
            _parameters(has_context, checked=bool(scope.tests)),
        )
    )
    types = [f"typedef {meaning} {name};" for name, meaning in TYPES.values()]
    functions = [text for _, text in sorted(scope.uses.functions.items())]
    shared = [*types, "", *_tools(scope, callers), *functions, ""]
    return "\n".join([*write_units(shared, callers), ""])


def clamped_version(names: Scope, clamping: Clamping, steps: Steps | None = None) -> Caller:
    """Write the version that clamps loads: plain loops, so that it takes little time to compile.

    `names` are those of the other version, which gets the functions and tools that this one calls.
    """
    scope = Scope(
        plain_loops(names.kernel), places_of((*names.places, *clamping.integers)), names.options,
        names.dialect, TextUses(functions=names.uses.functions), clamping.ends,
    )  # fmt: skip
    nests = tuple(write_steps(scope, scope.kernel, Writing(steps, "clamped_")))
    names.uses.names.update(dict.fromkeys(scope.uses.names.keys() & TOOLS.keys()))
    has_context = "share" in scope.uses.names
    context = f", const Context* {CALLEE}" if has_context else ""
    return Caller(
        (
            "CLAMPED static s32 clamped(const void* const* ptrs, const s64* ints,",
            f"                           const void* scalars, void* arena{context}) {{",
        ),
        tuple(_definitions(scope, steps)),
        (UNUSED, *nests),
        ("  return 0;", "}", ""),
        _parameters(has_context),
        "CLAMPED HIDDEN",
        CLAMPED_SHARE,
    )


# The tools in their order, by the name that text asks for.
TOOLS: Final[Mapping[str, str]] = {
    "measured": MACHINE, "rows_of_block": MARCH, "even": EVEN, "rows_of_tile": TURNS,
    "share": SHARING, "masked": MASKED,
}  # fmt: skip


def _tools(scope: Scope, callers: Sequence[Caller]) -> Iterator[str]:
    """Yield the functions that the text calls, besides operations."""
    asked = set(scope.uses.names)
    if {"share", "far"} & asked:
        asked.add("measured")
    if "rows_of_tile" in asked:
        asked.add("even")
    yield ENDS
    yield from (text for name, text in TOOLS.items() if name in asked)
    if "stream" in asked:
        yield stream_function(scope.options.vector_bytes)
    yield from checks.functions(scope)
    if len(callers) > 1:
        yield from (WITHIN, CLAMPED)


def _definitions(scope: Scope, steps: Steps | None) -> Iterator[Known]:
    """Yield the definitions of integers, scalars and memory."""
    for place in range(len(scope.places)):
        yield Known(f"n{place}", f"  const s64 n{place} = ints[{place}];")
    if steps is not None:
        yield Known("only", f"  const s64 only = ints[{steps.place}];")
    yield from known(scope, scalars)
    yield from known(scope, pointers)


def _parameters(has_context: bool, *, checked: bool = False) -> tuple[tuple[str, str], ...]:
    """Return types and names of what the nests of a function need."""
    context = (("const Context* ", CALLEE),) if has_context else ()
    return (*PARAMETERS, *context, *((checks.FOUND,) if checked else ()))
