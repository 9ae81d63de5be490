"""Let columns act on the fields that they compute, in place of arrays that are copied there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ....runtime.language.dimension import Dimension
from ....runtime.process import classes
from ...ir.bounds import Range, add, is_at_least
from ...ir.loops.buffers import Buffer
from ...ir.loops.column import Act, Column, If, Sweep, While
from ...ir.loops.kernel import Kernel, Step, in_order, steps_of
from ...ir.loops.nest import Access, Instruction, Load, Nest, Row, Store, with_operands
from ...ir.loops.traverse import arrays_of, instructions
from .act_trees import mapped
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
        nodes = nodes if checked else joined(_in_place(nodes, buffers), buffers)
        made = (_finished(each, nodes, buffers) for each in nodes)
        steps.append(Step(step.statement, in_order(*made)))
    touched = {name for step in steps for name in arrays_of(step)}
    kept = (each for each in kernel.buffers if each.memory != "arena" or each.name in touched)
    return classes.evolve(kernel, buffers=tuple(kept), steps=tuple(steps))


def _finished(
    node: Nest | Column, nodes: Sequence[Nest | Column], buffers: Mapping[str, Buffer]
) -> Nest | Column:
    """Return a tidy column, with registers for arrays that nobody else touches."""
    if isinstance(node, Nest):
        return node
    others = {name for each in nodes if each is not node for name in arrays_of(each)}
    own = {name for name in arrays_of(node) - others if buffers[name].memory == "arena"}
    return tidied(with_registers(node, own, buffers))


@classes.frozen
class _Copy:
    """Two rows of a nest that copy an array to a field, and the column that fills the array."""

    nest: Nest
    rows: tuple[Row, Row]
    column: Column
    array: str
    field: str


def _in_place(nodes: Sequence[Nest | Column], buffers: Mapping[str, Buffer]) -> list[Nest | Column]:
    """Return nodes in order; columns store fields in place of the arrays that nests copy there."""
    found = list(nodes)
    while (copy := next((c for c in _copies(found) if _fits(c, found, buffers)), None)) is not None:
        nest = _without(copy)
        column = _renamed(copy.column, copy.array, copy.field)
        made: dict[int, Nest | Column] = {id(copy.column): column, id(copy.nest): nest}
        found = [made.get(id(node), node) for node in found]
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
                column = filled[load.buffer]
                yield _Copy(nest, (row.value, number), column, load.buffer, row.buffer)


def _fits(copy: _Copy, nodes: Sequence[Nest | Column], buffers: Mapping[str, Buffer]) -> bool:
    """Tell whether a column may store a field instead: nobody notices but the copy."""
    array, field = buffers[copy.array], buffers[copy.field]
    rows = [(node, row) for node in nodes for row in instructions(node) if isinstance(row, Access)]
    of_array = [(node, row) for node, row in rows if row.buffer == copy.array]
    of_field = [(node, row) for node, row in rows if row.buffer == copy.field]
    copied = tuple(copy.nest.body[each] for each in copy.rows)
    alone = (
        array.memory == "arena"
        and (array.dims, array.dtype) == (field.dims, field.dtype)
        and all(_is_here(row) for row in copied if isinstance(row, Access))
        and all(node is copy.column or row is copied[0] for node, row in of_array)
        and all(node is copy.column or row is copied[1] for node, row in of_field)
        and not any(isinstance(row, Store) for node, row in of_field if node is copy.column)
    )
    return alone and _reads_first(copy) and _stays_inside(copy)


def _is_here(access: Access) -> bool:
    """Tell whether an access is to the point of the loops, and unconditional."""
    return not (any(access.offsets) or access.is_told or access.when is not None)


def _reads_first(copy: _Copy) -> bool:
    """Tell whether a column only reads the field where the array begins with its element."""
    rows = list(instructions(copy.column))
    for number, row in enumerate(rows):
        if isinstance(row, Load) and row.buffer == copy.field:
            users = [each for each in rows if number in each.operands]
            stores = [each for each in users if isinstance(each, Store)]
            begins = all(each.buffer == copy.array and _is_here(each) for each in stores)
            if len(users) != 1 or not stores or not begins or not _is_here(row):
                return False
    return True


def _stays_inside(copy: _Copy) -> bool:
    """Tell whether a column changes the field where the copy does only."""
    ranges = {loop.range.dim: loop.range for loop in copy.nest.loops}
    columns = {loop.range.dim: loop.range for loop in copy.column.loops}
    if any(ranges.get(dim) != range_ for dim, range_ in columns.items()):
        return False
    rows = list(instructions(copy.column))
    for store, around in _stores(copy.column.acts, ()):
        if store.buffer != copy.array:
            continue
        value = rows[store.value]
        if isinstance(value, Load) and value.buffer == copy.field:  # as it was
            continue
        if not _is_within(store, around, ranges, copy):
            return False
    return True


def _is_within(
    store: Store, around: Sequence[Range], ranges: Mapping[Dimension, Range], copy: _Copy
) -> bool:
    walked = [each for each in around if each.dim in ranges]
    if not walked:
        return not any(dim not in {each.range.dim for each in copy.column.loops} for dim in ranges)
    axis = walked[-1].dim
    dims = next(
        row.dims for row in copy.nest.body if isinstance(row, Load) and row.buffer == copy.array
    )
    place = dims.index(axis)
    row, offset = store.coordinates(len(dims))[place]
    if row is not None:
        return False
    own, inner = ranges[axis], walked[-1]
    return is_at_least(add(inner.start, offset), own.start) and is_at_least(
        own.stop, add(inner.stop, offset)
    )


def _stores(
    acts: Iterable[Act], around: tuple[Range, ...]
) -> Iterator[tuple[Store, tuple[Range, ...]]]:
    """Yield the stores of acts, and the sweeps around each."""
    for act in acts:
        match act:
            case Sweep(range=range_, acts=inner):
                yield from _stores(inner, (*around, range_))
            case If(then=then, otherwise=otherwise):
                yield from _stores((*then, *otherwise), around)
            case While(condition=condition, acts=inner):
                yield from _stores((*condition, *inner), around)
            case Store():
                yield act, around


def _renamed(column: Column, array: str, field: str) -> Column:
    """Return a column that touches a field in place of an array."""

    def changed(row: Instruction) -> Instruction:
        if isinstance(row, Access) and row.buffer == array:
            return classes.evolve(row, buffer=field)
        return row

    return classes.evolve(column, acts=mapped(column.acts, changed))


def _without(copy: _Copy) -> Nest:
    """Return the nest without the copy; its other rows read the field."""
    nest, (load, store) = copy.nest, copy.rows
    is_read = sum(load in row.operands for row in nest.body) > 1
    left = [n for n in range(len(nest.body)) if n != store and (is_read or n != load)]
    places = {old: new for new, old in enumerate(left)}
    body: list[Instruction] = [with_operands(nest.body[n], places.__getitem__) for n in left]
    kept = nest.body[load]
    if is_read and isinstance(kept, Load):
        body[places[load]] = classes.evolve(kept, buffer=copy.field)
    loaded = {row.buffer for row in body if isinstance(row, Load)} - {copy.field}
    reads = tuple(each for each in nest.reads if each.buffer in loaded)
    body = body if any(isinstance(row, Store) for row in body) else []
    return classes.evolve(nest, body=tuple(body), reads=reads)
