"""Let the quotients of a nest that divide by one number share its reciprocal, on a GPU.

A division takes a GPU ten instructions, most of them for the reciprocal. The values are those of
the divisions: `stages/codegen/gpu/quotients.py` says how.
"""

from __future__ import annotations

from collections import Counter

import attrs

from ...ir.flat_kernel import Kernel
from ...ir.nests import Compute, Nest
from ..on_lists import on_lists
from ..schedule.rules import Rules


@on_lists
def share_reciprocals(kernel: Kernel, _: Rules) -> Kernel:
    """Note in each nest whether several of its quotients have one divisor."""
    nests = (attrs.evolve(nest, shares_reciprocals=_shares(nest)) for nest in kernel.nests)
    return attrs.evolve(kernel, nests=tuple(nests))


def _shares(nest: Nest) -> bool:
    divisors = Counter(
        row.args[1] for row in nest.body if isinstance(row, Compute) and row.op == "div"
    )
    # the points of a thread may share a divisor that one point uses once
    return any(count > 1 for count in divisors.values()) or bool(divisors and nest.each)
