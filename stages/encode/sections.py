"""Write the lanes of a nest as steps, operands right before their use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...runtime.language import Dimension
from ...runtime.process import classes
from ..ir.loops import ITEMSIZES, Advance, Compute, Index, Load, Row, State, Store, reached
from .lanes import FIRST
from .places import Places
from .program import Place, Step


class Section:
    """The steps of the lanes in one part, operands right before their use."""

    def __init__(
        self, places: Places, part: int, roots: Sequence[Row], wanted: Sequence[Row]
    ) -> None:
        self.own = places
        self.rows = places.rows
        self.part = part
        self.roots = roots
        self.code: list[Step] = []
        self.places: dict[Row, Place] = {}
        self.shared: set[Place] = set()  # blocks that stay
        needed = reached([*roots, *wanted], self._inside)
        self.left = Counter(
            operand
            for row in needed
            for operand in self.rows[row].operands
            if self._is_here(operand)
        )
        self.left.update(wanted)
        self.index: Place | None = None
        self.fills: dict[Place, Place] = {}
        self.wide: dict[Row, Place] = {}  # indices as 64 bits

    def _is_here(self, row: Row) -> bool:
        """Tell whether a row is computed in this section."""
        own = self.own
        return row in own.in_lanes and row not in own.kept and row not in own.row_blocks

    def _inside(self, row: Row) -> list[Row]:
        return [operand for operand in self.rows[row].operands if self._is_here(operand)]

    def _missing(self, row: Row) -> list[Row]:
        """Return the operands of a row that no block has yet."""
        if self.places.get(row, "a")[0] == "t":
            return []
        return [each for each in self._inside(row) if self.places.get(each, "a")[0] != "t"]

    # --- roots ------------------------------------------------------------------------------------

    def write(self) -> None:
        """Write all stores in order; one waits where later loads may read the memory it writes."""
        waiting: list[Store] = []
        for number, root in enumerate(self.roots):
            each = self.rows[root]
            if not isinstance(each, Store):
                continue
            self.own.check_store(each)
            if self._is_read_later(each, self.roots[number + 1 :]):
                self._hold(each.operands)
                waiting.append(each)
            else:
                self._store(each)
        if waiting:
            advances = (self.rows[root] for root in self.roots)
            self._hold([each.value for each in advances if isinstance(each, Advance)])
        for store in waiting:
            self._store(store)
        self._advance()

    def _is_read_later(self, store: Store, roots: Sequence[Row]) -> bool:
        pending = reached(roots, self._missing)
        loads = (self.rows[row] for row in pending)
        meets = self.own.naming.may_meet
        return any(isinstance(load, Load) and meets(load, store) for load in loads)

    def _hold(self, rows: Sequence[Row]) -> None:
        """Compute rows now, in blocks: stores that wait may write the memory that they read."""
        for row in filter(self._is_here, rows):
            place = self.operand(row)
            if place[0] == "a":
                self.places[row] = self._copied(place, self.rows[row].dtype)

    def _store(self, store: Store) -> None:
        told = self._told(store, self.own.dims_of(store.buffer))
        axes = self.own.axes(store, self.own.dims_of(store.buffer), told)
        target = self.own.found(store, axes, self.code)
        access = self.own.accesses[int(target[1:])]
        value = store.value
        is_direct = access.is_row and store.when is None
        each = self.rows[value]
        if (
            is_direct
            and isinstance(each, Compute)
            and self._is_here(value)
            and value not in self.places
            and self.left[value] == 1
            and self._compute(value, each, target)
        ):
            return
        when = () if store.when is None else (self.operand(store.when),)
        place = self.operand(value)
        if is_direct:
            self.code.append(Step(f"copy.{ITEMSIZES[store.dtype]}", target, (place,)))
        else:
            block = place if place[0] == "t" else self._copied(place, store.dtype)
            self.code.append(Step(f"store.{store.dtype}", target, (block, *when)))
        for row in store.operands:
            self._used(row)

    def _copied(self, place: Place, dtype: str) -> Place:
        made = self.own.block(dtype)
        self.code.append(Step(f"copy.{ITEMSIZES[dtype]}", made, (place,)))
        return made

    def _advance(self) -> None:
        """Give states their next values, all at once."""
        found = []
        for root in self.roots:
            each = self.rows[root]
            if isinstance(each, Advance):
                place = self.operand(each.value)
                if place in self.own.states:
                    place = self._copied(place, each.dtype)
                found.append((each, place))
        for each, place in found:
            name = f"copy.{ITEMSIZES[each.dtype]}"
            self.code.append(Step(name, self.own.states[each.index], (place,)))

    # --- rows -------------------------------------------------------------------------------------

    def lasting(self, row: Row) -> Place:
        """Return a block with the value of a row for the rest of the strip."""
        if isinstance(self.rows[row], Index):
            return self._indices()
        place = self.operand(row)
        made = self.own.lasting()
        self.code.append(Step(f"copy.{ITEMSIZES[self.rows[row].dtype]}", made, (place,)))
        return made

    def operand(self, row: Row) -> Place:
        """Return the place of a row, which is computed now if it is not yet."""
        own, each = self.own, self.rows[row]
        if row in own.kept:
            return own.kept[row]
        if own.is_single(row) or row in own.row_blocks:
            return self._filled(row)
        match each:
            case State(index=index):
                return own.states[index]
            case Index():
                return self._indices()
        if row not in self.places:
            self._write_row(row)
        return self.places[row]

    def _write_row(self, row: Row) -> None:
        """Write a row after those that it needs, each as late as possible."""
        waiting = [row]
        while waiting:
            each = waiting[-1]
            missing = [r for r in self._inside(each) if r not in self.places]
            if missing:
                waiting += reversed(missing)
                continue
            waiting.pop()
            if each in self.places:
                continue
            match self.rows[each]:
                case Load() as load:
                    self._load(each, load)
                case Compute() as computed:
                    self._compute(each, computed, None)
                case other:
                    raise TypeError(f"'{type(other).__name__}' cannot be encoded.")

    def _used(self, row: Row) -> None:
        """Note one use of a row; its block is free after the last one."""
        if not self._is_here(row):
            return
        self.left[row] -= 1
        place = self.places.get(row)
        if self.left[row] == 0 and place is not None and place[0] == "t" and self.part != FIRST:
            others = (each for r, each in self.places.items() if r != row and self.left[r] > 0)
            if place not in others and place not in self.shared:
                self.own.give_back(place)

    def _compute(self, row: Row, each: Compute, target: Place | None) -> bool:
        """Write an operation; the last instruction stores to `target` if that is given."""
        places = [self.operand(arg) for arg in each.args]
        emitted: list[Place] = []

        def emit(name: str, args: Sequence[Place], dtype: str) -> Place:
            out = self.own.block(dtype)
            emitted.append(out)
            self.code.append(Step(name, out, tuple(args)))
            return out

        made = self.own.computed(emit, each, places)
        if made not in emitted:  # an operand itself: it stays for good
            self.shared.add(made)
        for arg in each.args:
            self._used(arg)
        for extra in emitted:
            if extra != made:
                self.own.give_back(extra)
        self.places[row] = made
        if target is None:
            return False
        if made in emitted and self.code[-1].out == made:
            self.code[-1] = classes.evolve(self.code[-1], out=target)
        else:
            self.code.append(Step(f"copy.{ITEMSIZES[each.dtype]}", target, (made,)))
        self._used(row)
        return True

    def _load(self, row: Row, load: Load) -> None:
        told = self._told(load, load.dims)
        axes = self.own.axes(load, load.dims, told)
        access = self.own.found(load, axes, self.code)
        is_row = self.own.accesses[int(access[1:])].is_row
        if is_row and load.when is None and load.dtype != "bool":
            self.places[row] = access
            return
        when = () if load.when is None else (self.operand(load.when),)
        made = self.own.block(load.dtype)
        self.code.append(Step(f"load.{load.dtype}", made, (access, *when)))
        self.places[row] = made
        for operand in load.operands:
            self._used(operand)

    def _told(self, access: Load | Store, dims: Sequence[Dimension]) -> dict[Row, Place]:
        """Return the blocks of rows that give an access its indices, lane by lane."""
        found: dict[Row, Place] = {}
        for row in self.own.told_rows(access, dims):
            if not (self.own.is_single(row) or row in self.own.row_blocks):
                found[row] = self.index_block(row)
        return found

    def index_block(self, row: Row) -> Place:
        """Return a block with the indices that a row gives, as 64 bits."""
        if row in self.wide:
            return self.wide[row]
        place, dtype = self.operand(row), self.rows[row].dtype
        if dtype == "int64" and place[0] == "t":
            return place
        made = self.wide[row] = self.own.block("int64")
        name = "copy.8" if dtype == "int64" else f"cast.int64.{dtype}"
        self.code.append(Step(name, made, (place,)))
        return made

    def _indices(self) -> Place:
        if self.index is None:
            self.index = self.own.lasting()
            self.code.append(Step("index", self.index))
        return self.index

    def _filled(self, row: Row) -> Place:
        """Return a block of copies of a value; outside of the lanes if that does not change."""
        own = self.own
        value, each = own.one_number(row), self.rows[row]
        level = own.lanes.outer if value[0] == "r" else own.levels[int(value[1:])]
        if value in own.filled:
            return own.filled[value]
        if value in self.fills:
            return self.fills[value]
        made = own.lasting()
        step = Step(f"fill.{each.dtype}", made, (value,))
        if level <= own.lanes.outer:
            own.around[level].append(step)
            own.filled[value] = made
        else:
            self.code.append(step)
            self.fills[value] = made
        return made
