"""Choose the outputs that are written with non-temporal stores.

An ordinary store to a line that is not in cache first reads the line. For an output that nothing
reads again, this read is a third of the memory traffic. Calls that touch more bytes than the
last-level cache holds use non-temporal stores for such rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .....runtime.language import Dimension
from ....ir.loops import (
    ITEMSIZES,
    Kernel,
    Load,
    Nest,
    Store,
    accesses,
    arrays_of,
    marked,
    with_rows,
)
from ...pass_list import Rules

# Bytes of the smallest element: a strip has one point for each that fits a register.
SMALLEST: Final = 4


def stream(kernel: Kernel, rules: Rules) -> Kernel:
    """Mark in each nest the fields that non-temporal stores may write."""
    if not rules.target.can_stream:
        return kernel
    read = arrays_of(kernel, Load)
    fields = {
        buffer.name: buffer.unit
        for buffer in kernel.buffers
        if buffer.memory == "field"
        and buffer.name not in read
        and ITEMSIZES[buffer.dtype] >= SMALLEST
    }
    return with_rows(kernel, lambda nest: _streaming(nest, fields))


def _streaming(nest: Nest, fields: Mapping[str, Dimension | None]) -> Nest:
    """Mark the fields of which a nest stores whole rows."""
    inner = nest.loops[-1].range.dim
    stored = dict.fromkeys(row.buffer for row in accesses(nest, Store))
    return marked(nest, streams=tuple(name for name in stored if fields.get(name) is inner))
