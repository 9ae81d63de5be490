"""Walk the vector loops of DaCe's text strip by strip, as the backend `cpu` does.

An SDFG says which points a map has, not how a processor walks them. `cpu/text/strips.py` gives the
reasons for strips of constant size, for rows that are prefetched and for stores past the caches.
Comments in the tasklets of vector loops say which nest they come from; a name that is not in scope
after DaCe's passes leaves a prefetch or a store as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from ....runtime.language.dimension import Dimension
from ...ir import flat_kernel
from ...ir.bounds import Bound
from ...ir.loops.buffers import Buffer
from ...ir.loops.flat import flat
from ...ir.loops.kernel import Kernel
from ...ir.loops.nest import Row
from ...ir.nests import Nest
from ..cpu.text.strips import LINE, SIMD, lanes_of
from ..rows.body import BodyText
from ..rows.names import Names as CppNames
from ..rows.names import WriterOptions, stored_type
from ..schedule.costs import ITEMSIZES
from .arrangement import needs_guard
from .names import GuardedStop, SdfgNames

DEEPER: Final = " " * 12
NEST: Final = "// nest"  # and its number: the comment in a tasklet
_LOOP: Final = re.compile(r"(\s*)for \(int64_t (v_\w+) = (.+); \2 < (.+); \2 \+= 1\) \{$")
_STORE: Final = re.compile(r"(\s*)(\w+)\[(.*)\] = (\w+);$")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_DECLARED: Final = re.compile(r"\s*int64_t \w+;$")
# SdfgNames that no field has: see `names.py`.
AT, END, STOP, LANE, AHEAD = "at0", "end0", "stop0", "lane0", "ahead0"
FIRST, PAST = "first0", "past0"


class _OutOfScopeError(Exception):
    """A row that is computed elsewhere has no name here."""


class _RowNames(CppNames):
    """The names of the C++ writer, spelled as in an SDFG."""

    def __init__(
        self, kernel: flat_kernel.Kernel, names: SdfgNames, options: WriterOptions
    ) -> None:
        super().__init__(kernel, (), options)
        self.sdfg = names
        self.buffers = dict(names.data)

    def bound(self, bound: Bound) -> str:
        return self.sdfg.text(bound)

    def term(self, buffer: Buffer, axis: int, index: str) -> str:
        stride = self.sdfg.strides(buffer)[axis]
        return index if stride == "1" else f"{index} * {stride}"

    def points(self, nest: Nest) -> str:
        return " * ".join("({1} - {0})".format(*self.ends(nest, loop)) for loop in nest.loops)

    def ends(self, nest: Any, loop: Any) -> tuple[str, str]:
        """Return the ends of a loop as DaCe's text spells them: the outermost has the guard."""
        start, stop = loop.range.start, loop.range.stop
        if loop is nest.loops[0] and needs_guard(nest, nest.guard):
            return self.sdfg.end(start), self.sdfg.end(GuardedStop(start, stop, nest.guard))
        return self.bound(start), self.bound(stop)


class _RowsAhead(BodyText):
    """Pointers to the rows that a nest prefetches."""

    names: _RowNames

    def __init__(self, names: _RowNames, nest: Nest) -> None:
        super().__init__(names, nest, later=True)

    def _position(self, dim: Dimension) -> str:
        level = self.dims.index(dim)
        loop: Any = self.nest.loops[level]
        return AHEAD if level == len(self.dims) - 2 else self.names.sdfg.loop(loop)

    def _name(self, number: Row) -> str:
        if not self._moves(number):
            raise _OutOfScopeError
        return super()._name(number)

    def lines(self) -> list[str]:
        """Define the pointers, and the index of the iteration that they are for."""
        loop: Any = self.nest.loops[-2]
        start, stop = self.names.ends(self.nest, loop)
        index, far = self.names.sdfg.loop(loop), self.nest.ahead * loop.step
        last = f"{stop} - {loop.step}"
        position = (
            f"{index} - {far} > {start} ? {index} - {far} : {start}"
            if loop.backward
            else f"{index} + {far} < {last} ? {index} + {far} : {last}"
        )
        pointers = [re.sub(r"^(\w+\* q)", r"const \1", line) for line in self.pointers("")]
        return [f"const s64 {AHEAD} = {position};", *pointers]


@attrs.frozen
class _Target:
    """A row that non-temporal stores write: the line of the store, its array, its address."""

    line: int
    array: str
    buffer: Buffer
    address: str


class Strips:
    """Writes the vector loops of one kernel."""

    def __init__(self, kernel: Kernel, names: SdfgNames, options: WriterOptions) -> None:
        self.kernel = flat(kernel)
        self.names = names
        self.options = options
        self.streams = False  # whether a store needs the function `stream`

    def written(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield the lines of DaCe's text with its vector loops in strips."""
        at = 0
        while at < len(lines):
            loop = _LOOP.match(lines[at + 1]) if lines[at].strip() == SIMD else None
            stop = at if loop is None else _closed(lines, at + 1)
            body = lines[at + 2 : stop]
            nests = self._nests(body)
            if loop is None or not nests:
                yield lines[at]
                at += 1
                continue
            yield from self._loop(loop, body, nests, _scope(lines, at))
            at = stop + 1

    def _nests(self, body: Sequence[str]) -> list[Nest]:
        words = [line.split() for line in body if line.lstrip().startswith(NEST)]
        return [self.kernel.nests[int(number)] for *_, number in words]

    def _loop(
        self, loop: re.Match[str], body: Sequence[str], nests: Sequence[Nest], scope: set[str]
    ) -> Iterator[str]:
        indent, index, start, stop = loop.groups()
        row_names = _RowNames(self.kernel, self.names, self.options)
        lanes = max(lanes_of(row_names, nest) for nest in nests)
        ahead = self._ahead(row_names, nests, scope)
        targets = self._targets(row_names, body, nests, index, scope)
        body = [line for line in body if not line.lstrip().startswith(NEST)]
        end = f"({STOP} < {AT} + {lanes} ? {STOP} : {AT} + {lanes})"
        lane = f"for (s64 {LANE} = 0; {LANE} < {lanes}; ++{LANE})"
        yield f"{indent}{{"
        if ahead is not None:
            yield from (f"{indent}    {line}" for line in ahead.lines())
        yield f"{indent}    s64 {AT} = {start};"
        yield f"{indent}    const s64 {STOP} = {stop};"
        yield f"{indent}    s64 {END} = {end};"
        yield from (f"{indent}    {line}" for line in self._aligned(row_names, targets, nests))
        yield f"{indent}    for (; {AT} < {STOP}; {AT} = {END}, {END} = {end}) {{"
        yield f"{indent}        if ({END} - {AT} == {lanes}) {{"
        deep = f"{indent}            "
        for name in self._asked(ahead, lanes):
            yield deep + name
        for each in targets:
            yield f"{deep}alignas({LINE}) {stored_type(each.buffer)} {each.array}[{lanes}];"
        kept = list(body)
        for each in targets:
            kept[each.line] = re.sub(r"\S+\[.*\] =", f"{each.array}[{LANE}] =", body[each.line])
        yield from _strip(deep, lane, index, kept, "{")
        yield from (deep + line for line in _stored(targets, lanes))
        yield f"{indent}        }} else {{"
        yield from _strip(deep, lane, index, body, f"if ({LANE} < {END} - {AT}) {{")
        yield f"{indent}        }}"
        yield f"{indent}    }}"
        yield f"{indent}}}"

    # --- prefetches -----------------------------------------------------------------------------

    def _ahead(self, names: _RowNames, nests: Sequence[Nest], scope: set[str]) -> _RowsAhead | None:
        """Return the rows to prefetch of the first nest that has some with names in scope."""
        for nest in nests:
            asked = tuple(
                row for row in nest.asked
                if _is_spelled(names, attrs.evolve(nest, asked=(row,)), scope)
            )  # fmt: skip
            if asked:
                return _RowsAhead(names, attrs.evolve(nest, asked=asked))
        return None

    def _asked(self, ahead: _RowsAhead | None, lanes: int) -> Iterator[str]:
        if ahead is not None:
            for (name, _), row in ahead.rows.items():
                size = ITEMSIZES[ahead.names.by_name[name].dtype]
                for line in range(0, lanes * size, LINE):
                    yield f"__builtin_prefetch({row} + {AT} + {line // size}, 0, 2);"

    # --- non-temporal stores --------------------------------------------------------------------

    def _targets(
        self,
        names: _RowNames,
        body: Sequence[str],
        nests: Sequence[Nest],
        index: str,
        scope: set[str],
    ) -> list[_Target]:
        data = {self.names.data[name]: name for nest in nests for name in nest.streams}
        if not data or set(_symbols(names.is_far(nests[-1]))) - scope:
            return []
        body = [line for line in body if not line.lstrip().startswith(NEST)]
        found: list[_Target] = []
        for number, line in enumerate(body):
            store = _STORE.match(line)
            if store and store[2] in data and re.search(rf"\b{index}\b", store[3]):
                address = f"{store[2]} + {re.sub(rf'{index}', '0', store[3])}"
                buffer = names.by_name[data[store[2]]]
                found.append(_Target(number, f"k{len(found)}", buffer, address))
        self.streams = self.streams or bool(found)
        return found

    def _aligned(
        self, names: _RowNames, targets: Sequence[_Target], nests: Sequence[Nest]
    ) -> Iterator[str]:
        """Peel points until strips are aligned."""
        if not targets:
            return
        edge = self.options.vector_bytes
        for number, each in enumerate(targets):
            yield f"{stored_type(each.buffer)}* const s{number} = {each.address};"
        size = ITEMSIZES[targets[0].buffer.dtype]
        alike = [f"((s64)(s{n} + {FIRST}) & {edge - 1}) == 0" for n in range(len(targets))]
        tests = " && ".join([names.is_far(nests[-1]), *alike])
        yield f"const s64 {FIRST} = {AT} + (-(s64)(s0 + {AT}) & {edge - 1}) / {size};"
        yield f"const bool {PAST} = {tests};"
        yield f"if ({PAST} && {FIRST} > {AT}) {END} = {STOP} < {FIRST} ? {STOP} : {FIRST};"


def _stored(targets: Sequence[_Target], lanes: int) -> Iterator[str]:
    """Write the arrays of a strip to memory."""
    if targets:
        sizes = [lanes * ITEMSIZES[each.buffer.dtype] for each in targets]
        past = [f"stream(s{n} + {AT}, k{n}, {size});" for n, size in enumerate(sizes)]
        here = [f"__builtin_memcpy(s{n} + {AT}, k{n}, {size});" for n, size in enumerate(sizes)]
        yield f"if ({PAST}) {{ {' '.join(past)} }}"
        yield f"else {{ {' '.join(here)} }}"


def _strip(indent: str, lane: str, index: str, body: Sequence[str], opening: str) -> Iterator[str]:
    yield indent + SIMD
    yield f"{indent}{lane} {opening}"
    yield f"{indent}    const s64 {index} = {AT} + {LANE};"
    yield from (DEEPER + line for line in body)
    yield f"{indent}}}"


def _closed(lines: Sequence[str], start: int) -> int:
    """Return the line that closes the block that line `start` opens."""
    depth = 0
    for number in range(start, len(lines)):
        depth += lines[number].count("{") - lines[number].count("}")
        if depth == 0:
            return number
    return start


def _scope(lines: Sequence[str], at: int) -> set[str]:
    """Return the words of the loops, the declarations and the signature around a line."""
    found: set[str] = set()
    deep = len(lines[at]) - len(lines[at].lstrip())
    for line in reversed(lines[:at]):
        depth = len(line) - len(line.lstrip())
        if line.strip() and (depth < deep or _DECLARED.match(line)):
            found |= set(_WORD.findall(line))
            deep = min(deep, depth)
        if line and not depth and "(" in line:  # the signature
            return found | set(_WORD.findall(line))
    return found


def _is_spelled(names: _RowNames, nest: Nest, scope: set[str]) -> bool:
    """Tell whether the pointer to a row needs no function, and only names that are in scope."""
    names.functions.clear()
    try:
        lines = _RowsAhead(names, nest).lines()
    except (_OutOfScopeError, KeyError):
        return False
    words = {word for line in lines for word in _symbols(line)}
    return not names.functions and not words - scope


def _symbols(text: str) -> Iterator[str]:
    """Return the words of a text that DaCe's text must define."""
    for word in _WORD.findall(re.sub(r"asm\(.*?\);|0x[0-9a-fp+.-]+", "", text)):
        if not re.fullmatch(rf"[qwvk]\d+|[bsuf]\d+|const|{AHEAD}", word):
            yield word
