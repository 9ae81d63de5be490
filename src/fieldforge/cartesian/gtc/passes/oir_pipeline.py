"""Counterpart of `gt4py.cartesian.gtc.passes.oir_pipeline`."""

from ....workflows.cartesian.oir_passes import PASSES, DefaultPipeline, OirPipeline

AdjacentLoopMerging = PASSES["AdjacentLoopMerging"]
HorizontalExecutionMerging = PASSES["HorizontalExecutionMerging"]
OnTheFlyMerging = PASSES["OnTheFlyMerging"]
LocalTemporariesToScalars = PASSES["LocalTemporariesToScalars"]
WriteBeforeReadTemporariesToScalars = PASSES["WriteBeforeReadTemporariesToScalars"]
MaskStmtMerging = PASSES["MaskStmtMerging"]
MaskInlining = PASSES["MaskInlining"]
UnreachableStmtPruning = PASSES["UnreachableStmtPruning"]
NoFieldAccessPruning = PASSES["NoFieldAccessPruning"]
IJCacheDetection = PASSES["IJCacheDetection"]
KCacheDetection = PASSES["KCacheDetection"]
PruneKCacheFills = PASSES["PruneKCacheFills"]
PruneKCacheFlushes = PASSES["PruneKCacheFlushes"]

__all__ = [
    "AdjacentLoopMerging",
    "DefaultPipeline",
    "HorizontalExecutionMerging",
    "IJCacheDetection",
    "KCacheDetection",
    "LocalTemporariesToScalars",
    "MaskInlining",
    "MaskStmtMerging",
    "NoFieldAccessPruning",
    "OirPipeline",
    "OnTheFlyMerging",
    "PruneKCacheFills",
    "PruneKCacheFlushes",
    "UnreachableStmtPruning",
    "WriteBeforeReadTemporariesToScalars",
]
