"""The passes after a derivative: drop what is not needed, contract, infer boxes."""

from __future__ import annotations

from collections.abc import Sequence

from ..artifacts import Lowered
from ..ir.dataflow import Body, Dataflow
from ..ir.verify import verify
from ..lower.boxes.infer_boxes import infer_boxes
from ..lower.contract import contract
from ..lower.push_shifts import join_shifts
from ..lower.rewrite import remove_dead, without_dead
from ..lower.split_regions import split_regions
from .combining import with_combined_results
from .flags import flagged
from .live_states import with_live_states
from .merging import merged
from .names import Weights
from .weighing import with_weights


def finished(
    program: Dataflow,
    numerics: str,
    forward: int = 0,
    bodies: frozenset[Body] = frozenset(),
    weights: Sequence[Weights] = (),
) -> Lowered:
    """Return a derivative as `lower` would have made it.

    Its first rows, as many as `forward`, are those of the program, and so are rows in `bodies`: no
    sum of these is contracted, so they keep their bits, and the derivative takes the branches that
    the program takes. `weights` are given along transposed tables, too.
    """
    program, rows = without_dead(program)
    if numerics != "strict":
        kept = frozenset(new for old, new in rows.items() if old < forward)
        program = contract(program, kept, bodies)
    if forward:
        program = with_combined_results(remove_dead(merged(program)))
        program = with_live_states(remove_dead(program))
        program = with_weights(join_shifts(flagged(program)), weights)
        program = remove_dead(split_regions(program, _along_elements(program)))
    return verify(infer_boxes(verify(Lowered(program)).program))


def _along_elements(program: Dataflow) -> frozenset[str]:
    """Return the fields along elements of a mesh alone: their loops need no part for each box.

    Stored on all elements, outputs share a loop and what it looks up.
    """
    ends = {dim for table in program.tables for dim in (table.source, table.target)}
    return frozenset(
        leaf.name for leaf in program.leaves if len(leaf.dims) == 1 and ends.issuperset(leaf.dims)
    )
