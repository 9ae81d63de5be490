"""Counterpart of `gt4py.cartesian.gtc.passes.oir_pipeline`."""

from ....workflows.cartesian.oir_passes import PASSES, DefaultPipeline, OirPipeline

(
    AdjacentLoopMerging,
    HorizontalExecutionMerging,
    OnTheFlyMerging,
    LocalTemporariesToScalars,
    WriteBeforeReadTemporariesToScalars,
    MaskStmtMerging,
    MaskInlining,
    UnreachableStmtPruning,
    NoFieldAccessPruning,
    IJCacheDetection,
    KCacheDetection,
    PruneKCacheFills,
    PruneKCacheFlushes,
) = PASSES.values()

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
