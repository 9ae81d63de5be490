"""Let columns act on the fields that they compute, in place of arrays that are copied there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ....runtime.language import Dimension
from ....runtime.process import classes
from ...ir.loops import (
    Access,
    Act,
    Buffer,
    Column,
    If,
    Kernel,
    Load,
    Nest,
    Range,
    Row,
    Step,
    Store,
    Sweep,
    While,
    add,
    arrays_of,
    greatest,
    in_order,
    instructions,
    is_at_least,
    least,
    steps_of,
    with_operands,
)
from .act_trees import mapped, renamed
from .free_levels import with_free_levels
from .held_elements import with_held_elements
from .joining import joined, with_registers
from .tidying import tidied


def with_columns(kernel: Kernel, *, checked: bool) -> Kernel:
    """Return a kernel whose columns are tidy, and do all that they can unless stores are tested.

    Arrays that nothing touches are left out.
    """
    buffers = {each.name: each for each in kernel.buffers}
    steps = []
    for step in kernel.steps:
        nodes = [each for each in steps_of(step.body) if isinstance(each, Nest | Column)]
        if checked:
            nodes = [tidied(each) if isinstance(each, Column) else each for each in nodes]
        else:
            nodes = joined(_in_place(nodes, buffers), buffers)
            nodes = [_finished(each, nodes, buffers) for each in nodes]
        steps.append(Step(step.statement, in_order(*nodes)))
    touched = {name for step in steps for name in arrays_of(step)}
    kept = (each for each in kernel.buffers if each.memory != "arena" or each.name in touched)
    return classes.evolve(kernel, buffers=tuple(kept), steps=tuple(steps))


def _finished(
    node: Nest | Column, nodes: Sequence[Nest | Column], buffers: Mapping[str, Buffer]
) -> Nest | Column:
    """Return a tidy column, with registers for what nobody else touches meanwhile."""
    if isinstance(node, Nest):
        return node
    others = {name for each in nodes if each is not node for name in arrays_of(each)}
    own = {name for name in arrays_of(node) - others if buffers[name].memory == "arena"}
    column = tidied(with_registers(node, own, buffers))
    changed = with_held_elements(with_free_levels(column, buffers), buffers)
    return column if changed == column else tidied(changed)


@classes.frozen
class _Copy:
    """Two rows of a nest that copy an array to a field, and the column that fills the array."""

    nest: Nest
    rows: tuple[Row, Row]
    column: Column
    array: str
    field: str


@classes.frozen
class _Others:
    """The other nests that touch what a copy moves: some read the array, some store the field.

    A `part` stores the field on other levels, and may read the array at its own point.
    """

    readers: tuple[Nest, ...]
    parts: tuple[Nest, ...]

    @classmethod
    def of(cls, copy: _Copy, nodes: Sequence[Nest | Column]) -> _Others | None:
        """Return the others; None if one touches them otherwise."""
        found = [
            each
            for each in nodes
            if each is not copy.column
            and each is not copy.nest
            and arrays_of(each) & {copy.array, copy.field}
        ]
        nests = [each for each in found if isinstance(each, Nest)]
        parts = tuple(each for each in nests if copy.field in arrays_of(each, Store))
        readers = tuple(each for each in nests if copy.field not in arrays_of(each, Store))
        fit = (
            len(nests) == len(found)
            and all(_is_part(each, copy) for each in parts)
            and not any(copy.field in arrays_of(each) for each in readers)
            and not any(copy.array in arrays_of(each, Store) for each in readers)
        )
        return cls(readers, parts) if fit else None


def _in_place(nodes: Sequence[Nest | Column], buffers: Mapping[str, Buffer]) -> list[Nest | Column]:
    """Return nodes in order; columns store fields in place of the arrays that nests copy there."""
    found = list(nodes)
    while (copy := next((c for c in _copies(found) if _fits(c, found, buffers)), None)) is not None:
        others = _Others.of(copy, found)
        assert others is not None  # it fits
        touching: tuple[Nest | Column, ...] = (copy.column, *others.readers, *others.parts)
        made = {id(each): _renamed(each, {copy.array: copy.field}) for each in touching}
        made[id(copy.nest)] = _without(copy)
        found = [made.get(id(node), node) for node in _with_last(found, others)]
        found = [node for node in found if isinstance(node, Column) or node.body]
    return found


def _copies(nodes: Sequence[Nest | Column]) -> Iterator[_Copy]:
    """Yield the copies of arrays of columns to fields."""
    filled = {
        name: each for each in nodes if isinstance(each, Column) for name in arrays_of(each, Store)
    }
    for nest in (each for each in nodes if isinstance(each, Nest) and not each.parts):
        for number, row in enumerate(nest.body):
            load = nest.body[row.value] if isinstance(row, Store) else None
            if isinstance(row, Store) and isinstance(load, Load) and load.buffer in filled:
                yield _Copy(nest, (row.value, number), filled[load.buffer], load.buffer, row.buffer)


def _fits(copy: _Copy, nodes: Sequence[Nest | Column], buffers: Mapping[str, Buffer]) -> bool:
    """Tell whether a column may store a field instead: nobody notices but the copy."""
    array, field = buffers[copy.array], buffers[copy.field]
    copied = tuple(copy.nest.body[each] for each in copy.rows)
    others = _Others.of(copy, nodes)
    again = [
        row
        for number, row in enumerate(copy.nest.body)
        if number not in copy.rows
        and isinstance(row, Access)
        and row.buffer in (copy.array, copy.field)
    ]
    alone = (
        array.memory == "arena"
        and (array.dims, array.dtype) == (field.dims, field.dtype)
        and all(_is_here(row) for row in copied if isinstance(row, Access))
        and not again
        and copy.field not in arrays_of(copy.column, Store)
    )
    if not alone or others is None or not _may_wait(others, nodes, copy.field):
        return False
    levels = _around(copy, others.parts)
    return levels is not None and _reads_first(copy) and _stays_inside(copy, levels)


def _is_part(nest: Nest, copy: _Copy) -> bool:
    """Tell whether a nest stores the field once, and touches both at its own point only."""
    rows = [row for row in nest.body if isinstance(row, Access)]
    own = [row for row in rows if row.buffer in (copy.array, copy.field)]
    stores = [row for row in own if isinstance(row, Store)]
    return (
        not (nest.states or nest.parts)
        and all(_is_here(row) for row in own)
        and [(row.buffer, row.add) for row in stores] == [(copy.field, False)]
        and all(row.buffer == copy.array for row in own if isinstance(row, Load))
    )


def _may_wait(others: _Others, nodes: Sequence[Nest | Column], field: str) -> bool:
    """Tell whether parts may come after all readers, past what stands between.

    Only parts and the copy touch the field, on other levels.
    """
    for place, node in enumerate(nodes):
        later = nodes[place + 1 :] if any(node is each for each in others.parts) else ()
        for each in later:
            mine, theirs = arrays_of(node, Store) - {field}, arrays_of(each, Store) - {field}
            if mine & arrays_of(each) or theirs & arrays_of(node):
                return False
    return True


def _with_last(nodes: Sequence[Nest | Column], others: _Others) -> list[Nest | Column]:
    """Return nodes with the parts after all readers."""
    if not others.readers:
        return list(nodes)
    first = [each for each in nodes if not any(each is part for part in others.parts)]
    return [*first, *others.parts]


def _around(copy: _Copy, parts: Sequence[Nest]) -> dict[Dimension, Range] | None:
    """Return the ranges that a copy and the parts store without a gap; None if there is one."""
    found = {loop.range.dim: loop.range for loop in copy.nest.loops}
    for part in parts:
        differ = [loop.range for loop in part.loops if found.get(loop.range.dim) != loop.range]
        if len(differ) != 1 or differ[0].dim not in found or len(part.loops) != len(found):
            return None
        own, more = found[differ[0].dim], differ[0]
        if more.start in (own.stop, greatest((own.start, own.stop))):
            found[own.dim] = Range(own.dim, own.start, more.stop)
        elif more.stop in (own.start, least((own.start, own.stop))):
            found[own.dim] = Range(own.dim, more.start, own.stop)
        else:
            return None
    return found


def _is_here(access: Access) -> bool:
    """Tell whether an access is to the point of the loops, and unconditional."""
    return not (any(access.offsets) or access.is_told or access.when is not None)


def _reads_first(copy: _Copy) -> bool:
    """Tell whether a column only reads the field where the array begins with its element."""
    rows = list(instructions(copy.column))
    for number, row in enumerate(rows):
        if isinstance(row, Load) and row.buffer == copy.field:
            begins = [
                isinstance(each, Store) and each.buffer == copy.array and _is_here(each)
                for each in rows
                if number in each.operands
            ]
            if begins != [True] or not _is_here(row):
                return False
    return True


def _stays_inside(copy: _Copy, ranges: Mapping[Dimension, Range]) -> bool:
    """Tell whether a column changes the field in these ranges only, where others store it, too."""
    columns = {loop.range.dim: loop.range for loop in copy.column.loops}
    if any(ranges.get(dim) != range_ for dim, range_ in columns.items()):
        return False
    rows = enumerate(instructions(copy.column))
    as_it_was = {n for n, row in rows if isinstance(row, Load) and row.buffer == copy.field}
    return all(
        _is_within(store, around, ranges, copy)
        for store, around in _stores_in(copy.column.acts, ())
        if store.buffer == copy.array and store.value not in as_it_was
    )


def _is_within(
    store: Store, around: Sequence[Range], ranges: Mapping[Dimension, Range], copy: _Copy
) -> bool:
    walked = [each for each in around if each.dim in ranges]
    if not walked:
        return not any(dim not in {each.range.dim for each in copy.column.loops} for dim in ranges)
    inner, own = walked[-1], ranges[walked[-1].dim]
    dims = next(
        row.dims for row in copy.nest.body if isinstance(row, Load) and row.buffer == copy.array
    )
    row, offset = store.coordinates(len(dims))[dims.index(inner.dim)]
    return (
        row is None
        and is_at_least(add(inner.start, offset), own.start)
        and is_at_least(own.stop, add(inner.stop, offset))
    )


def _stores_in(
    acts: Iterable[Act], around: tuple[Range, ...]
) -> Iterator[tuple[Store, tuple[Range, ...]]]:
    """Yield the stores of acts, and the sweeps around each."""
    for act in acts:
        match act:
            case Sweep(range=range_, acts=inner):
                yield from _stores_in(inner, (*around, range_))
            case If(then=then, otherwise=otherwise):
                yield from _stores_in((*then, *otherwise), around)
            case While(condition=condition, acts=inner):
                yield from _stores_in((*condition, *inner), around)
            case Store():
                yield act, around


def _renamed(node: Nest | Column, names: Mapping[str, str]) -> Nest | Column:
    """Return a node that touches buffers of other names."""
    if isinstance(node, Nest):
        return classes.evolve(node, body=tuple(renamed(row, names) for row in node.body))
    return classes.evolve(node, acts=mapped(node.acts, lambda row: renamed(row, names)))


def _without(copy: _Copy) -> Nest:
    """Return the nest without the copy; its other rows read the field."""
    nest, (load, store) = copy.nest, copy.rows
    is_read = sum(load in row.operands for row in nest.body) > 1
    left = [n for n in range(len(nest.body)) if n != store and (is_read or n != load)]
    places = {old: new for new, old in enumerate(left)}
    rows = (with_operands(nest.body[n], places.__getitem__) for n in left)
    body = [renamed(row, {copy.array: copy.field}) for row in rows]
    loaded = {row.buffer for row in body if isinstance(row, Load)} - {copy.field}
    reads = tuple(each for each in nest.reads if each.buffer in loaded)
    body = body if any(isinstance(row, Store) for row in body) else []
    return classes.evolve(nest, body=tuple(body), reads=reads)
