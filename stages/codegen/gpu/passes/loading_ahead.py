"""Let scans of a GPU load levels before they use them.

A column is a chain: each level waits for the one before, and few threads have a column. With the
loads of several levels in flight, a thread waits once for all of them. What both sides of a
condition compute is computed before it, so that their loads wait for no comparison: threads of a
warp that differ would do it one side after the other. Loads stand before quotients and powers,
which may branch.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, TypeAlias

from .....runtime.process import classes
from ....ir.loops import (
    Act,
    Buffer,
    Column,
    Compute,
    Const,
    Constant,
    Get,
    If,
    Index,
    Instruction,
    Kernel,
    Load,
    Nest,
    Node,
    Number,
    Row,
    Set,
    Store,
    reached,
    rewrite,
    with_nests,
    with_operands,
)
from ....ir.loops.gpu import marked, marks_of
from ...acts.act_trees import Numbered, numbered, ordered, rows_of, with_sides
from ...acts.tidying import tidied
from ...pass_list import Rules
from ...plan.registers import words
from ..options import options_of
from .columns_ahead import with_levels_ahead

LEVELS: Final = (8, 4, 2, 1)
# Registers of 32 bits for what was loaded ahead. Few threads have columns: each may use many.
MOST_REGISTERS: Final = 176
# Of those, what the levels under way take where shared memory does not say how many threads fit:
# more threads hide as much, and the arithmetic of each other besides.
FEW_REGISTERS: Final = 32
OWN_SHARE: Final = 4  # of what a long body needs, one in so many adds to the most at a time
COMPARISONS: Final = ("lt", "le", "gt", "ge")
USUALLY_FROM: Final = 8  # levels
SHORT: Final = 50  # instructions of a body whose values need few of the others


# A buffer, the rows of its indices, and the offsets of a column that loads read.
ReadColumn: TypeAlias = tuple[str, tuple[Row | None, ...], tuple[int, ...]]


def load_ahead(kernel: Kernel, rules: Rules) -> Kernel:
    """Note in each scan the loads that a thread does some levels ahead; let columns do some."""
    if rules.checked or options_of(rules).ahead < 0:
        return kernel
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    return rewrite(with_nests(kernel, lambda nest: _ahead(nest, buffers, rules)), _in_columns)


def _in_columns(node: Node) -> Node:
    if not isinstance(node, Column):
        return node
    made = with_levels_ahead(with_shared_rows(node), FEW_REGISTERS)
    stored = {row.buffer for row in rows_of(made.acts) if isinstance(row, Store)}
    return classes.evolve(made, acts=ordered(_loads_first(numbered(made.acts), stored)))


def _loads_first(acts: Iterable[Act], stored: Collection[str]) -> tuple[Act, ...]:
    """Return acts that begin with loads of what no act stores, at indices that wait for nothing."""
    made = [with_sides(act, lambda side: _loads_first(side, stored)) for act in acts]
    return tuple(sorted(made, key=lambda act: not _is_free(act, stored)))


def _is_free(act: Act, stored: Collection[str]) -> bool:
    row = act.row if isinstance(act, Numbered) else None
    return isinstance(row, Load) and not row.operands and row.buffer not in stored


def _ahead(nest: Nest, buffers: dict[str, Buffer], rules: Rules) -> Nest:
    if not nest.states or nest.parts:
        return nest
    depth = len(nest.loops)
    asked = tuple(
        row
        for row, load in enumerate(nest.body)
        if isinstance(load, Load) and load.level == depth and _is_known(nest, load)
    )
    room = MOST_REGISTERS - _own_registers(nest)
    fitting = (n for n in LEVELS if _registers(nest, asked, buffers, n) <= room)
    ahead = options_of(rules).ahead or next(fitting, LEVELS[-1])
    return marked(nest, ahead=ahead, asked=asked) if asked else nest


def leave_room(nest: Nest, buffers: Mapping[str, Buffer], rules: Rules) -> Nest:
    """Return a scan that loads so few levels ahead that registers leave room for many threads."""
    marks = marks_of(nest)
    if not marks.ahead or options_of(rules).ahead:
        return nest
    each = sum(words(buffers[name].dtype) for name, *_ in columns_read(nest, marks.asked))
    room = FEW_REGISTERS - _own_registers(nest) // OWN_SHARE
    fitting = (n for n in LEVELS if n * each <= room)
    return marked(nest, ahead=min(marks.ahead, next(fitting, LEVELS[-1])))


def _own_registers(nest: Nest) -> int:
    """Return the registers that a long body needs for itself, beyond those of a short one."""
    inside = [row for row in nest.body if row.level == len(nest.loops)]
    return max(words(row.dtype) for row in inside) * max(0, len(inside) - SHORT) * 3 // 4


def _registers(nest: Nest, asked: tuple[Row, ...], buffers: dict[str, Buffer], levels: int) -> int:
    """Return the registers of what is used and what is under way; offsets of a row share them."""
    return sum(
        words(buffers[name].dtype) * (2 * levels + max(along) - min(along))
        for (name, *_), along in columns_read(nest, asked).items()
    )


def columns_read(nest: Nest, asked: Iterable[Row]) -> dict[ReadColumn, list[int]]:
    """Return by column the offsets along it of all loads of a scan."""
    found: dict[ReadColumn, list[int]] = {}
    for load in map(nest.body.__getitem__, asked):
        assert isinstance(load, Load)
        axis = load.dims.index(nest.loops[-1].range.dim)
        others = tuple(offset * (at != axis) for at, offset in enumerate(load.offsets))
        found.setdefault((load.buffer, load.rows, others), []).append(load.offsets[axis])
    return found


def _is_known(nest: Nest, load: Load) -> bool:
    """Tell whether indices and condition of a load are known before its level."""
    rows = [row for row in load.rows if row is not None]
    inner = nest.loops[-1].range.dim
    if any(nest.body[row].level == len(nest.loops) for row in rows) or inner not in load.dims:
        return False
    along = load.rows[load.dims.index(inner)] if load.rows else None
    return along is None and (load.when is None or condition(nest, load.when) is not None)


def condition(nest: Nest, row: Row) -> tuple[Row, ...] | None:
    """Return the instructions of the loop that a condition needs; None if it needs memory."""
    body, inner = nest.body, len(nest.loops)
    found = reached([row], lambda each: body[each].operands if body[each].level == inner else ())
    needed = sorted(each for each in found if body[each].level == inner)
    kinds = Compute | Index | Number | Constant
    return tuple(needed) if all(isinstance(body[each], kinds) for each in needed) else None


def usual_conditions(nest: Nest) -> dict[Row, bool]:
    """Return the comparisons of the level with a number, and their values in most of a column.

    Each holds on all levels before some level, or on all after it: with one value on two levels it
    has that value between them. `K < 3` singles out a few levels at the top, `K < last` most.
    """
    found: dict[Row, bool] = {}
    depth, inner = len(nest.loops), nest.loops[-1].range.dim
    for number, row in enumerate(nest.body):
        if row.level < depth or not isinstance(row, Compute) or row.op not in COMPARISONS:
            continue
        args = [nest.body[arg] for arg in row.args]
        places = [n for n, arg in enumerate(args) if isinstance(arg, Index) and arg.dim is inner]
        if len(places) != 1 or args[1 - places[0]].level >= depth:
            continue
        is_below = (row.op in ("lt", "le")) == (places == [0])
        found[number] = not (is_below and _is_small(args[1 - places[0]]))
    return found


def _is_small(row: Instruction) -> bool:
    """Tell whether a number singles out the first levels of a column."""
    match row:
        case Constant(text=text):
            return float(text) < USUALLY_FROM
        case Number(bound=Const(value=value)):
            return value < USUALLY_FROM
    return False


def is_usually(nest: Nest, usual: Mapping[Row, bool], row: Row) -> bool:
    """Tell whether a condition is true where the comparisons in it have their usual values."""
    each = nest.body[row]
    if row in usual:
        return usual[row]
    if isinstance(each, Compute) and each.op in ("and", "or"):
        sides = [is_usually(nest, usual, arg) for arg in each.args]
        return all(sides) if each.op == "and" else any(sides)
    return False


def with_shared_rows(column: Column) -> Column:
    """Return a column with the rows of both sides of each condition before it.

    The rows of one side move; those of the other one are found to be known when acts are tidied.
    """
    acts = ordered(_before_conditions(numbered(column.acts)))
    return column if acts == column.acts else tidied(classes.evolve(column, acts=acts))


def _before_conditions(acts: Iterable[Act]) -> tuple[Act, ...]:
    made: list[Act] = []
    for each in acts:
        act = with_sides(each, _before_conditions)
        if isinstance(act, If):
            shared = _shared(act)
            left = (own for own in act.then if not any(own is row for row in shared))
            made += shared
            act = classes.evolve(act, then=tuple(left))
        made.append(act)
    return tuple(made)


def _shared(choice: If) -> list[Numbered]:
    """Return the rows of `then` whose values `otherwise` has, too."""
    same: dict[Row, Row] = {}
    known = {act.row: act.number for act in _begun(choice.then)}
    for act in _begun(choice.otherwise):
        row = with_operands(act.row, lambda each: same.get(each, each))
        if row in known:
            same[act.number] = known[row]
    found = set(same.values())
    return [act for act in _begun(choice.then) if act.number in found]


def _begun(acts: Iterable[Act]) -> Iterator[Numbered]:
    """Yield the rows that have their values where acts begin, if the rows before them have."""
    changed: set[str | int] = set()  # buffers and registers
    for act in acts:
        if isinstance(act, Numbered) and _is_fixed(act.row, changed):
            yield act
        for row in rows_of([act]):
            changed |= {row.buffer} if isinstance(row, Store) else set()
            changed |= {row.register} if isinstance(row, Set) else set()


def _is_fixed(row: Instruction, changed: set[str | int]) -> bool:
    match row:
        case Get(register=register):
            return register not in changed
        case Load(buffer=buffer):
            return buffer not in changed
    return not isinstance(row, Set | Store)
