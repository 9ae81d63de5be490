"""Vector loops in strips, as the backend `cpu` writes them: what stands around their two bodies.

`cpu/text/strips.py` gives the reasons for strips of constant size, for rows that are prefetched and
for stores past the caches. DaCe's passes may rename or remove what a nest knows by name: a prefetch
or a store whose names are not defined at the loop is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from .....runtime.process import classes
from ....ir.loops import ITEMSIZES, LINE, Buffer, Load, Nest, Row, marks_of
from ...cpu.text.simd import SIMD, lanes_of
from ...cpu.text.streams import Stored, indices, is_far, rows_ahead, stored_strips
from ...cpu.text.whole_lines import first_line, later_rows
from ...rows import (
    InRow,
    Scope,
    WriterOptions,
    body_of,
    cpp,
    held_pointer,
    line as line_of,
    pointers,
    stored_type,
)
from ..names import SdfgNames, words

# Names that no field has: see `names.py`.
AT, END, STOP, LANE, AHEAD = "at0", "end0", "stop0", "lane0", "ahead0"
HEAD, BEGIN, PAST = "head0", "line0", "past0"  # points before the first whole line, and where it is
NOWHERE: Final = "none0"  # a row that is computed elsewhere has no name here
Has = Callable[[str], bool]  # tells whether a name is defined at the loop


@classes.frozen
class Target:
    """A row that non-temporal stores may write: by node and connector its store, its address."""

    store: tuple[Any, str]
    buffer: Buffer
    address: str


@classes.frozen
class StripText:
    """The text of a loop in strips around its body, which is written twice.

    The first one stores what `Target`s name to arrays, `k0`, `k1`, ..., by lane. The last brace is
    left out, as it would end any loop.
    """

    before: str
    between: str
    after: str


@classes.frozen
class _Ahead:
    """The rows that a nest prefetches: lines that define pointers, and the type behind each."""

    lines: tuple[str, ...]
    dtypes: Mapping[str, str]


class SdfgStrips:
    """Writes the vector loops of one kernel; `streams` tells whether they call `stream`."""

    def __init__(self, names: SdfgNames, options: WriterOptions) -> None:
        self.names = names
        self.scope = _scope_of(names, options)
        self.streams = False

    def written(
        self, nests: Sequence[Nest], loop: tuple[str, str, str], targets: Sequence[Target], has: Has
    ) -> StripText | None:
        """Return the text of a loop, given by its index, start and stop, over rows of some nests.

        None if there is nothing to prefetch or to store past the caches: other loops gain nothing.
        """
        index, start, stop = loop
        ahead = self._ahead(nests, has)
        if ahead is None and not targets:
            return None
        lanes = max(lanes_of(self.scope, nest) for nest in nests)
        rows = {f"s{n}": (f"k{n}", each.buffer) for n, each in enumerate(targets)}
        self.streams = self.streams or bool(targets)
        end = f"{STOP} < {AT} + {lanes} ? {STOP} : {AT} + {lanes}"
        if targets:
            end = f"{AT} < {BEGIN} && {BEGIN} < {AT} + {lanes} ? {BEGIN} : {end}"
        lane = f"for (s64 {LANE} = 0; {LANE} < {lanes}; ++{LANE})"
        point = f"const s64 {index} = {AT} + {LANE};"
        before = (
            "{",
            *(ahead.lines if ahead else ()),
            f"s64 {AT} = {start};",
            f"const s64 {STOP} = {stop};",
            *(f"{stored_type(each.buffer)}* const s{n} = {each.address};"
              for n, each in enumerate(targets)),
            *(self._begun(rows, nests[-1], lanes, has) if targets else ()),
            f"s64 {END} = {end};",
            f"for (; {AT} < {STOP}; {AT} = {END}, {END} = ({end})) {{",
            f"if ({END} - {AT} == {lanes}) {{",
            *(_asked(ahead, lanes) if ahead else ()),
            *(f"alignas({LINE}) {stored_type(buffer)} {array}[{lanes}];"
              for array, buffer in rows.values()),
            SIMD, f"{lane} {{", point,
        )  # fmt: skip
        between = (
            "}", *stored_strips(rows, lanes, (AT, f"{PAST} && {AT} >= {BEGIN}")), "} else {",
            SIMD, f"{lane} if ({LANE} < {END} - {AT}) {{", point,
        )  # fmt: skip
        return StripText("\n".join(before), "\n".join(between), "}\n}\n}")

    # --- prefetches -----------------------------------------------------------------------------

    def _ahead(self, nests: Sequence[Nest], has: Has) -> _Ahead | None:
        """Return the rows to prefetch of the first nest that has some with names at the loop."""
        for nest in nests:
            asked = [row for row in marks_of(nest).asked
                     if _is_known(self._rows_ahead(nest, [row]), has)]  # fmt: skip
            if asked:
                return self._rows_ahead(nest, asked)
        return None

    def _rows_ahead(self, nest: Nest, asked: Sequence[Row]) -> _Ahead | None:
        """Return pointers to the rows `asked`; None if functions make them."""
        loop = nest.loops[-2]
        start, stop = self.names.ends(nest, loop)
        here, far = self.names.loop(loop), marks_of(nest).ahead * loop.step
        last = f"{stop} - {loop.step}"
        position = (
            f"{here} - {far} > {start} ? {here} - {far} : {start}"
            if loop.backward
            else f"{here} + {far} < {last} ? {here} + {far} : {last}"
        )
        scope = self.scope.apart()
        own = classes.evolve(nest, marks=classes.evolve(marks_of(nest), asked=tuple(asked)))
        later = rows_ahead(body_of(scope, own), own)
        moving = indices(later)
        positions = {each.range.dim: self.names.loop(each) for each in nest.loops}
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

    # --- non-temporal stores --------------------------------------------------------------------

    def streamed(self, nests: Sequence[Nest], has: Has) -> dict[str, Buffer]:
        """Return by their names in the SDFG the buffers that non-temporal stores may write."""
        data = {name for nest in nests for name in marks_of(nest).streams}
        if not data or not all(map(has, words(self._is_far(nests[-1])))):
            return {}
        return {self.names.data[name]: self.names.by_name[name] for name in data}

    def _begun(self, rows: Stored, nest: Nest, lanes: int, has: Has) -> Iterator[str]:
        """Define the test for these stores and where the first line begins; ask for rows' ends."""
        enough = f"({HEAD} == 0 || {STOP} - {AT} - {HEAD} >= {2 * lanes})"
        yield from first_line(rows, (self._is_far(nest), enough), (AT, HEAD, PAST))
        yield f"const s64 {BEGIN} = {AT} + ({PAST} ? {HEAD} : 0);"
        for place in later_rows(self.scope, nest, rows):
            if all(word in rows or has(word) for word in words(place)):
                for test, end in ((HEAD, BEGIN), (f"({STOP} - {BEGIN}) % {lanes}", STOP)):
                    yield f"if ({PAST} && {test}) __builtin_prefetch({place} + {end} - 1, 1);"

    def _is_far(self, nest: Nest) -> str:
        ends = (self.names.ends(nest, loop) for loop in nest.loops)
        return is_far(self.scope, nest, " * ".join(f"({stop} - {start})" for start, stop in ends))


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


def _asked(ahead: _Ahead, lanes: int) -> Iterator[str]:
    for pointer, dtype in ahead.dtypes.items():
        for byte in range(0, lanes * ITEMSIZES[dtype], LINE):
            yield f"__builtin_prefetch({pointer} + {AT} + {byte // ITEMSIZES[dtype]}, 0, 2);"


def _is_known(ahead: _Ahead | None, has: Has) -> bool:
    """Tell whether lines need only names that are defined."""
    return ahead is not None and all(has(word) for line in ahead.lines for word in words(line))
