"""Walk the vector loops of DaCe's text strip by strip, as the backend `cpu` does.

An SDFG says which points a map has, not how a processor walks them. `cpu/text/strips.py` gives the
reasons for strips of constant size, for rows that are prefetched and for stores past the caches.
Comments in the tasklets of vector loops say which nest they come from; a name that is not in scope
after DaCe's passes leaves a prefetch or a store as it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from ....runtime.process import classes
from ...ir.loops.buffers import Buffer
from ...ir.loops.cpu import marks_of
from ...ir.loops.nest import Load, Nest, Row
from ..cpu.text.ahead import indices, rows_ahead
from ..cpu.text.streams import LINE, aligned, is_far, stored_strips
from ..cpu.text.strips import SIMD, lanes_of
from ..rows.addresses import InRow
from ..rows.body import body_of, pointers
from ..rows.body import line as line_of
from ..rows.dialect import cpp, held_pointer
from ..rows.options import WriterOptions
from ..rows.scope import Scope, stored_type
from ..schedule.costs import ITEMSIZES
from .names import SdfgNames

DEEPER: Final = " " * 12
NEST: Final = "// nest"  # and its number: the comment in a tasklet
_LOOP: Final = re.compile(r"(\s*)for \(int64_t (v_\w+) = (.+); \2 < (.+); \2 \+= 1\) \{$")
_STORE: Final = re.compile(r"(\s*)(\w+)\[(.*)\] = (\w+);$")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_DECLARED: Final = re.compile(r"\s*int64_t \w+;$")
# SdfgNames that no field has: see `names.py`.
AT, END, STOP, LANE, AHEAD = "at0", "end0", "stop0", "lane0", "ahead0"
PAST = "past0"
STRIP: Final = (AT, PAST)
NOWHERE: Final = "none0"  # a row that is computed elsewhere has no name here


def _scope_of(names: SdfgNames, options: WriterOptions) -> Scope:
    """Return the names of a kernel as they are spelled in an SDFG; pointers lead to constants."""
    return Scope(
        names.kernel,
        {},
        options,
        classes.evolve(
            cpp(options), pointer=lambda type_, *given: held_pointer(f"const {type_}", *given)
        ),
        bounds=names.text,
        strides=lambda buffer, axis: names.strides(buffer)[axis],
        buffers=names.data,
    )


@classes.frozen
class _Ahead:
    """The rows that a nest prefetches: lines that define pointers, and the type behind each."""

    lines: tuple[str, ...]
    dtypes: Mapping[str, str]


def _rows_ahead(scope: Scope, names: SdfgNames, nest: Nest, asked: Sequence[Row]) -> _Ahead | None:
    """Return pointers to the rows `asked`; None if they are made by functions, or out of scope."""
    loop = nest.loops[-2]
    start, stop = names.ends(nest, loop)
    here, far = names.loop(loop), marks_of(nest).ahead * loop.step
    last = f"{stop} - {loop.step}"
    position = (
        f"{here} - {far} > {start} ? {here} - {far} : {start}"
        if loop.backward
        else f"{here} + {far} < {last} ? {here} + {far} : {last}"
    )
    scope = scope.apart()
    own = classes.evolve(nest, marks=classes.evolve(marks_of(nest), asked=tuple(asked)))
    later = rows_ahead(body_of(scope, own), own)
    moving = indices(later)
    positions = {each.range.dim: names.loop(each) for each in nest.loops}
    positions[loop.range.dim] = AHEAD
    elsewhere = dict.fromkeys(range(len(nest.body)), NOWHERE)
    later = classes.evolve(later, positions=positions, names={**elsewhere, **later.names})
    lines = (
        f"const s64 {AHEAD} = {position};",
        *(line_of(later, row) for row in moving),
        *pointers(later),
    )
    dtypes = {
        address.pointer: scope.by_name[row.buffer].dtype
        for number, address in later.addresses.items()
        if isinstance(address, InRow) and isinstance(row := nest.body[number], Load)
    }
    return None if scope.uses.functions else _Ahead(lines, dtypes)


@classes.frozen
class _Target:
    """A row that non-temporal stores write: the line of the store, its array, its address."""

    line: int
    array: str
    buffer: Buffer
    address: str


class SdfgStrips:
    """Writes the vector loops of one kernel."""

    def __init__(self, names: SdfgNames, options: WriterOptions) -> None:
        self.names = names
        self.scope = _scope_of(names, options)
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
            known = _words_around(lines, at)
            body = [each for each in body if not each.lstrip().startswith(NEST)]
            yield from self._loop(loop, body, nests, known)
            at = stop + 1

    def _nests(self, body: Sequence[str]) -> list[Nest]:
        words = [line.split() for line in body if line.lstrip().startswith(NEST)]
        return [self.names.nests[int(number)] for *_, number in words]

    def _loop(
        self, loop: re.Match[str], body: Sequence[str], nests: Sequence[Nest], known: set[str]
    ) -> list[str]:
        """Return the lines of a loop in strips; the last one may have fewer lanes."""
        indent, index, start, stop = loop.groups()
        lanes = max(lanes_of(self.scope, nest) for nest in nests)
        ahead = self._ahead(nests, known)
        targets = self._targets(body, nests, index, known)
        end = f"({STOP} < {AT} + {lanes} ? {STOP} : {AT} + {lanes})"
        lane = f"for (s64 {LANE} = 0; {LANE} < {lanes}; ++{LANE})"
        kept = list(body)
        for each in targets:
            kept[each.line] = re.sub(r"\S+\[.*\] =", f"{each.array}[{LANE}] =", body[each.line])
        deep = indent + DEEPER
        return [
            f"{indent}{{",
            *(f"{indent}    {line}" for line in (ahead.lines if ahead else ())),
            f"{indent}    s64 {AT} = {start};",
            f"{indent}    const s64 {STOP} = {stop};",
            f"{indent}    s64 {END} = {end};",
            *(f"{indent}    {line}" for line in self._aligned(targets, nests)),
            f"{indent}    for (; {AT} < {STOP}; {AT} = {END}, {END} = {end}) {{",
            f"{indent}        if ({END} - {AT} == {lanes}) {{",
            *(deep + line for line in (_asked(ahead, lanes) if ahead else ())),
            *(
                f"{deep}alignas({LINE}) {stored_type(each.buffer)} {each.array}[{lanes}];"
                for each in targets
            ),
            *_strip(deep, lane, index, kept, "{"),
            *(deep + line for line in stored_strips(_rows(targets), lanes, STRIP)),
            f"{indent}        }} else {{",
            *_strip(deep, lane, index, body, f"if ({LANE} < {END} - {AT}) {{"),
            f"{indent}        }}",
            f"{indent}    }}",
            f"{indent}}}",
        ]

    def _ahead(self, nests: Sequence[Nest], known: set[str]) -> _Ahead | None:
        """Return the rows to prefetch of the first nest that has some with names in scope."""
        for nest in nests:
            asked = [
                row for row in marks_of(nest).asked
                if _is_spelled(_rows_ahead(self.scope, self.names, nest, [row]), known)
            ]  # fmt: skip
            if asked:
                return _rows_ahead(self.scope, self.names, nest, asked)
        return None

    # --- non-temporal stores --------------------------------------------------------------------

    def _targets(
        self, body: Sequence[str], nests: Sequence[Nest], index: str, known: set[str]
    ) -> list[_Target]:
        data = {self.names.data[name]: name for nest in nests for name in marks_of(nest).streams}
        if not data or set(_symbols(self._is_far(nests[-1]))) - known:
            return []
        found: list[_Target] = []
        for number, line in enumerate(body):
            store = _STORE.match(line)
            if store and store[2] in data and re.search(rf"\b{index}\b", store[3]):
                address = f"{store[2]} + {re.sub(rf'{index}', '0', store[3])}"
                buffer = self.names.by_name[data[store[2]]]
                found.append(_Target(number, f"k{len(found)}", buffer, address))
        self.streams = self.streams or bool(found)
        return found

    def _is_far(self, nest: Nest) -> str:
        ends = (self.names.ends(nest, loop) for loop in nest.loops)
        return is_far(self.scope, nest, " * ".join(f"({stop} - {start})" for start, stop in ends))

    def _aligned(self, targets: Sequence[_Target], nests: Sequence[Nest]) -> Iterator[str]:
        """Point to the rows that non-temporal stores may write, and test whether they do."""
        if not targets:
            return
        yield from (
            *(
                f"{stored_type(each.buffer)}* const s{number} = {each.address};"
                for number, each in enumerate(targets)
            ),
            aligned(_rows(targets), self._is_far(nests[-1]), STRIP),
        )


def _asked(ahead: _Ahead, lanes: int) -> Iterator[str]:
    for pointer, dtype in ahead.dtypes.items():
        for byte in range(0, lanes * ITEMSIZES[dtype], LINE):
            yield f"__builtin_prefetch({pointer} + {AT} + {byte // ITEMSIZES[dtype]}, 0, 2);"


def _rows(targets: Sequence[_Target]) -> dict[str, tuple[str, Buffer]]:
    """Return by pointer the array and the buffer of each target."""
    return {f"s{number}": (each.array, each.buffer) for number, each in enumerate(targets)}


def _strip(indent: str, lane: str, index: str, body: Sequence[str], opening: str) -> list[str]:
    return [
        indent + SIMD,
        f"{indent}{lane} {opening}",
        f"{indent}    const s64 {index} = {AT} + {LANE};",
        *(DEEPER + line for line in body),
        f"{indent}}}",
    ]


def _closed(lines: Sequence[str], start: int) -> int:
    """Return the line that closes the block that line `start` opens."""
    depth = 0
    for number in range(start, len(lines)):
        depth += lines[number].count("{") - lines[number].count("}")
        if depth == 0:
            return number
    return start


def _words_around(lines: Sequence[str], at: int) -> set[str]:
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


def _is_spelled(ahead: _Ahead | None, known: set[str]) -> bool:
    """Tell whether lines need only names that are in scope."""
    return (
        ahead is not None and not {word for line in ahead.lines for word in _symbols(line)} - known
    )


def _symbols(text: str) -> Iterator[str]:
    """Return the words of a text that DaCe's text must define."""
    for word in _WORD.findall(re.sub(r"asm\(.*?\);|0x[0-9a-fp+.-]+", "", text)):
        if not re.fullmatch(rf"[qwvk]\d+|[bsuf]\d+|const|{AHEAD}", word):
            yield word
