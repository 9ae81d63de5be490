"""Load a compiled library and join it with its argument plan: the entry that programs call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from ...runtime import _core
from ...runtime.process import classes
from ...runtime.process.settings import TIERS, current
from ..artifacts import Bound, Compiled
from ..base import Artifact, Stage
from ..option_kinds import PATH, SECONDS, one_of, option, optional, whole

LIBRARIES = "libraries"
MOST_THREADS = 1 << 16


@classes.frozen
class Load(Stage):
    """Make the native entry of one variant.

    Attributes:
        directory: the folder of the library files; by default the settings' folder of this node,
            and memory where that folder cannot be used.
        threads: the default number of threads of a call; 0 for that of the process.
        tiers: what runs calls: 'compiled' code, for which the first call waits; 'rows', the first
            tier; 'both', the first tier until compiled code is there. None takes the setting.
        build_after: seconds that a variant runs on the first tier before its build begins; None
            takes the setting.

    """

    name: ClassVar[str] = "decorate"
    needs: ClassVar[tuple[str, ...]] = ("bound", "compiled")
    # An entry holds addresses of this process, so the store never keeps it.
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"entry": cast(Any, _core.Entry)}
    cache: ClassVar[Literal["disk", "memory", "never"]] = "never"

    directory: Path | None = option(optional(PATH), None, eq=False)
    threads: int = option(whole(0, MOST_THREADS), 0, eq=False)
    tiers: str | None = option(optional(one_of(TIERS)), None, eq=False)
    build_after: float | None = option(optional(SECONDS), None, eq=False)

    def run(self, *, bound: Bound, compiled: Compiled) -> Mapping[str, Any]:  # type: ignore[override]
        """Load the library, or find it loaded."""
        from ...runtime.calls.loader import load_library

        directory = self.directory or current().local_dir / LIBRARIES
        library = load_library(compiled.library, directory, or_memory=self.directory is None)
        return {"entry": library.entry(bound.plan, self.threads)}
