"""The passes after a derivative: drop what is not needed, contract, infer boxes."""

from __future__ import annotations

from ..artifacts import Lowered
from ..ir.dataflow import Dataflow
from ..ir.verify import verify
from ..lower.boxes.infer_boxes import infer_boxes
from ..lower.contract import contract
from ..lower.remove_dead import remove_dead


def finished(program: Dataflow, numerics: str) -> Lowered:
    """Return a derivative as `lower` would have made it."""
    program = remove_dead(program)
    if numerics != "strict":
        program = contract(program)
    return verify(infer_boxes(verify(Lowered(program)).program))
