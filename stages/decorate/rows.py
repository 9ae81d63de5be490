"""Join an encoded program with its argument plan: an entry that the native core interprets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, cast

from ...runtime import _core
from ...runtime.process import classes
from ..artifacts import Bound, Encoded
from ..base import Artifact, Stage
from ..option_kinds import option, whole
from .stage import MOST_THREADS


@classes.frozen
class LoadRows(Stage):
    """Make the native entry of one variant.

    Attributes:
        threads: the default number of threads of a call; 0 for that of the process.

    """

    name: ClassVar[str] = "load_rows"
    needs: ClassVar[tuple[str, ...]] = ("bound", "encoded")
    # The kernels are those of this processor, so the store never keeps an entry.
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"entry": cast(Any, _core.Entry)}
    cache: ClassVar[Literal["disk", "memory", "never"]] = "never"

    threads: int = option(whole(0, MOST_THREADS), 0, eq=False)

    def run(self, *, bound: Bound, encoded: Encoded) -> Mapping[str, Any]:  # type: ignore[override]
        """Choose the kernels for this processor."""
        rows = _core.Rows(encoded.program)
        return {"entry": _core.Entry(bound.plan, 0, rows, threads=self.threads)}
