"""Write a kernel as plain C++: one function, without headers and without the user's names.

Write the nodes of a kernel in order: each stands in a block, under its conditions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Final

from .....runtime.process import classes
from ....ir.loops import (
    Bound,
    Choice,
    Column,
    Kernel,
    Loop,
    Nest,
    Node,
    Portions,
    Seq,
    Store,
    Stride,
    Tiles,
    arrays_of,
    walk,
)
from ...entry_point import PARAMETERS, UNUSED, entry_head
from ...rows import (
    TYPES,
    WITHIN,
    Dialect,
    Expression,
    Scope,
    Steps,
    WriterOptions,
    checks,
    cpp,
    loop_over,
    memory,
    places_of,
    scalars,
)
from ...soft_reads import Clamping
from .elements import LISTED
from .lanes import acts_in_lanes, write_lanes
from .nest import write_column, write_nest
from .portions import ELEMENTS, functions_of, write_all, write_portions
from .streams import ASK, stream_function
from .strips import MASKED
from .threads import CALLEE, LIMITS, MACHINE, MARCH, ROWS_IN_TURN, SHARING, TURNS
from .tiles import EVEN, write_tiles
from .units import Caller, Known, Line, known, part_of, write_units

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
    "rows_in_turn": ROWS_IN_TURN,
    "share": SHARING, "masked": MASKED, "run": ELEMENTS, "ask": ASK,
    "listed": LISTED,
}  # fmt: skip


def _tools(scope: Scope) -> Iterator[str]:
    """Yield the functions that the text calls, besides operations."""
    asked = set(scope.uses.names)
    if {"share", *LIMITS} & asked:
        asked.add("measured")
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
    yield from known(scope, memory)


def _parameters(has_context: bool, *, checked: bool = False) -> tuple[tuple[str, str], ...]:
    """Return types and names of what the nests of a function need."""
    context = (("const Context* ", CALLEE),) if has_context else ()
    return (*PARAMETERS, *context, *((checks.FOUND,) if checked else ()))


@classes.frozen
class Writing:
    """What stands around a node.

    Attributes:
        steps: how a call selects one statement.
        when: the conditions of choices.
        nests: those written so far; the number of a nest is its place.
        functions: those of nests in portions, which run for all elements too.
        first: the number of the first nest on the other side of a choice.

    """

    steps: Steps | None
    when: str = ""
    nests: list[Node] = classes.field(factory=list)
    functions: dict[Nest, Known] = classes.field(factory=dict)
    first: int = 0


def write_steps(scope: Scope, kernel: Kernel, writing: Writing) -> Iterator[Line]:
    """Write all nodes of a kernel."""
    for step in kernel.steps:
        yield from write_node(scope, step.body, writing)


def write_node(scope: Scope, node: Node, writing: Writing) -> Iterator[Line]:
    """Write a node; nests, columns and groups of nests may become functions."""
    nests = writing.nests
    number = len(nests)
    around = tuple(scope.around.values())
    match node:
        case Seq(steps=steps):
            for step in steps:
                yield from write_node(scope, step, writing)
        case Choice():
            yield from _choice(scope, node, writing)
        case Loop(range=range_, body=body, backward=backward):
            index = f"o{len(around)}"
            head = loop_over(index, scope.ends(range_), backward=backward)
            yield f"  {writing.when}{head}  // planes"
            inside = classes.evolve(scope, around={**scope.around, range_.dim: index})
            yield from write_node(inside, body, classes.evolve(writing, when=""))
            yield "  }"
        case Nest() | Column():
            nests.append(node)
            yield f"{_head(scope, node, writing)}{{  // nest {number}"
            alone = partial(_alone, node=node, functions=writing.functions)
            yield part_of(scope, f"nest{number}", alone, (), around)
        case Tiles(members=members):
            nests += [member.nest for member in members]
            yield f"{_head(scope, node, writing)}{{  // nests {number} .. {len(nests) - 1}"
            tiled = partial(write_tiles, tiles=node, first=number)
            yield part_of(scope, f"nests{number}", tiled, (), around)
        case Portions(loops=loops):
            stored = [arrays_of(nest, Store) for nest in nests]
            numbers = [stored.index(arrays_of(each.nest, Store), writing.first) for each in loops]
            said = f"nests {', '.join(map(str, numbers))} in portions"
            yield f"{_head(scope, node, writing)}{{  // {said}"
            names = [writing.functions[each.nest].name for each in loops]
            portioned = partial(write_portions, portions=node, functions=names, numbers=numbers)
            yield part_of(scope, f"portions{numbers[0]}", portioned, (), around)
        case _:
            raise TypeError(f"The C++ writer does not know '{type(node).__name__}'.")


def _alone(scope: Scope, node: Nest | Column, functions: Mapping[Nest, Known]) -> Iterator[str]:
    if isinstance(node, Column):
        in_lanes = acts_in_lanes(scope, node)
        return write_lanes(scope, node) if in_lanes else write_column(scope, node)
    if node in functions:
        return write_all(scope, node, functions[node].name)
    return write_nest(scope, node)


def _choice(scope: Scope, choice: Choice, writing: Writing) -> Iterator[Line]:
    """Write both sides, each under its condition; nodes that end both need none.

    The nests of `otherwise` have the lower numbers, though they stand below.
    """
    then, otherwise = (
        side.steps if isinstance(side, Seq) else (side,) for side in (choice.then, choice.otherwise)
    )
    own = tuple(step for step in then if step not in otherwise)
    own = own if then[: len(own)] == own else then
    common, when, first = then[len(own) :], scope.bound(choice.when), len(writing.nests)
    for portions in (step for step in own if isinstance(step, Portions)):
        writing.functions.update(functions_of(scope, portions, len(writing.functions)))
    apart = classes.evolve(writing, when=f"{writing.when}if (!{when}) ")
    below = [
        line
        for step in otherwise
        for line in write_node(scope, step, writing if step in common else apart)
    ]
    inside = classes.evolve(writing, when=f"{writing.when}if ({when}) ", first=first)
    for step in own:
        yield from write_node(scope, step, inside)
    yield from below


def _head(scope: Scope, node: Node, writing: Writing) -> str:
    """Return the conditions under which a call runs a node."""
    selected = ""
    if writing.steps is not None:
        group = next(each.group for each in walk(node) if isinstance(each, Nest | Column))
        number = writing.steps.numbers[group]
        selected = f"if (!{scope.ask('only')} || only == {number}) "
    return f"  {selected}{writing.when}"
