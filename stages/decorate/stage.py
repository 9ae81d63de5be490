"""Load a compiled library and join it with its argument plan: the entry that programs call."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import attrs

from ...runtime import _core
from ...runtime.settings import current
from ..artifacts import Bound, Compiled
from ..base import Artifact, Stage

LIBRARIES = "libraries"


@attrs.frozen
class Load(Stage):
    """Make the native entry of one variant.

    Attributes:
        directory: where libraries are written before they are loaded; None takes
            the cache folder of the settings.

    """

    name: ClassVar[str] = "decorate"
    needs: ClassVar[tuple[str, ...]] = ("bound", "compiled")
    # An entry holds an address of this process: it is handed on, never stored.
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"entry": cast(Any, _core.Entry)}
    cache: ClassVar[Literal["disk", "memory", "never"]] = "never"

    directory: Path | None = attrs.field(default=None, eq=False)

    def run(self, *, bound: Bound, compiled: Compiled) -> Mapping[str, Any]:  # type: ignore[override]
        """Load the library, or find it loaded."""
        from ...runtime.loader import load_library

        directory = self.directory or current().cache_dir / LIBRARIES
        return {"entry": load_library(compiled.library, directory).entry(bound.plan)}
