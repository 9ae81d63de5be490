"""Unswitch loops of adjoints: most threads have code without conditions.

A thread at a point that lies inside of all boxes, and whose neighbours are all there, takes a body
that tests nothing; the others take the one with all tests. `usual.py` says what is usual.
"""

from __future__ import annotations

from collections.abc import Iterator

from .....runtime.process import classes
from ....ir.loops import Compute, Index, Kernel, Nest, Number, Row, with_nests
from ....ir.loops.gpu import marked
from ...mesh.values import needed
from ...pass_list import Rules
from ...schedule.usual import likely_listed, settled, with_entries


def unswitch(kernel: Kernel, rules: Rules) -> Kernel:
    """Mark the nests that are shorter where all conditions have their usual values."""
    return with_nests(kernel, _unswitched) if rules.many_outputs and not rules.checked else kernel


def _unswitched(nest: Nest) -> Nest:
    if nest.states or nest.parts or all(loop.kind != "thread" for loop in nest.loops):
        return nest
    is_shorter = any(usual_of(nest)) and len(settled_nest(nest).body) < len(needed(nest.body))
    return marked(nest, usual=True) if is_shorter else nest


def settled_nest(nest: Nest) -> Nest:
    """Return a nest for points that have the usual conditions."""
    rows, _ = settled(nest.body, dict(usual_of(nest)))
    return classes.evolve(nest, body=needed(rows))


def usual_of(nest: Nest) -> Iterator[tuple[Row, bool]]:
    """Yield the conditions that most points have: they lie inside of boxes."""
    index = {}
    for row, each in enumerate(nest.body):
        if isinstance(each, Compute) and each.op in ("ge", "lt"):
            at, bound = (nest.body[arg] for arg in each.args)
            if isinstance(at, Index) and isinstance(bound, Number):
                index[row] = likely_listed(nest, each) is not False
    return with_entries(nest, index)
