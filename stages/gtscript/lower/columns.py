"""Lower what only imperative columns can do: `while`, writes at other levels, levels of their own.

The block becomes one `Column`. A variable that it assigns is a variable of the column, with all
levels or, without an axis K, as a plane; so is a temporary that lives on one level only. What the
block only reads are arguments, but for what it reads on levels that it computes itself: those are
variables that nobody changes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial

from ....runtime.process import classes
from ...ir.column_rows import Column, End, Get, GetAt, Holds, If, Set, SetAt, While
from ...ir.dataflow import Const, Range, Ref, Value
from ...ir.stencil import Assign, Block, Limits, Read
from ...lower.graph import ColumnRows
from .. import K, data_dims, reads_below
from .environment import Environment, box_of, levels_of, size, valued
from .slots import Slot, is_local, levels_in_column


def run_column(environment: Environment, block: Block, live: Collection[int]) -> None:
    """Update the environment by the assignments of a block, as one column."""
    _Acting.of(environment, block, live).run()


@classes.define
class _Acting:
    """A block while it becomes a column.

    `slots` are the variables of the column by number of the variable of the stencil. `path` are the
    loops around the rows so far, `begun` all loops with rows, `test` the mask and region of the
    conditional block around the last rows.
    """

    environment: Environment
    block: Block
    slots: dict[int, Slot]
    locals: frozenset[int]
    rows: ColumnRows = classes.field(factory=ColumnRows)
    args: dict[Ref, int] = classes.field(factory=dict)
    path: tuple[int, ...] = ()
    begun: set[int] = classes.field(factory=set)
    test: tuple[int | None, Limits | None] = (None, None)

    @classmethod
    def of(cls, environment: Environment, block: Block, live: Collection[int]) -> _Acting:
        """Begin with the variables of the column."""
        written = dict.fromkeys(each.variable for each in block.body)
        local = frozenset(each for each in written if is_local(environment, block, each, live))
        found = cls(environment, block, {}, local)
        for variable in [*written, *found.followed(written)]:
            is_plane = variable in local or "K" not in environment.variable(variable).axes
            levels = None if is_plane else levels_in_column(environment, block, variable)
            found.slots.setdefault(variable, Slot(len(found.slots), levels))
        return found

    def followed(self, written: dict[int, None]) -> list[int]:
        """Return what is only read, on levels that the block computes."""
        nodes = self.environment.root.nodes
        found = []
        for each in self.block.body:
            for read in reads_below(nodes, each.roots):
                led = (place.variable for place in reads_below(nodes, (read.level,)))
                if read.level is not None and any(variable in written for variable in led):
                    found.append(read.variable)
        return found

    def run(self) -> None:
        """Add the column, and give the variables their new values."""
        for assign in self.block.body:
            self._assign(assign)
        self._leave((), (None, None))
        environment = self.environment
        start, stop = levels_of(self.block)
        domain = (Const(0), size(K))
        levels = (Range(K, *(slot.levels or domain)) for slot in self.slots.values())
        nothing = {n: environment.nothing(environment.variable(n).dtype) for n in self.locals}
        first = (
            nothing[each] if each in nothing else environment.current(each) for each in self.slots
        )
        column = Column(
            body=tuple(self.rows.values),
            init=tuple(first),
            args=tuple(self.args),
            planes=tuple(s.number for s in self.slots.values() if s.levels is None),
            axis=K,
            forward=self.block.order != "backward",
            start=start, stop=stop, levels=tuple(levels), dims=(), dtype="",
        )  # fmt: skip
        results = environment.graph.column(column)
        for number, slot in self.slots.items():
            if number not in self.locals and any(a.variable == number for a in self.block.body):
                new, old = results[slot.number], environment.current(number)
                if slot.levels is not None and number in environment.beyond:
                    new = environment.graph.region(((slot.side,),), new, old)
                environment.values[number] = new

    # --- assignments ---------------------------------------------------------------------------

    def _assign(self, assign: Assign) -> None:
        if assign.loops and assign.loops[-1] not in self.begun:
            self._leave(assign.loops[:-1], (None, None))
            self._begin_loop(assign)
            return
        is_mask = self.environment.variable(assign.variable).kind == "mask"
        self._leave(assign.loops, (None, None) if is_mask else (assign.mask, assign.region))
        self._set(assign, self._value(assign.value))

    def _begin_loop(self, assign: Assign) -> None:
        """Open a loop with its condition, which is false outside of the region."""
        self.rows.add(While())
        row = self._value(assign.value)
        if assign.region is not None and box_of(assign.region):
            row = self.rows.map("and", (row, self._inside(assign.region)))
        self._set(assign, row)
        self.rows.add(Holds(test=row))
        self.path = assign.loops
        self.begun.add(assign.loops[-1])

    def _leave(self, path: tuple[int, ...], test: tuple[int | None, Limits | None]) -> None:
        """Close what is open around the last row only, and open the condition of the next one."""
        common = 0
        while common < min(len(path), len(self.path)) and path[common] == self.path[common]:
            common += 1
        same = test == self.test and path == self.path and self._is_constant(test[0])
        if not same:
            if self.test != (None, None):
                self.rows.add(End())
            for _ in self.path[common:]:
                self.rows.add(End())
            self.path, self.test = path[:common], test
            self._open()

    def _open(self) -> None:
        mask, region = self.test
        row = None if mask is None else self._value(mask)
        if region is not None and box_of(region):
            inside = self._inside(region)
            row = inside if row is None else self.rows.map("and", (row, inside))
        if row is None:
            self.test = (None, None)
        else:
            self.rows.add(If(test=row))

    def _is_constant(self, mask: int | None) -> bool:
        """Tell whether a mask is still what it was: masks are, and what no assignment changes."""
        if mask is None:
            return True
        environment = self.environment
        reads = reads_below(environment.root.nodes, (mask,))
        kinds = {environment.variable(each.variable).kind for each in reads}
        return kinds <= {"mask", "scalar"}

    def _set(self, assign: Assign, value: Ref) -> None:
        slot, dtype = self.slots[assign.variable], self.rows[value].dtype
        if assign.level is None:
            made: Value = Set(
                variable=slot.number, value=value, offset=assign.offset, dims=(), dtype=dtype
            )
        else:
            at = self._at(assign.level, is_absolute=False)
            made = SetAt(variable=slot.number, at=at, value=value, dims=(), dtype=dtype)
        self.rows.add(made)

    # --- expressions ---------------------------------------------------------------------------

    def _value(self, root: int) -> Ref:
        return valued(self.rows, self.environment.root.nodes, root, self._read)

    def _read(self, node: Read) -> Ref:
        slot = self.slots.get(node.variable)
        if slot is None:
            environment = self.environment
            if node.places and self._is_led(node):
                return self._of_table(node)
            ref = environment.current(node.variable)
            row: Callable[[int], Ref] = partial(environment.value, read=self._outside)
            return self._argument(environment.placed(ref, node, row))
        dtype = self.environment.variable(node.variable).dtype
        if node.level is not None and slot.levels is not None:
            at = self._at(node.level, node.is_absolute)
            return self.rows.add(GetAt(variable=slot.number, at=at, dims=(), dtype=dtype))
        offset = 0 if slot.levels is None else node.offset[2]
        return self.rows.add(Get(variable=slot.number, offset=offset, dims=(), dtype=dtype))

    def _is_led(self, node: Read) -> bool:
        """Tell whether variables of the column give the place of a read."""
        reads = reads_below(self.environment.root.nodes, node.operands)
        return any(each.variable in self.slots for each in reads)

    def _of_table(self, node: Read) -> Ref:
        """Choose among the numbers of a table; a place outside of it is the nearest one."""
        places = [self._wide(self._value(each)) for each in node.places]
        sizes = self.environment.variable(node.variable).sizes
        return self._chosen(node, list(zip(sizes, places, strict=True)), ())

    def _chosen(self, node: Read, rest: Sequence[tuple[int, Ref]], place: tuple[int, ...]) -> Ref:
        graph = self.environment.graph
        if not rest:
            ref = self.environment.current(node.variable)
            for dim, index in zip(data_dims(len(place)), place, strict=True):
                ref = graph.level(ref, dim, Const(index))
            return self._argument(ref)
        (size, row), *others = rest
        sides = [self._chosen(node, others, (*place, index)) for index in range(size)]
        result = sides[-1]
        for index in range(size - 2, -1, -1):
            test = self.rows.map("le", (row, self.rows.literal("int64", str(index))))
            result = self.rows.map("select", (test, sides[index], result))
        return result

    def _outside(self, node: Read) -> Ref:
        """Return the value of a read that only says where an argument is read."""
        environment = self.environment
        row: Callable[[int], Ref] = partial(environment.value, read=self._outside)
        return environment.placed(environment.current(node.variable), node, row)

    def _at(self, level: int, is_absolute: bool) -> Ref:
        row = self._wide(self._value(level))
        if is_absolute:
            return row
        here = self._argument(self.environment.graph.index(K))
        return self.rows.map("add", (here, row))

    def _wide(self, row: Ref) -> Ref:
        if self.rows[row].dtype == "int64":
            return row
        return self.rows.map("cast", (row,), "int64")

    def _inside(self, region: Limits) -> Ref:
        graph = self.environment.graph
        yes, no = (graph.literal("bool", text) for text in ("True", "False"))
        return self._argument(graph.region((box_of(region),), yes, no))

    def _argument(self, ref: Ref) -> Ref:
        place = self.args.setdefault(ref, len(self.args))
        return self.rows.scalar(f"a{place}", self.environment.graph[ref].dtype)
