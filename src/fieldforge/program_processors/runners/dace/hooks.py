"""The places in gt4py's optimiser that call hooks of the user."""

import enum


class GT4PyAutoOptHook(enum.StrEnum):
    """The place of a hook: before the fusion of maps, after it, or at the end.

    There is no place for the callbacks by which gt4py decides whether to fuse two maps.
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
