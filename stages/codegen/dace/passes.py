"""DaCe's own passes that we run, each once and in one order."""

from __future__ import annotations

from typing import Any, Final

# What DaCe calls 'simplify', but for the passes that would undo decisions of the schedule
# (the order of states keeps what is read from being overwritten, also where two
# arguments of a call are one memory, which an SDFG cannot say) and that which takes minutes.
LEFT_OUT: Final = ("FuseStates", "LiftTrivialIf")


def simplify(sdfg: Any) -> None:
    """Simplify an SDFG in place, and check that it is a valid one."""
    from dace.transformation.pass_pipeline import Pipeline
    from dace.transformation.passes import simplify as simplification

    passes = [kind() for kind in simplification.SIMPLIFY_PASSES if kind.__name__ not in LEFT_OUT]
    Pipeline(passes).apply_pass(sdfg, {})
    sdfg.validate()
