"""Print the loop IR: buffers, then nests with one loop or instruction a line.

The listing defines a bound that others share before them: `$0 = min(n, stop(out, K))`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .bounds import Apply, Bound, Range, TableBound, is_long
from .flat_kernel import Buffer, Kernel
from .nest_groups import Blocked, Instead, Patches, Portions, Tiling, Together
from .nests import (
    ALWAYS,
    Advance,
    Argument,
    Compute,
    Constant,
    Index,
    Instruction,
    Load,
    Loop,
    Nest,
    Number,
    Row,
    State,
    Store,
)
from .settled import is_settled, shared


def show(kernel: Kernel) -> str:
    """Print a kernel."""
    printer = _Printer(kernel)
    lines = [f"kernel {kernel.name}"]
    lines += [f"  {name} = {text}" for name, text in printer.definitions]
    lines += [f"  scalar {name} {dtype}" for name, dtype in kernel.scalars]
    lines += [f"  {printer.buffer(buffer)}" for buffer in kernel.buffers]
    lines += [f"  slot {i}: {printer.bound(size)} bytes" for i, size in enumerate(kernel.slots)]
    lines += [f"  # {note}" for note in kernel.notes]
    heads = {tiling.first: tiling for tiling in kernel.tilings}
    scans = {each.first: each for each in kernel.together}
    instead = {each.nest: each for each in kernel.instead}
    patches = {each.first: each for each in kernel.patches}
    portions = {each.first: each for each in kernel.portions}
    for index, nest in enumerate(kernel.nests):
        if index in scans:
            lines.append(printer.together(scans[index]))
        if index in heads:
            lines.append(printer.tiling(heads[index]))
        if index in patches:
            lines.append(printer.patches(patches[index]))
            lines += printer.patch_loops(patches[index], kernel.nests)
        if index in portions:
            lines.append(printer.portions(portions[index]))
        if index in instead:
            lines.append(printer.instead(instead[index]))
        lines.append(f"nest {index} of statement {nest.statement}  # {nest.reason}")
        lines += printer.nest(nest)
    return "\n".join(lines) + "\n"


class _Printer:
    """Print the parts of one kernel."""

    def __init__(self, kernel: Kernel) -> None:
        self.names: dict[Bound, str] = {}
        self.definitions: list[tuple[str, str]] = []
        for part in shared(_bounds(kernel)):
            if is_long(part):
                text = self.bound(part)
                self.names[part] = f"${len(self.names)}"
                self.definitions.append((self.names[part], text))

    def bound(self, bound: Bound) -> str:
        """Return the text of a bound, with names for named parts."""
        if bound in self.names:
            return self.names[bound]
        if is_settled(bound):
            return self.bound(bound.args[0])
        match bound:
            case Apply(op=op, args=args):
                inner = [self.bound(arg) for arg in args]
                return " + ".join(inner) if op == "add" else f"{op}({', '.join(inner)})"
            case TableBound(end=end, table=table, start=start, stop=stop):
                rows = f"{self.bound(start)}, {self.bound(stop)}"
                return f"{end}({table}{bound.slots_text}, {rows})"
        return str(bound)

    def range(self, range_: Range) -> str:
        """Return the text of a range."""
        return f"{range_.dim.value}: {self.bound(range_.start)} .. {self.bound(range_.stop)}"

    def buffer(self, buffer: Buffer) -> str:
        """Return the text of a buffer."""
        dims = ", ".join(dim.value for dim in buffer.dims)
        text = f"{buffer.memory} {buffer.name} {buffer.dtype} [{dims}]"
        if buffer.unit is not None:
            text += f" unit {buffer.unit.value}"
        if buffer.memory in ("arena", "tile"):
            text += f" box ({', '.join(map(self.range, buffer.box))})"
            text += f" ring {buffer.ring.value}" if buffer.ring is not None else ""
            text += f" slot {buffer.slot}" if buffer.slot >= 0 else ""
        return text + (f"  # {buffer.reason}" if buffer.reason else "")

    def tiling(self, tiling: Tiling) -> str:
        """Return the text of a tiling."""
        cuts = ", ".join(
            f"{self.range(cut.range)} by {'at most ' * cut.even}{cut.size}" for cut in tiling.cuts
        )
        members = f"nests {tiling.first} .. {tiling.stop - 1}"
        rolled = f", rows of {tiling.rolled.value} in turn" if tiling.rolled else ""
        return f"tiles of {members}, parallel {cuts}{rolled}  # {tiling.reason}"

    def together(self, scans: Together) -> str:
        """Return the text of scans that are one kernel."""
        members = f"nests {scans.first} .. {scans.stop - 1}"
        what = ", ".join(scans.arrays)
        if scans.tiles:
            tiles = ", ".join("/".join((tile.source, *tile.holds)) for tile in scans.tiles)
            what = f"{scans.columns} columns of {tiles}"
        room = f"{what} in shared memory of {self.bound(scans.needed)} bytes"
        most = f"at most {scans.most}, else {self.blocked(scans.blocked) or 'one by one'}"
        return f"one kernel of {members}, {room}, {most}  # {scans.reason}"

    def blocked(self, each: Blocked | None) -> str:
        """Return the text of scans over columns of any length."""
        if each is None:
            return ""
        return (
            f"in shared memory of {self.bound(each.needed)} bytes, {each.threads} columns of at "
            f"most {self.bound(each.levels)} levels"
        )

    def instead(self, each: Instead) -> str:
        """Return the text of a nest in place of others."""
        members = f"nests {each.first} .. {each.nest - 1}"
        where = "" if each.when == ALWAYS else f" where {self.bound(each.when)} is 1"
        return f"nest {each.nest} in place of {members}{where}  # {each.reason}"

    def patches(self, each: Patches) -> str:
        """Return the text of nests that are one kernel for each patch of a mesh."""
        members = f"nests {', '.join(map(str, each.members))}"
        last = each.order.size, ", ".join(each.order.tables)
        what = f"{', '.join(each.arrays)} in shared memory, {each.levels} levels of a patch"
        blocks = f"blocks of {each.threads} threads, {each.blocks} on a multiprocessor"
        text = (
            f"one kernel of {members} where {self.bound(each.node.fits)} is 1: {what} of {last[0]}"
        )
        return f"{text} by {last[1]}, {blocks}, each with {each.points} points  # {each.reason}"

    def patch_loops(self, each: Patches, nests: Sequence[Nest]) -> Iterator[str]:
        """Yield the lines of the loops of a patch, with the bodies that are those of no nest."""
        for loop, waits in zip(each.loops, each.waits, strict=True):
            if waits:
                yield "  barrier"
            of = f"for the elements of nest {each.members[loop.elements]}"
            joint = "" if loop.joint == ALWAYS else f" where {self.bound(loop.joint)} is"
            said = {
                "all": of,
                "both": f"{of} in one loop{f'{joint} 1' if joint else ''}",
                "rest": f"{of} but what one loop does",
                "apart": f"{of}{joint} 0",
            }[loop.part]
            if loop.nest in nests:
                yield f"  nest {nests.index(loop.nest)} {said}"
            else:
                yield f"  {said}  # {loop.nest.reason}"
                yield from (f"  {line}" for line in self.nest(loop.nest))

    def portions(self, each: Portions) -> str:
        """Return the text of nests that run in portions of patches of a mesh."""
        members = f"nests {', '.join(map(str, each.members))}"
        order = each.order
        patches = f"patches of at most {order.size} by {', '.join(order.tables)}"
        rows = f"rows of {', '.join(each.arrays)} used again"
        slot = f" in slot {each.slot}" if each.slot >= 0 else ""
        text = f"{members} in portions of {order.portion}, {patches}, {rows}{slot}"
        pairs = zip(each.members, each.asked, strict=True)
        asked = [f"{m}: {', '.join(f'%{row}' for row in rows)}" for m, rows in pairs if rows]
        text += f", asked for in {'; '.join(asked)}" if asked else ""
        return f"{text} where {self.bound(each.node.fits)} is 1  # {each.reason}"

    def nest(self, nest: Nest) -> Iterator[str]:
        """Yield the lines of a nest."""
        depth = len(nest.loops)
        if nest.marching:
            yield f"  marches through blocks of rows, about {nest.marching} points each"
        if nest.streams:
            yield f"  past the caches: {', '.join(nest.streams)}"
        if nest.asked:
            rows = ", ".join(f"%{row}" for row in nest.asked)
            along = nest.loops[-1 if nest.states else -2].range.dim.value
            yield f"  asked for {nest.ahead} of {along} ahead: {rows}"
        if nest.block:
            each = f", each with {' x '.join(map(str, nest.each))} points" if nest.each else ""
            room = f", {nest.blocks} on a multiprocessor" if nest.blocks > 1 else ""
            yield f"  blocks of {' x '.join(map(str, nest.block))} threads{room}{each}"
        if nest.shares_reciprocals:
            yield "  quotients by one number share its reciprocal"
        if nest.usual:
            values = ", ".join(f"%{row} {str(value).lower()}" for row, value in nest.usual)
            yield f"  loops of their own where {values}"
        if nest.slides:
            moved = ", ".join(f"%{row} is %{base} {by} before" for row, base, by in nest.slides)
            yield f"  slides: {moved}"
        yield from self._rows(nest, 0)
        for level, loop in enumerate(nest.loops, start=1):
            way = f"{'  ' * level}{loop.kind}{' backward' * loop.backward}"
            step = f" step {loop.step}" if loop.step > 1 else ""
            if level == depth and nest.states:
                states = ", ".join(f"{dtype} = %{row}" for dtype, row in nest.states)
                yield f"{'  ' * (level + 1)}states {states}"
            ranges = nest.parts if level == depth and nest.parts else (loop.range,)
            for part, range_ in enumerate(ranges):
                yield f"{way} {self.range(range_)}{step}{_show_margin(loop)}"
                yield from self._rows(nest, level, part if level == depth else 0)

    def _rows(self, nest: Nest, level: int, part: int = 0) -> Iterator[str]:
        for row, instruction in enumerate(nest.body):
            inside = instruction.level < len(nest.loops) or instruction.part == part
            if instruction.level == level and inside:
                yield f"{'  ' * (level + 1)}{self._instruction(row, instruction)}"

    def _instruction(self, row: Row, instruction: Instruction) -> str:
        match instruction:
            case Load():
                text = _show_load(instruction)
            case Constant(text=number):
                text = f"constant {number}"
            case Argument(name=name):
                text = f"argument {name}"
            case Compute(op=op, args=args):
                text = " ".join([op, *(f"%{arg}" for arg in args)])
            case Index(dim=dim):
                text = f"index {dim.value}"
            case Number(bound=bound):
                text = f"number {self.bound(bound)}"
            case State(index=index):
                text = f"state {index}"
            case Advance(index=index, value=value):
                return f"advance {index} = %{value}"
            case Store(buffer=buffer, value=value, offsets=offsets):
                place = f"[{', '.join(map(str, offsets))}]" if any(offsets) else ""
                return f"store {buffer}{place} = %{value}"
            case _:
                raise TypeError(f"No text form for '{type(instruction).__name__}'.")
        return f"%{row} {instruction.dtype} = {text}"


def _show_margin(loop: Loop) -> str:
    if loop.margin is None:
        return ""
    before, beyond = loop.margin
    return f" in tile{f' - {before}' if before else ''}{f' + {beyond}' if beyond else ''}"


def _show_load(load: Load) -> str:
    places = []
    for row, offset in zip(load.rows or (None,) * len(load.dims), load.offsets, strict=True):
        named = "" if row is None else f"%{row}" + ("" if not offset else "+" * (offset > 0))
        places.append(named + (str(offset) if offset or row is None else ""))
    when = "" if load.when is None else f" when %{load.when}"
    return f"load {load.buffer}[{', '.join(places)}]{when}"


def _bounds(kernel: Kernel) -> Iterator[Bound]:
    yield from kernel.slots
    for buffer in kernel.buffers:
        for range_ in buffer.box:
            yield from (range_.start, range_.stop)
    yield from (each.needed for each in kernel.together)
    yield from (each.blocked.needed for each in kernel.together if each.blocked)
    yield from (each.when for each in kernel.instead)
    yield from (each.node.fits for each in kernel.patches)
    yield from (loop.joint for each in kernel.patches for loop in each.loops)
    yield from (each.node.fits for each in kernel.portions)
    for tiling in kernel.tilings:
        for cut in tiling.cuts:
            yield from (cut.range.start, cut.range.stop)
    for nest in kernel.nests:
        for range_ in (*nest.box, *nest.parts):
            yield from (range_.start, range_.stop)
        yield from (row.bound for row in nest.body if isinstance(row, Number))
