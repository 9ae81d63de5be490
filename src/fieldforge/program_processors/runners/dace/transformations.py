"""What models use of gt4py's DaCe transformations: the names of the places where hooks went.

Hooks that edit the graph have no place here: `make_dace_backend` takes them and does not call
them, because our DaCe backend gets its schedule from our own cost model.
"""

import enum

__all__ = ["GT4PyAutoOptHook"]


class GT4PyAutoOptHook(enum.StrEnum):
    """Places in gt4py's optimiser."""

    TopLevelDataFlowPre = "TopLevelDataFlowPre"
    TopLevelDataFlowStep = "TopLevelDataFlowStep"
    TopLevelDataFlowPost = "TopLevelDataFlowPost"
