"""Write a thread that has several points of a row: wide loads, and stores of those inside.

Rows begin or end inside the points of a thread where a program has no level 0, for example. If such
threads had code of their own, point by point, their warps would run both, and all threads would
need registers for what both read before they part. So a thread loads whole packs, which lie in
16 bytes with a point that is inside, and leaves out stores. All threads walk point by point where
memory is not aligned; there the indices are opaque, so that no compiler moves common rows up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_

from .....runtime.process import classes
from ....ir.loops import Instruction, Load, Nest, Row, Store
from ....ir.loops.gpu import marks_of
from ....vendors.dialect import MASKED
from ...plan.registers import by_demand
from ...rows import (
    DIRECT,
    TYPES,
    Body,
    Scope,
    element,
    line,
    loaded,
    name,
    operand,
    stored_type,
)
from ..passes.unrolling import unrolled
from .grid import flat_places, is_flat, opened
from .lines import all_rows, braced, either, indented, thread_body
from .wide import Pack, aligned, packed, packs_of, starts_of


def write_masked(scope: Scope, nest: Nest) -> Iterator[str]:
    """Write the loops of a thread with points of one row, all at once or one by one."""
    inner, points = len(nest.loops) - 1, marks_of(nest).points[0]
    one = thread_body(scope, nest)
    near = classes.evolve(nest, body=by_demand(nest.body))
    every = unrolled(near, marks_of(nest).points, scope.by_name, in_turn=True)
    body = thread_body(scope, classes.evolve(near, body=every))
    packs = packs_of(body, points)
    yield f"  const bool aligned = {aligned(body, packs)};"
    yield from flat_places(scope, nest, "f") if is_flat(nest) else ()
    yield from (opened(scope, nest, level, "f") for level in range(inner + 1))
    at_once = (
        *_indices(nest, "f{}"),
        f"const s64 i{inner} = f{inner};",
        *_inside(scope, nest, points),
        *all_rows(masked(body, packs, points)),
    )
    start, stop = scope.ends(nest.loops[inner].range)
    index, first = f"i{inner}", f"f{inner} < {start} ? {start} : f{inner}"
    last = f"{index} < f{inner} + {points} && {index} < {stop}"
    one_by_one = (
        "#pragma unroll 1",
        *braced(
            f"for (s64 {index} = {first}; {last}; ++{index})",
            (*_indices(nest, "ff::opaque(f{})"), *all_rows(one)),
        ),
    )
    yield from indented(either("aligned", at_once, one_by_one), "  " * (inner + 2))
    yield "  " + "}" * len(nest.loops)


def _inside(scope: Scope, nest: Nest, points: int) -> Iterator[str]:
    """Define which points of a thread are inside, a bit for each."""
    index, (start, stop) = f"f{len(nest.loops) - 1}", scope.ends(nest.loops[-1].range)
    bits = (
        f"u32({index} + {p} >= {start} && {index} + {p} < {stop}) << {p}" for p in range(points)
    )
    yield f"const u32 inside = {' | '.join(bits)};"


def _indices(nest: Nest, value: str) -> Iterator[str]:
    """Define the indices of a thread along the loops around the innermost one."""
    for level, loop in enumerate(nest.loops[:-1]):
        if loop.kind == "thread":
            yield f"const s64 i{level} = {value.format(level)};"


def needed_by(rows: Sequence[Instruction], points: int) -> dict[Row, int]:
    """Return which points of a thread need each row of an interleaved body, a bit for each."""
    stores = [number for number, row in enumerate(rows) if isinstance(row, Store)]
    found = dict.fromkeys(range(len(rows)), 0) | {
        number: 1 << place % points for place, number in enumerate(stores)
    }
    for number in reversed(range(len(rows))):
        for each in rows[number].operands:
            found[each] |= found[number]
    return found


def masked(body: Body, packs: Sequence[Pack], points: int) -> Body:
    """Return a body with wide accesses that loads and stores nothing for points outside alone.

    The text defines `inside`, with a bit for each point.
    """
    body.scope.ask(MASKED)
    needed, every = needed_by(body.rows, points), (1 << points) - 1
    stores = [pack for pack in packs if isinstance(body.rows[pack.members[0]], Store)]
    loads = [
        pack
        for pack in packs
        if pack not in stores and reduce(or_, map(needed.__getitem__, pack.members)) == every
    ]
    wide = packed(body, loads, starts_of(body, loads))
    together = {row for pack in (*loads, *stores) for row in pack.members}
    instead = dict(wide.instead)
    for number, row in enumerate(body.rows):
        alone = row.level == body.depth and number not in together and needed[number] != every
        if alone and isinstance(row, Load | Store):
            instead[number] = _single(body, number, row, f"inside & {needed[number]}u")
    for pack, start in zip(stores, starts_of(body, stores).values(), strict=True):
        instead |= _stored(body, pack, start, [needed[row] for row in pack.members])
    return classes.evolve(body, instead=instead)


def _single(body: Body, number: Row, row: Load | Store, test: str) -> str:
    """Write an access of one element for the case that a point inside needs it."""
    if isinstance(row, Store):
        return f"if ({test}) {{ {line(body, number)} }}"
    value = element(body, row, body.addresses.get(number, DIRECT))
    nothing = f"{stored_type(body.scope.by_name[row.buffer])}(0)"
    value = loaded(body, row, f"({test} ? {value} : {nothing})")
    return f"const {TYPES[row.dtype][0]} {name(body, number)} = {value};"


def _stored(body: Body, pack: Pack, start: str, needed: Sequence[int]) -> dict[Row, str]:
    """Write a wide store of the elements of points inside, in the place of the last of them."""
    rows = [body.rows[number] for number in pack.members]
    values = ", ".join(operand(body, row.operands[0]) for row in rows)
    type_ = f"ff::pack<{stored_type(body.scope.by_name[rows[0].buffer])}, {len(rows)}>"  # type: ignore[attr-defined]
    first = min(needed).bit_length() - 1
    mask = f"inside >> {first} & {(1 << len(rows)) - 1}u" if first else "inside"
    text = f"ff::store_some({start}, {type_}{{{{{values}}}}}, {mask});"
    return dict.fromkeys(pack.members, "") | {max(pack.members): text}
