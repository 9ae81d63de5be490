"""The rows that a nest prefetches, for an iteration of the next outer loop that comes later.

Their pointers are `q0`, `q1`, ...; `j<level>` is the iteration, and `w3` is there what row `v3` is
here.
"""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from ....ir.loops.cpu import marks_of
from ....ir.loops.nest import Compute, Instruction, Load, Nest, Number, Row
from ...rows.addresses import addresses_of
from ...rows.body import NAMELESS, Body
from ...rows.scope import Scope


def rows_ahead(body: Body, nest: Nest) -> Body:
    """Return the body of a nest with addresses for what it prefetches only."""
    depth, rows = body.depth, body.rows
    addresses = addresses_of(
        rows, marks_of(nest).asked, body.scope.by_name, body.inner, letter="q", inside=depth
    )
    moving = [number for number, row in enumerate(rows) if row.level == depth - 1]
    positions = dict(body.positions)
    if depth > 1:
        positions[nest.loops[-2].range.dim] = f"j{depth - 2}"
    return attrs.evolve(
        body,
        addresses=addresses,
        positions=positions,
        names={number: f"w{number}" for number in moving},
        same={number: unclamped(rows, number) for number in range(len(rows))},
    )


def unclamped(rows: Sequence[Instruction], number: Row) -> Row:
    """Return the index that bounds clamp: to prefetch what is not there does no harm."""
    row = rows[number]
    while isinstance(row, Compute) and row.op in ("minimum", "maximum"):
        first, second = row.args
        if not isinstance(rows[second], Number):
            break
        number, row = first, rows[first]
    return number


def indices(later: Body) -> list[Row]:
    """Return the rows around the innermost loop that compute the places of prefetched rows."""
    found: set[Row] = set()
    loads = (later.rows[number] for number in later.addresses)
    waiting = [
        row for load in loads if isinstance(load, Load) for row in load.rows if row is not None
    ]
    while waiting:
        number = waiting.pop()
        if number not in found and number in later.names:
            number = later.same[number]
            if not isinstance(later.rows[number], NAMELESS):
                found.add(number)
            waiting.extend(later.rows[number].operands)
    return sorted(found)


def iteration(scope: Scope, nest: Nest) -> str:
    """Define which iteration of the next outer loop to prefetch for, within its range."""
    around = len(nest.loops) - 2
    loop = nest.loops[around]
    start, stop = scope.ends(loop.range)
    far = marks_of(nest).ahead * loop.step
    if loop.backward:
        return f"const s64 j{around} = later({start}, i{around} - {far});"
    return f"const s64 j{around} = earlier(i{around} + {far}, {stop} - {loop.step});"


def element_of_list(scope: Scope, nest: Nest) -> str:
    """Define which element of a list to prefetch for."""
    start, stop = scope.ends(nest.loops[0].range)
    found = f"lists[earlier(q + {marks_of(nest).ahead}, last)]"
    return f"const s64 j0 = later({start}, earlier({found}, {stop} - 1));"
