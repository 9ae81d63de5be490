"""The passes over gt4py's optimisation IR by name; they do nothing, as fieldforge has its own.

Clients name them to skip some: `DefaultPipeline(skip=[...])`, given to `stencil(oir_pipeline=...)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

NAMES: Final = (
    "AdjacentLoopMerging", "HorizontalExecutionMerging", "OnTheFlyMerging",
    "LocalTemporariesToScalars", "WriteBeforeReadTemporariesToScalars", "MaskStmtMerging",
    "MaskInlining", "UnreachableStmtPruning", "NoFieldAccessPruning", "IJCacheDetection",
    "KCacheDetection", "PruneKCacheFills", "PruneKCacheFlushes",
)  # fmt: skip


class OirPass:
    """A pass that returns its program."""

    def visit(self, node: Any, **_: Any) -> Any:
        """Return the program unchanged."""
        return node


PASSES: Final = {
    name: type(name, (OirPass,), {"__doc__": "A pass of gt4py.", "__module__": __name__})
    for name in NAMES
}


class OirPipeline:
    """A list of passes."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def run(self, oir: Any) -> Any:
        """Return the program unchanged."""
        return oir


class DefaultPipeline(OirPipeline):
    """All passes but some.

    >>> pipeline = DefaultPipeline(skip=[PASSES["MaskInlining"]])
    >>> len(DefaultPipeline.all_steps()), len(pipeline.steps)
    (13, 12)
    """

    def __init__(self, skip: Sequence[Any] = (), add_steps: Sequence[Any] = ()) -> None:
        self.skip = list(skip)
        self.add_steps = list(add_steps)

    def __repr__(self) -> str:
        skipped = ", ".join(sorted(getattr(each, "__name__", str(each)) for each in self.skip))
        return f"DefaultPipeline(skip=[{skipped}])"

    @property
    def steps(self) -> list[Any]:
        """The passes that are not skipped."""
        return [each for each in (*self.all_steps(), *self.add_steps) if each not in self.skip]

    @staticmethod
    def all_steps() -> list[Any]:
        """Return all passes in order."""
        return list(PASSES.values())
