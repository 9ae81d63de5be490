"""Write imperative columns side by side: each lane of a vector register has a column.

Threads share blocks of columns. A block walks the levels together, a strip of as many columns as a
register has lanes after the other, so that memory is read along rows. Where a condition holds is a
mask: changes of lanes elsewhere leave what is there, and a loop ends with its last lane. Loops over
lanes that compilers vectorise and those that they do not alternate; what a later loop reads is kept
in an array of the strip.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Final, TypeAlias

from .....runtime.language.dimension import Dimension
from .....runtime.process import classes
from ....ir.bounds import Range
from ....ir.loops.column import Act, Column, Get, If, Set, Sweep, While
from ....ir.loops.nest import Access, Compute, Index, Instruction, Load, Number, Row, Store
from ....ir.loops.traverse import instructions
from ...rows.acts import acts_of, loop_over
from ...rows.addresses import DIRECT
from ...rows.body import NAMELESS, Body, element, line, name, operand
from ...rows.expressions import TYPES, is_float
from ...rows.operations import VECTORISED
from ...rows.options import WriterOptions
from ...rows.scope import Scope, stored_type
from ...schedule.act_trees import below, rows_of
from ...schedule.costs import ITEMSIZES, TRANSCENDENTAL, operations, row_cost
from .streams import LINE
from .strips import SIMD
from .threads import END, extents, flat_loops, guard, indented, opened

BLOCK: Final = 64  # columns that walk the levels together
GATHER: Final = 16  # additions that a load at indices of its own in each lane takes
HEAVY: Final = 40  # additions: from here on a condition is worth a test that a lane needs it
NEAREST: Final = """\
static inline s64 nearest(s64 i, s64 low, s64 high) {
  if (__builtin_expect_with_probability(i < low || i > high, 0, 1.0))
    return later(earlier(i, high), low);
  return i;
}"""
_WIDE: Final = 64  # bytes of registers whose instructions convert 64-bit integers
_ELEMENTWISE: Final = frozenset({"floor", "ceil", "trunc", "sqrt", "fma"})
Term: TypeAlias = tuple[str | Row, bool]  # a mask, or a row and which value of it
Path: TypeAlias = tuple[Term, ...]


def acts_in_lanes(scope: Scope, column: Column) -> bool:
    """Tell whether columns lie side by side in memory, so that lanes read and write rows."""
    if scope.tests or not column.loops or any(each.kind != "parallel" for each in column.loops):
        return False
    inner = column.loops[-1].range.dim
    rows = [row for row in instructions(column) if isinstance(row, Access)]
    buffers = [scope.by_name[row.buffer] for row in rows]
    nested = any(
        isinstance(each, Sweep) and each is not act
        for act in column.acts
        for each in below([act])
    )
    return not nested and all(each.unit is inner for each in buffers if inner in each.dims)


def write_lanes(scope: Scope, column: Column) -> Iterator[str]:
    """Write the loops of columns and close the block that they stand in."""
    loops = (*column.loops[:-1], classes.evolve(column.loops[-1], step=BLOCK))
    counts, iterations = extents(scope, loops)
    stop = scope.bound(loops[-1].range.stop)
    yield from (
        f"  if ({guard(scope, scope.kernel.groups[column.group].box)}) {{",
        *indented(counts),
        opened(scope, column.box, iterations),
        *indented(flat_loops(scope, loops), "    "),
        f"      const s64 first = i{len(loops) - 1}, last = earlier(first + {BLOCK}, {stop});",
        *indented(_block(scope, column), "      "),
        f"  }}{END}}}}}",
    )


def _block(scope: Scope, column: Column) -> list[str]:
    """Write what a block of columns does: once to find what is kept, and once for good."""
    shared = _Shared.of(scope, column)
    for _ in range(2):
        lines = list(_groups(shared, column))
    return [*shared.arrays(column), *lines]


def _groups(shared: _Shared, column: Column) -> Iterator[str]:
    """Write sweeps, and what stands between them."""
    numbers, place, waiting = count(), count(), list[Act]()
    for act in (*column.acts, None):
        if act is not None and not isinstance(act, Sweep):
            waiting.append(act)
            continue
        if waiting:
            yield from _Part(shared, next(place), None).written(waiting, numbers)
            waiting = []
        if act is not None:
            yield from _Part(shared, next(place), act).written(act.acts, numbers)


@classes.define
class _Shared:
    """What the parts of a block have in common.

    Attributes:
        body: the rows, which are read by their names in a lane.
        lanes: the columns of a strip.
        mask: the type of masks, as wide as most numbers.
        homes: by row with a name the loop over lanes, as (part, loop), that computes it.
        kept: rows that other loops over lanes read; True if another part does.
        carried: registers that a part reads before it sets them.

    """

    body: Body
    lanes: int
    mask: str
    inner: str
    outer: Mapping[Dimension, str]
    stored: frozenset[str]
    homes: dict[Row, tuple[int, int]] = classes.field(factory=dict)
    kept: dict[Row, bool] = classes.field(factory=dict)
    carried: set[int] = classes.field(factory=set)
    uniform: set[Row] = classes.field(factory=set)

    @classmethod
    def of(cls, scope: Scope, column: Column) -> _Shared:
        """Return the beginning."""
        dims = [loop.range.dim for loop in column.loops]
        rows = tuple(instructions(column))
        positions = {**scope.around, **{dim: f"i{level}" for level, dim in enumerate(dims)}}
        body = _in_rows(Body(scope, column.group, rows, len(dims), None, positions, {}), dims[:-1])
        sizes = {ITEMSIZES[row.dtype] for row in rows if is_float(row.dtype)} or {8}
        stored = frozenset(row.buffer for row in rows if isinstance(row, Store))
        lanes = max(LINE, scope.options.vector_bytes) // min(sizes)
        mask = "s64" if 8 in sizes else "s32"
        outer = {dim: positions[dim] for dim in dims[:-1]}
        return cls(body, lanes, mask, f"i{len(dims) - 1}", outer, stored)

    def arrays(self, column: Column) -> Iterator[str]:
        """Define what a block keeps from level to level."""
        far = sorted(row for row, is_far in self.kept.items() if is_far)
        yield from self.pointers()
        for name_, dtype in (
            *((f"g{register}", column.registers[register]) for register in sorted(self.carried)),
            *((f"k{row}", self.body.rows[row].dtype) for row in far),
        ):
            # parts take pointers by value: a reference would keep all that they read in memory
            yield f"alignas({LINE}) {self.type(dtype)} {name_}_[{BLOCK}] = {{}};"
            yield f"{self.type(dtype)}* const {name_} = {name_}_;"

    def pointers(self) -> Iterator[str]:
        """Define the pointers to rows."""
        scope, whole = self.body.scope, classes.evolve(self.body.scope, rows={})
        for name_, pointer in scope.rows.items():
            buffer = scope.by_name[name_]
            terms = [whole.buffer(name_)]
            for axis, dim in enumerate(buffer.dims):
                if dim in self.outer:
                    terms.append(whole.term(buffer, axis, self.outer[dim]))
            yield f"{stored_type(buffer)}* const {pointer} = {' + '.join(terms)};"

    def type(self, dtype: str) -> str:
        """Return the type of a number of a lane in an array."""
        return self.mask if dtype == "bool" else TYPES[dtype][0]

    def is_uniform(self, row: Instruction) -> bool:
        """Tell whether a row has one value for all lanes."""
        if any(each not in self.uniform for each in row.operands):
            return False
        positions = self.body.positions
        match row:
            case Index(dim=dim):
                return positions[dim] != self.inner
            case Load(buffer=buffer, places=places):
                own = (positions.get(dim) == self.inner for dim, index, _ in places if index is None)
                return buffer not in self.stored and not any(own)
        return not isinstance(row, Get | Set | Store)


def _in_rows(body: Body, outer: Sequence[Dimension]) -> Body:
    """Return a body whose accesses start at pointers to rows, where all that they can.

    Rows that are indices along the outer loops, and fields that clamp them, need the indices.
    """
    scope = body.scope
    used = {row.buffer for row in body.rows if isinstance(row, Access)}
    if scope.clamped or any(isinstance(row, Index) and row.dim in outer for row in body.rows):
        return body
    rows = {name_: f"r{place}" for place, name_ in enumerate(sorted(used))}
    positions = {**body.positions, **dict.fromkeys(outer, "0")}
    return classes.evolve(body, scope=classes.evolve(scope, rows=rows), positions=positions)


@classes.define
class _Segment:
    """A loop over the lanes of a strip while it is written."""

    place: tuple[int, int]
    is_serial: bool
    lines: list[str] = classes.field(factory=list)
    conditions: dict[Path, str] = classes.field(factory=dict)
    reduced: list[str] = classes.field(factory=list)


class _Part:
    """A sweep, or acts outside of sweeps, as a function of a strip."""

    def __init__(self, shared: _Shared, number: int, sweep: Sweep | None) -> None:
        self.shared = shared
        self.number = number
        self.sweep = sweep
        self.body = shared.body
        if sweep is not None:
            index = f"i{shared.body.depth}"
            positions = {**shared.body.positions, sweep.range.dim: index}
            shared.body = self.body = classes.evolve(shared.body, positions=positions)
        self.before: list[str] = []  # around all strips
        self.lines: list[str] = []
        self.arrays: list[str] = []
        self.masks = count()
        self.loops = count()
        self.set: set[int] = set()
        self.got: set[int] = set()
        self.segment: _Segment | None = None
        self.numbers: Iterator[int] = count()

    def written(self, acts: Iterable[Act], numbers: Iterator[int]) -> Iterator[str]:
        """Write the function, and the loops that call it."""
        self.numbers = numbers
        if self.sweep is not None and _gathers(self.sweep):
            yield from self._one_by_one(self.sweep)
            return
        self._acts(acts, ())
        self._flush()
        lanes, shared = self.shared.lanes, self.shared
        near = [row for row, is_far in shared.kept.items() if not is_far]
        own = [row for row in near if shared.homes[row][0] == self.number]
        for row in sorted(own):
            type_ = shared.type(self.body.rows[row].dtype)
            self.arrays.append(f"alignas({LINE}) {type_} k{row}[{lanes}];")
        for register in sorted(self.got - shared.carried):
            type_ = shared.type(self._dtype(register))
            self.arrays.append(f"alignas({LINE}) {type_} g{register}[{lanes}];")
        level, given = "", ""
        if self.sweep is not None:
            index = self.body.positions[self.sweep.range.dim]
            level, given = f", s64 {index}", f", {index}"
        called = f"part{self.number}"
        masked = self.body.scope.ask("masked")
        strips = (
            f"s64 b = first;",
            f"for (; b + {lanes} <= last; b += {lanes}) {called}(b, {lanes}{given});",
            f"if (b < last) {masked}({called}, b, last - b{given});",
        )
        if not self.lines:
            yield from self.before
            return
        yield from (
            *self.before,
            f"const auto {called} = [=](s64 b, s64 count{level}) INLINE {{",
            "  const s64 o = b - first;",
            *indented(self.arrays),
            *indented(self.lines),
            "};",
        )
        if self.sweep is None:
            yield from ("{", *indented(strips), "}")
        else:
            ends = self.body.scope.ends(self.sweep.range)
            yield loop_over(given[2:], ends, backward=self.sweep.backward)
            yield from (*indented(strips), "}")

    def _one_by_one(self, sweep: Sweep) -> Iterator[str]:
        """Write a sweep that goes through the columns of a block one after the other."""
        shared, body = self.shared, self.body
        self._note(sweep.acts)
        far = {
            row: f"(k{row}[o] != 0)" if body.rows[row].dtype == "bool" else f"k{row}[o]"
            for row, is_far in shared.kept.items()
            if is_far
        }
        for row in {each for row in rows_of(sweep.acts) for each in row.operands}:
            if shared.homes.get(row, (self.number,))[0] != self.number:
                shared.kept[row] = True
        body = _with_usual_levels(classes.evolve(body, names=far), sweep)
        level, called = body.positions[sweep.range.dim], f"part{self.number}"
        carried = sorted(shared.carried & self.got)
        dtypes = {register: self._dtype(register) for register in self.got}
        yield f"const auto {called} = [=](s64 {shared.inner}, s64 {level}) INLINE {{"
        yield f"  const s64 o = {shared.inner} - first;"
        for register in carried:
            yield f"  {shared.type(dtypes[register])}* const h{register} = g{register};"
        yield "  {"
        for register, dtype in sorted(dtypes.items()):
            test = " != 0" if dtype == "bool" else ""
            first = f"h{register}[o]{test}" if register in carried else "0"
            yield f"    {TYPES[dtype][0]} g{register} = {first};"
        lines = acts_of(body, sweep.acts, self.numbers)
        yield from indented((each for each in lines if each.strip()), "    ")
        for register in carried:
            value = f"g{register}{' ? -1 : 0' if dtypes[register] == 'bool' else ''}"
            yield f"    h{register}[o] = {value};"
        yield from ("  }", "};")
        yield loop_over(level, body.scope.ends(sweep.range), backward=sweep.backward)
        yield f"  for (s64 b = first; b < last; ++b) {called}(b, {level});"
        yield "}"

    def _note(self, acts: Iterable[Act]) -> None:
        """Note which registers acts know, and which they may read before they set them."""
        for act in acts:
            match act:
                case Get(register=register):
                    self.got.add(register)
                    self.shared.carried.update({register} - self.set)
                case Set(register=register):
                    self.got.add(register)
                    self.set.add(register)
                case If(then=then, otherwise=otherwise):
                    for side in (then, otherwise):
                        sure = set(self.set)
                        self._note(side)
                        self.set = sure
                case While(condition=condition, acts=inner):
                    sure = set(self.set)
                    self._note((*condition, *inner))
                    self.set = sure

    def _dtype(self, register: int) -> str:
        rows = (row for row in self.body.rows if isinstance(row, Get | Set))
        return next(row.dtype for row in rows if row.register == register)

    # --- acts -----------------------------------------------------------------------------------

    def _acts(self, acts: Iterable[Act], path: Path) -> None:
        for act in acts:
            match act:
                case If(row=row, then=then, otherwise=otherwise):
                    write = self._guarded if _is_heavy(act) else self._acts
                    for side, truth in ((then, True), (otherwise, False)):
                        sure = set(self.set)
                        write(side, (*path, (row, truth)))
                        self.set = sure
                case While():
                    self._while(act, path)
                case Sweep():
                    raise TypeError("A sweep stands in another one.")  # `acts_in_lanes` looks
                case _:
                    self._row(next(self.numbers), act, path)

    def _guarded(self, acts: Sequence[Act], path: Path) -> None:
        """Write acts that are left out where no lane needs them."""
        if not acts:
            return
        mask = self._mask(path, is_reduced=True)
        self._flush()
        self._block(f"if (any_{mask}) {{", acts, ((mask, True),))

    def _block(self, head: str, acts: Sequence[Act], path: Path) -> None:
        around, self.lines = self.lines, []
        self._acts(acts, path)
        self._flush()
        self.lines = [*around, head, *indented(self.lines), "}"]

    def _while(self, loop: While, path: Path) -> None:
        """Write a loop: its mask loses the lanes that are done, until it is empty."""
        mask = self._mask(path)
        self._flush()
        around, self.lines, sure = self.lines, [], set(self.set)
        own: Path = ((mask, True),)
        self._acts(loop.condition, own)
        self._mask((*own, (loop.row, True)), mask, is_reduced=True)
        self._flush()
        self.lines.append(f"if (!any_{mask}) break;")
        self._acts(loop.acts, own)
        self._flush()
        self.lines = [*around, "for (;;) {", *indented(self.lines), "}"]
        self.set = sure

    def _mask(self, path: Path, mask: str = "", *, is_reduced: bool = False) -> str:
        """Compute a mask, and with `is_reduced` whether a lane has it."""
        segment = self._open(is_serial=False)
        condition = self._condition(segment, path)
        if not mask:
            mask = f"m{next(self.masks)}"
            self.arrays.append(f"alignas({LINE}) {self.shared.mask} {mask}[{self.shared.lanes}];")
        segment.lines.append(f"{mask}[l] = {condition} ? -1 : 0;" if path else f"{mask}[l] = -1;")
        if is_reduced:
            self.lines.append(f"{self.shared.mask} any_{mask} = 0;")
            segment.lines.append(f"any_{mask} |= {mask}[l];")
            segment.reduced.append(f"any_{mask}")
        return mask

    # --- rows -----------------------------------------------------------------------------------

    def _row(self, number: Row, row: Instruction, path: Path) -> None:
        shared = self.shared
        if shared.is_uniform(row):
            shared.uniform.add(number)
            if not isinstance(row, NAMELESS):
                (self.before if self.sweep is None else self.lines).append(line(self.body, number))
            return
        if isinstance(row, NAMELESS):
            return
        segment = self._open(is_serial=_is_serial(row, self.body))
        for each in row.operands:
            self._read(segment, each)
        if isinstance(row, Store):
            segment.lines.append(self._stored(segment, row, path))
            return
        if isinstance(row, Set):
            self._set(segment, row, path)
            return
        shared.homes[number] = segment.place
        if isinstance(row, Get):
            self._get(segment, number, row)
        else:
            segment.lines.append(line(self._names(segment), number))
        if number in shared.kept:
            value = f"{name(self.body, number)}{' ? -1 : 0' if row.dtype == 'bool' else ''}"
            segment.lines.append(f"{self._kept(number)} = {value};")

    def _get(self, segment: _Segment, number: Row, row: Get) -> None:
        self.got.add(row.register)
        if row.register not in self.set:
            self.shared.carried.add(row.register)
        value = self._register(row.register) + (" != 0" if row.dtype == "bool" else "")
        segment.lines.append(f"const {TYPES[row.dtype][0]} {name(self.body, number)} = {value};")

    def _set(self, segment: _Segment, row: Set, path: Path) -> None:
        # where nothing is known before, lanes without the condition never read it
        is_first = row.register not in self.set | self.shared.carried
        condition = "" if is_first else self._condition(segment, path)
        self.set.add(row.register)
        self.got.add(row.register)
        value, to = operand(self._names(segment), row.value), self._register(row.register)
        value = f"({value} ? -1 : 0)" if row.dtype == "bool" else value
        segment.lines.append(f"{to} = {f'{condition} ? {value} : {to}' if condition else value};")

    def _stored(self, segment: _Segment, row: Store, path: Path) -> str:
        condition, body = self._condition(segment, path), self._names(segment)
        value, place = operand(body, row.value), element(body, row, DIRECT)
        if not path:
            return f"{place} = {value};"
        if segment.is_serial:
            return f"if ({condition}) {place} = {value};"
        return f"{place} = {condition} ? {value} : {place};"

    def _register(self, register: int) -> str:
        return f"g{register}[{'o + l' if register in self.shared.carried else 'l'}]"

    def _kept(self, row: Row) -> str:
        return f"k{row}[{'o + l' if self.shared.kept[row] else 'l'}]"

    # --- loops over lanes -----------------------------------------------------------------------

    def _open(self, *, is_serial: bool) -> _Segment:
        """Return a loop over lanes of this kind, the last one if it is."""
        if self.segment is None or self.segment.is_serial != is_serial:
            self._flush()
            self.segment = _Segment((self.number, next(self.loops)), is_serial)
        return self.segment

    def _flush(self) -> None:
        """Write the loop over lanes that is open."""
        segment, self.segment = self.segment, None
        if segment is None:
            return
        clause = f" reduction(| : {', '.join(segment.reduced)})" if segment.reduced else ""
        inner = self.shared.inner
        self.lines += [
            *([] if segment.is_serial else [SIMD + clause]),
            f"for (s64 l = 0; l < {self.shared.lanes}; ++l) if (l < count) {{",
            f"  const s64 {inner} = b + l;",
            *indented(segment.lines),
            "}",
        ]

    def _read(self, segment: _Segment, row: Row) -> None:
        """Note that a loop over lanes reads a row, which an earlier one may have computed."""
        home = self.shared.homes.get(row)
        if home is not None and home != segment.place:
            is_far = self.shared.kept.get(row, False) or home[0] != segment.place[0]
            self.shared.kept[row] = is_far

    def _names(self, segment: _Segment) -> Body:
        """Return the body with the names of rows in a loop over lanes."""
        names = {
            row: f"({self._kept(row)} != 0)" if self.body.rows[row].dtype == "bool" else self._kept(row)
            for row in self.shared.kept
            if self.shared.homes[row] != segment.place
        }
        return classes.evolve(self.body, names=names)

    def _condition(self, segment: _Segment, path: Path) -> str:
        """Return the name of the condition under which acts run, '' for none."""
        if path and path not in segment.conditions:
            terms = []
            for term, truth in path:
                if isinstance(term, str):
                    terms.append(f"({term}[l] != 0)")
                else:
                    self._read(segment, term)
                    value = operand(self._names(segment), term)
                    terms.append(value if truth else f"!{value}")
            made = f"c{len(segment.conditions)}"
            segment.lines.append(f"const b8 {made} = {' & '.join(terms)};")
            segment.conditions[path] = made
        return segment.conditions.get(path, "")


def _with_usual_levels(body: Body, sweep: Sweep) -> Body:
    """Return a body in which levels are compared with the ends, and rarely moved to one.

    A load would wait for the extrema; a test that always has the same answer costs nothing.
    """
    own = {id(row) for row in rows_of(sweep.acts)}
    users = Counter(each for row in body.rows for each in row.operands)
    instead = {}
    for number, row in enumerate(body.rows):
        if id(row) not in own or not isinstance(row, Compute) or row.dtype != "int64":
            continue
        inner = body.rows[row.args[0]] if row.op == "maximum" else row
        if inner is not row and isinstance(inner, Compute) and inner.op == "minimum":
            ends = body.rows[row.args[1]], body.rows[inner.args[1]]
            if users[row.args[0]] == 1 and all(isinstance(each, Number) for each in ends):
                args = (operand(body, each) for each in (inner.args[0], row.args[1], inner.args[1]))
                instead[row.args[0]] = ""
                instead[number] = f"const s64 v{number} = nearest({', '.join(args)});"
    if instead:
        body.scope.uses.functions["nearest"] = NEAREST
    return classes.evolve(body, instead=instead)


def _gathers(sweep: Sweep) -> bool:
    """Tell whether lanes would rather wait for loads at indices of their own than compute."""
    rows = list(rows_of(sweep.acts))
    told = sum(isinstance(row, Load) and row.is_told for row in rows)
    if not told:
        return False
    return told * GATHER >= sum(row_cost(row) for row in rows if isinstance(row, Compute))


def _is_heavy(choice: If) -> bool:
    """Tell whether acts are worth a test that a lane needs them."""
    has_loop = any(isinstance(each, While) for each in below([choice]))
    return has_loop or sum(map(row_cost, rows_of([choice]))) >= HEAVY


def _is_serial(row: Instruction, body: Body) -> bool:
    """Tell whether compilers do not vectorise a row: scattered stores, functions, conversions."""
    if isinstance(row, Store):
        return row.is_told or row.when is not None
    if not isinstance(row, Compute):
        return False
    options, sources = body.scope.options, {body.rows[each].dtype for each in row.args}
    if row.op == "cast":
        return _is_hard(row.dtype, sources, options)
    if row.op in _ELEMENTWISE:
        return not is_float(row.dtype)
    if row.op in ("div", "floordiv", "mod", "fmod", "pow") and not is_float(row.dtype):
        return True
    if row.op in ("floordiv", "mod", "fmod"):
        return True
    has_vectors = options.own_math or (options.vector_math and row.op in VECTORISED)
    return operations(row.op) >= TRANSCENDENTAL and not has_vectors


def _is_hard(dtype: str, sources: Iterable[str], options: WriterOptions) -> bool:
    """Tell whether a conversion is between floats and integers of 64 bits, or saturates."""
    if is_float(dtype):
        return options.vector_bytes < _WIDE and any(each in ("int64", "uint64") for each in sources)
    return dtype != "bool" and any(map(is_float, sources))
