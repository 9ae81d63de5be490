"""Choose the outputs that are written with non-temporal stores.

An ordinary store to a line that is not in cache first reads the line. For an output that nothing
reads again, this read is a third of the memory traffic. Calls that touch more bytes than the
last-level cache holds use non-temporal stores for such rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .....runtime.language.dimension import Dimension
from ....ir.loops.cpu import marked, with_rows
from ....ir.loops.kernel import Kernel
from ....ir.loops.nest import Load, Nest, Store
from ....ir.loops.traverse import accesses, arrays_of
from ...schedule.costs import ITEMSIZES
from ...schedule.rules import Rules

# Bytes of the smallest element: a strip has one point for each that fits a register.
SMALLEST: Final = 4
# A core writes parts of few lines at a time; of four outputs at once, each line went out in pieces,
# and an adjoint took 2.5 times as long (EPYC).
FEW: Final = 2


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
    most = FEW if rules.many_outputs else len(fields)
    return with_rows(kernel, lambda nest: _streaming(nest, fields, most))


def _streaming(nest: Nest, fields: Mapping[str, Dimension | None], most: int) -> Nest:
    """Mark the fields of which a nest stores whole rows, none if they are more than `most`."""
    inner = nest.loops[-1].range.dim
    stored = dict.fromkeys(row.buffer for row in accesses(nest, Store))
    found = tuple(name for name in stored if fields.get(name) is inner)
    return marked(nest, streams=found if len(found) <= most else ())
