"""The places in gt4py's optimiser where hooks of the user are called."""

import enum


class GT4PyAutoOptHook(enum.StrEnum):
    """Where a hook goes: before maps are fused, after, and when all is done.

    The callbacks that gt4py asks whether it may fuse two maps have no place here.
    """

    TopLevelDataFlowPre = "TopLevelDataFlowPre"
    TopLevelDataFlowMapFusionVerticalCallBack = "TopLevelDataFlowMapFusionVerticalCallBack"
    TopLevelDataFlowMapFusionHorizontalCallBack = "TopLevelDataFlowMapFusionHorizontalCallBack"
    TopLevelDataFlowMapPromotionCallBack = "TopLevelDataFlowMapPromotionCallBack"
    TopLevelDataFlowVerticalSplitCallBack = "TopLevelDataFlowVerticalSplitCallBack"
    TopLevelDataFlowHorizontalSplitCallBack = "TopLevelDataFlowHorizontalSplitCallBack"
    TopLevelDataFlowStep = "TopLevelDataFlowStep"
    TopLevelDataFlowPost = "TopLevelDataFlowPost"
    AfterToGPU = "AfterToGPU"
