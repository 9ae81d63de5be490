"""Encode a loop nest: the steps of each level of its loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...runtime.process import CodegenError, classes
from ..ir.loops import ITEMSIZES, Advance, Compute, Index, Load, Nest, Row, Store, marks_of
from . import program as encoded
from .lanes import FIRST
from .naming import CALL, Naming
from .places import Places
from .program import Code, Place, Step
from .sections import Section


def encode_nest(naming: Naming, nest: Nest) -> encoded.Nest:
    """Return a nest as steps."""
    places = Places(naming, nest)
    lanes = places.lanes
    if any(loop.step != 1 for loop in nest.loops):
        raise CodegenError("Rows of a nest that are computed together cannot be encoded.")
    for row, each in enumerate(places.rows):  # in order: operands come first
        if places.is_single(row) and not isinstance(each, (*CALL, Index)):
            _single_row(places, row)
    rows = tuple(_rows_at_once(places))
    first: Code = ()
    parts: list[encoded.Part] = []
    if lanes.depth:
        if lanes.has_inner:
            first = tuple(_first(places))
        for number, range_ in enumerate(nest.parts or (nest.loops[-1].range,)):
            code = tuple(_section(places, number))
            parts.append(encoded.Part(naming.span(range_), code))
    _prefetch(places)
    return encoded.Nest(
        guard=tuple(map(naming.span, naming.kernel.groups[nest.group].box)),
        loops=tuple(
            encoded.Loop(
                loop.range.dim.value, naming.span(loop.range), loop.backward,
                loop.kind == "parallel",
            )
            for loop in nest.loops
        ),
        lanes=lanes.loop,
        accesses=tuple(places.accesses),
        blocks=places.blocks,
        values=places.values,
        known=tuple(places.known),
        around=tuple(map(tuple, places.around)),
        rows=rows,
        first=first,
        parts=tuple(parts),
    )  # fmt: skip


def _single_row(places: Places, row: Row) -> None:
    """Write a row around the lanes."""
    each = places.rows[row]
    code = places.around[each.level]

    def emit(name: str, args: Sequence[Place], _: str) -> Place:
        out = places.new_value(each.level)
        code.append(Step(name, out, tuple(args)))
        return out

    match each:
        case Load():
            access = places.access(each, places.axes(each, each.dims))
            code.append(Step("point", access))
            when = () if each.when is None else (places.value_of(each.when),)
            places.single[row] = emit(f"load.{each.dtype}", [access, *when], each.dtype)
        case Store():
            places.check_store(each)
            access = places.access(each, places.axes(each, places.dims_of(each.buffer)))
            when = () if each.when is None else (places.value_of(each.when),)
            code.append(Step("point", access))
            args = (places.value_of(each.value), *when)
            code.append(Step(f"store.{each.dtype}", access, args))
        case Compute():
            args = tuple(places.value_of(arg) for arg in each.args)
            places.single[row] = places.computed(emit, each, args)
        case _:
            raise TypeError(f"'{type(each).__name__}' cannot stand around lanes.")


def _rows_at_once(places: Places) -> Iterator[Step]:
    """Write the values of the loop right around the lanes, with its indices as lanes."""
    outer = places.lanes.outer
    used = {row for each in places.rows if each.level > outer for row in each.operands}
    used |= {row for _, row in places.nest.states}
    told = {
        row
        for each in places.rows
        if each.level > outer and isinstance(each, Load | Store)
        for row in each.rows
    }
    wanted = sorted(
        row
        for row in used
        if places.is_of_row(row) and not isinstance(places.rows[row], (*CALL, Index))
    )
    if not wanted:
        return
    places.lane_loop = outer - 1
    section = Section(places, FIRST, [], wanted)
    blocks = {}
    for row in wanted:
        blocks[row] = section.lasting(row)
        if row in told and places.rows[row].dtype != "int64":
            places.wide[row] = places.lasting()
            name = f"cast.int64.{places.rows[row].dtype}"
            section.code.append(Step(name, places.wide[row], (blocks[row],)))
    places.row_blocks = blocks
    places.lane_loop = places.lanes.loop
    yield from section.code


def _first(places: Places) -> Iterator[Step]:
    """Write what a strip does before its inner loop: rows that stay, and first states."""
    wanted = {
        row
        for each in places.rows
        if each.level == places.lanes.depth
        for row in each.operands
        if places.is_of_strip(row)
    }
    wanted |= {row for _, row in places.nest.states if places.is_of_strip(row)}
    section = Section(places, FIRST, [], sorted(wanted))
    for row in sorted(wanted):
        places.kept[row] = section.lasting(row)
    for dtype, row in places.nest.states:
        place = places.lasting()
        if places.is_single(row) or row in places.row_blocks:
            section.code.append(Step(f"fill.{dtype}", place, (places.one_number(row),)))
        else:
            copy = f"copy.{ITEMSIZES[dtype]}"
            section.code.append(Step(copy, place, (places.kept[row],)))
        places.states.append(place)
    yield from section.code


def _section(places: Places, part: int) -> Iterator[Step]:
    """Write a part of the innermost loop."""
    depth = places.lanes.depth
    roots = [
        row
        for row, each in enumerate(places.rows)
        if each.level == depth and each.part == part and isinstance(each, Store | Advance)
    ]
    section = Section(places, part, roots, [])
    section.write()
    yield from section.code


def _prefetch(places: Places) -> None:
    """Point to the rows that chains prefetch."""
    marks = marks_of(places.nest)
    if places.lanes.has_inner or not places.lanes.outer:
        return
    for row in marks.asked:
        load = places.rows[row]
        assert isinstance(load, Load), "rows that are loaded are prefetched"
        axes = places.axes(load, load.dims)
        access = places.access(load, axes)
        found = places.accesses.pop()
        if found.is_row:
            places.accesses.append(classes.evolve(found, ahead=marks.ahead))
            places.around[places.lanes.outer].append(Step("point", access))
