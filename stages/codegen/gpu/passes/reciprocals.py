"""Let the quotients of a nest that divide by one number share its reciprocal, on a GPU.

A division takes a GPU ten instructions, most of them for the reciprocal. The values are those of
the divisions: `stages/codegen/gpu/text/quotients.py` says how.
"""

from __future__ import annotations

from collections import Counter

from ....ir.loops.gpu import marked, marks_of
from ....ir.loops.kernel import Kernel
from ....ir.loops.nest import Compute, Nest
from ....ir.loops.traverse import with_nests
from ...schedule.rules import Rules


def share_reciprocals(kernel: Kernel, _: Rules) -> Kernel:
    """Note in each nest whether several of its quotients have one divisor."""
    return with_nests(
        kernel, lambda nest: marked(nest, reciprocals=True) if _shares(nest) else nest
    )


def _shares(nest: Nest) -> bool:
    divisors = Counter(
        row.args[1] for row in nest.body if isinstance(row, Compute) and row.op == "div"
    )
    # the points of a thread may share a divisor that one point uses once
    return any(count > 1 for count in divisors.values()) or bool(divisors and marks_of(nest).points)
