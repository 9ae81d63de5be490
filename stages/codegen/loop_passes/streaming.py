"""Choose the outputs that are written with non-temporal stores.

An ordinary store to a line that is not in cache first reads the line. For an output that nothing
reads again, this read is a third of the memory traffic. Calls that touch more bytes than the
last-level cache holds use non-temporal stores for such rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from ....runtime.language.dimension import Dimension
from ...ir.flat_kernel import Kernel
from ...ir.nests import Load, Nest, Store
from ..on_lists import on_lists
from ..schedule.costs import ITEMSIZES
from ..schedule.rules import Rules

# Bytes of the smallest element: a strip has one point for each that fits a register.
SMALLEST: Final = 4


@on_lists
def stream(kernel: Kernel, rules: Rules) -> Kernel:
    """Mark in each nest the fields that non-temporal stores may write."""
    if not rules.target.can_stream:
        return kernel
    read = {row.buffer for nest in kernel.nests for row in nest.body if isinstance(row, Load)}
    fields = {
        buffer.name: buffer.unit
        for buffer in kernel.buffers
        if buffer.memory == "field"
        and buffer.name not in read
        and ITEMSIZES[buffer.dtype] >= SMALLEST
    }
    return attrs.evolve(kernel, nests=tuple(_marked(nest, fields) for nest in kernel.nests))


def _marked(nest: Nest, fields: Mapping[str, Dimension | None]) -> Nest:
    """Mark the fields of which a nest stores whole rows."""
    if len(nest.loops) < 2 or nest.loops[-1].kind != "vector":
        return nest
    inner = nest.loops[-1].range.dim
    stored = (row.buffer for row in nest.body if isinstance(row, Store))
    names = tuple(name for name in dict.fromkeys(stored) if fields.get(name) is inner)
    return attrs.evolve(nest, streams=names)
