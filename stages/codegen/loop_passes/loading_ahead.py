"""Let scans of a GPU load levels before they use them.

A column is a chain: each level waits for the one before, and few threads have a column. With the
loads of several levels in flight, a thread waits once for all of them.
"""

from __future__ import annotations

from typing import Final

import attrs

from ...ir.loops import Buffer, Compute, Constant, Index, Kernel, Load, Nest, Number, Row
from ..schedule.costs import ITEMSIZES
from ..schedule.placement import Rules

LEVELS: Final = (8, 4, 2)
# Registers of 32 bits for what was loaded ahead: with so few columns each thread may use many.
MOST_REGISTERS: Final = 176


def load_ahead(kernel: Kernel, rules: Rules) -> Kernel:
    """Note in each scan the loads that a thread does some levels ahead."""
    if rules.checked or rules.gpu.ahead < 0:
        return kernel
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    return attrs.evolve(kernel, nests=tuple(_ahead(nest, buffers, rules) for nest in kernel.nests))


def _ahead(nest: Nest, buffers: dict[str, Buffer], rules: Rules) -> Nest:
    if not nest.states or nest.parts:
        return nest
    depth = len(nest.loops)
    asked = tuple(
        row
        for row, load in enumerate(nest.body)
        if isinstance(load, Load) and load.level == depth and _is_known(nest, load)
    )
    fitting = [n for n in LEVELS if _registers(nest, asked, buffers, n) <= MOST_REGISTERS]
    ahead = rules.gpu.ahead or (fitting[0] if fitting else 0)
    return attrs.evolve(nest, ahead=ahead, asked=asked) if asked and ahead else nest


def _registers(nest: Nest, asked: tuple[Row, ...], buffers: dict[str, Buffer], levels: int) -> int:
    """Return the registers of what is used and what is under way; offsets of a row share them."""
    inner = nest.loops[-1].range.dim
    found: dict[tuple[str, object, object], list[int]] = {}
    for row in asked:
        load = nest.body[row]
        assert isinstance(load, Load)
        axis = load.dims.index(inner)
        others = tuple(offset for at, offset in enumerate(load.offsets) if at != axis)
        found.setdefault((load.buffer, load.rows, others), []).append(load.offsets[axis])
    return sum(
        -(-ITEMSIZES[buffers[name].dtype] // 4) * (2 * levels + max(along) - min(along))
        for (name, _, _), along in found.items()
    )


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
    needed: set[Row] = set()
    pending = [row]
    while pending:
        place = pending.pop()
        each = nest.body[place]
        if each.level < len(nest.loops) or place in needed:
            continue
        if not isinstance(each, Compute | Index | Number | Constant):
            return None
        needed.add(place)
        pending += each.operands
    return tuple(sorted(needed))
