"""Cut a long source into translation units, which compilers translate side by side.

Nests that take a compiler long become functions of their own. Each unit has the shared types and
inline functions and some of the nests. What is cut depends on nothing but the text, so equal
programs have equal sources on all machines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, TypeAlias

from .....runtime.process import classes
from ....units import MACRO, NAMESPACE, first_line
from ...rows import Definition, Scope

# Compile times are estimated as lines after inlining. A compiler takes 1500 to 3000 a second.
CUT_FROM: Final = 2000  # the least estimate of a source that is cut
UNIT: Final = 1500  # the usual size of a unit
LEAST: Final = 200  # smaller nests stay in the caller
MOST_UNITS: Final = 16
IN_LINE: Final = 6  # integers that are defined together
LARGEST: Final = 0.8  # of the whole; where one nest dominates, a cut gains nothing

BEGIN: Final = f"""\
#ifdef {MACRO}
#define IN(unit) ({MACRO} == unit)
#else
#define IN(unit) 1
#endif
#define HIDDEN __attribute__((noinline, visibility("hidden")))
#ifndef {NAMESPACE}
#define {NAMESPACE} units
#endif
namespace {NAMESPACE} {{"""
_CALLED: Final = re.compile(r"(\w+)\(")
_FUNCTION: Final = re.compile(r"^(?:EACH|static)\b[^;]*?\b(?!__)(\w+)\([^;]*\{", re.MULTILINE)


@classes.frozen
class Known:
    """A line that defines a name, and the names in it; it always stays if it has no name.

    A function is only where parts call it. Those with a `value` are integers and have no line.
    """

    name: str
    line: str
    uses: frozenset[str] = frozenset()
    is_function: bool = False
    value: str = ""


@classes.frozen
class Part:
    """A nest, or all nests of a tiling: the inside of a block up to its closing brace.

    Attributes:
        name: of the function that it may become.
        lines: its text; parts inside may become functions in its place.
        uses: the names in its text.
        definitions: what such a function needs beside the definitions of its caller.
        arguments: integers that it needs from the block around it.

    """

    name: str
    lines: tuple[Line, ...]
    uses: frozenset[str] = frozenset()
    definitions: tuple[Known, ...] = ()
    arguments: tuple[str, ...] = ()


Line: TypeAlias = str | Part


@classes.frozen
class Caller:
    """A function whose nests may become functions that take the same parameters.

    Attributes:
        head: the lines from its signature to the first definition.
        definitions: the variables that nests use, in order.
        lines: its nests.
        tail: the lines after them.
        parameters: types and names of what its nests need.

    """

    head: tuple[str, ...]
    definitions: tuple[Known, ...]
    lines: tuple[Line, ...]
    tail: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]

    def text(self, outlined: Iterable[Part] = ()) -> Iterator[str]:
        """Write the function; its parts among `outlined` are calls."""
        names = [name for _, name in self.parameters]
        calls = {
            part.name: f"    {part.name}({', '.join([*names, *part.arguments])});"
            for part in outlined
        }
        here = (line for line in self.lines if isinstance(line, Part) and line.name not in calls)
        called = {name for part in here for name in part.uses}
        known = (each for each in self.definitions if not each.is_function or each.name in called)
        yield from (*self.head, *defined(known))
        yield from (*flat(self.lines, calls), *self.tail)

    def signature(self, part: Part) -> str:
        """Return the signature of the function that a part becomes."""
        given = [f"{type_}{name}" for type_, name in self.parameters]
        given += [f"s64 {name}" for name in part.arguments]
        return f"HIDDEN void {part.name}({', '.join(given)})"

    def function(self, part: Part) -> Iterator[str]:
        """Write the function that a part becomes, with the definitions that it uses."""
        given = {name for _, name in self.parameters}
        others = [each for each in (*self.definitions, *part.definitions) if each.name not in given]
        yield f"{self.signature(part)} {{"
        yield from (*defined(used(others, part.uses)), *flat(part.lines))


def flat(lines: Iterable[Line], calls: Mapping[str, str] | None = None) -> Iterator[str]:
    """Yield the lines with those of parts in their places, or the calls of these."""
    for line in lines:
        if isinstance(line, str):
            yield line
        elif calls and line.name in calls:
            yield from (calls[line.name], "  }")
        else:
            yield from flat(line.lines, calls)


def defined(definitions: Iterable[Known]) -> Iterator[str]:
    """Write definitions; integers that follow each other share lines.

    >>> print(*defined([Known("n0", "", value="ints[0]"), Known("n1", "", value="ints[1]")]))
      const s64 n0 = ints[0], n1 = ints[1];
    """
    for has_value, some in groupby(definitions, lambda each: bool(each.value)):
        if has_value:
            values = [f"{each.name} = {each.value}" for each in some]
            yield from (f"  const s64 {', '.join(row)};" for row in batched(values))
        else:
            yield from (each.line for each in some)


def batched(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the definitions of one line after the other."""
    return (values[at : at + IN_LINE] for at in range(0, len(values), IN_LINE))


def used(definitions: Sequence[Known], names: Iterable[str]) -> list[Known]:
    """Return the definitions of names, and those of the names in these."""
    words, kept = set(names), []
    for each in reversed(definitions):
        if not each.name or each.name in words:
            kept.append(each)
            words |= each.uses
    return kept[::-1]


def known(scope: Scope, write: Callable[[Scope], Iterable[Definition]]) -> Iterator[Known]:
    """Yield definitions, each with the names that it contains."""
    own = scope.apart()
    for name, line in write(own):
        yield Known(name, line, frozenset(own.uses.names))
        scope.uses.add(own.uses)
        own.uses.names.clear()


def part_of(
    scope: Scope,
    name: str,
    write: Callable[[Scope], Iterable[Line]],
    definitions: tuple[Known, ...] = (),
    arguments: tuple[str, ...] = (),
) -> Part:
    """Return what `write` yields as a part, which knows the names that it asked for."""
    own = scope.apart()
    lines = tuple(write(own))
    scope.uses.add(own.uses)
    return Part(name, lines, frozenset(own.uses.names), definitions, arguments)


# --- estimates ----------------------------------------------------------------------------------


def costs_of(texts: Iterable[str]) -> dict[str, int]:
    r"""Return the lines of each inline function, those of the functions that it calls included.

    >>> costs_of(["EACH f64 a(f64 x) {\n  return x;\n}\nEACH f64 b(f64 x) { return a(a(x)); }"])
    {'a': 3, 'b': 7}
    """
    costs: dict[str, int] = {}
    for text in texts:
        starts = [*_FUNCTION.finditer(text)]
        ends = [*(each.start() for each in starts), len(text)][1:]
        for start, end in zip(starts, ends, strict=True):
            body = text[start.end() : end]
            cost = 1 + body.rstrip().count("\n") + _calls(body, costs)
            costs[start[1]] = max(cost, costs.get(start[1], 0))
    return costs


def estimate(lines: Iterable[Line], costs: Mapping[str, int]) -> int:
    """Return the lines after inlining."""
    return sum(1 + _calls(line, costs) for line in flat(lines))


def _calls(text: str, costs: Mapping[str, int]) -> int:
    return sum(costs.get(name, 0) for name in _CALLED.findall(text))


# --- the cut ------------------------------------------------------------------------------------


Costed: TypeAlias = tuple[Part, int]


def write_units(shared: Sequence[str], caller: Caller) -> list[str]:
    """Write a source, in several units if it takes a compiler long."""
    costs = costs_of(shared)
    chosen = list(_chosen(caller.lines, costs))
    units = _packed(chosen, estimate(caller.lines, costs))
    if not units:
        return [*shared, *caller.text()]
    declared = [f"{caller.signature(part)};" for part, _ in chosen]
    text = [first_line(len(units) + 1), *shared, BEGIN, *declared]
    for number, unit in enumerate(units):
        text += ["", f"#if IN({number})"]
        text += [line for part, _ in unit for line in caller.function(part)]
        text += ["#endif"]
    text += ["", f"#if IN({len(units)})", *caller.text(part for part, _ in chosen)]
    return [*text, "#endif", "}"]


def _chosen(lines: Iterable[Line], costs: Mapping[str, int]) -> Iterator[Costed]:
    """Yield the parts that become functions if the source is cut, and their costs."""
    for part in lines:
        if isinstance(part, Part):
            cost = estimate(part.lines, costs)
            if cost > UNIT and any(isinstance(line, Part) for line in part.lines):
                yield from _chosen(part.lines, costs)
            elif cost >= LEAST:
                yield part, cost


def _packed(chosen: Sequence[Costed], whole: int) -> list[list[Costed]]:
    """Return the functions of each unit, the longest unit first; nothing if a cut does not help.

    The next in size goes to the unit that has least.
    """
    count = min(MOST_UNITS, len(chosen), max(2, round(whole / UNIT)))
    if whole < CUT_FROM or count < 2:
        return []
    units: list[list[Costed]] = [[] for _ in range(count)]
    loads = [0] * count
    for part, cost in sorted(chosen, key=lambda each: (-each[1], each[0].name)):
        place = min(range(count), key=loads.__getitem__)
        units[place].append((part, cost))
        loads[place] += cost
    if max(loads) > LARGEST * whole:
        return []
    order = sorted(range(count), key=lambda place: (-loads[place], place))
    return [sorted(units[place], key=chosen.index) for place in order]
