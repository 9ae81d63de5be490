"""Let a GPU divide by products with reciprocals; quotients by one number share it.

A division takes a GPU ten instructions, most of them for the reciprocal, and a call where the
dividend is 0. The values are those of the divisions: `stages/codegen/gpu/text/lines.py` says
how.
"""

from __future__ import annotations

from collections import Counter

from ....ir.loops import Compute, Kernel, Nest, with_nests
from ....ir.loops.gpu import marked
from ...pass_list import Rules


def share_reciprocals(kernel: Kernel, _: Rules) -> Kernel:
    """Note which nests divide so: scans where several quotients have one divisor, all others."""
    return with_nests(
        kernel, lambda nest: marked(nest, reciprocals=True) if _shares(nest) else nest
    )


def _shares(nest: Nest) -> bool:
    divisors = Counter(
        row.args[1] for row in nest.body if isinstance(row, Compute) and row.op == "div"
    )
    return any(count > (1 if nest.states else 0) for count in divisors.values())
