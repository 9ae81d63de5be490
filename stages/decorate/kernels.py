"""Join compiled kernels with their argument plan: the entry that programs for a GPU call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from ...runtime import _core
from ...runtime.process import classes
from ...runtime.process.settings import current
from ..artifacts import Bound, Compiled
from ..base import Artifact, Stage
from ..option_kinds import PATH, option, optional
from .stage import LIBRARIES


@classes.frozen
class LoadKernels(Stage):
    """Make the native entry of one variant; a device loads the kernels at its first call.

    Attributes:
        directory: the folder of the libraries of the null platform; by default the settings'
            folder of this node.

    """

    name: ClassVar[str] = "load_kernels"
    needs: ClassVar[tuple[str, ...]] = ("bound", "compiled")
    # An entry holds addresses of this process, so the store never keeps it.
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"entry": cast(Any, _core.Entry)}
    cache: ClassVar[Literal["disk", "memory", "never"]] = "never"

    directory: Path | None = option(optional(PATH), None, eq=False)

    def run(self, *, bound: Bound, compiled: Compiled) -> Mapping[str, Any]:  # type: ignore[override]
        """Pass plan and module to the core; this touches no driver yet."""
        from ...runtime.gpu.watching import watch

        watch(bound.plan.platform)
        if bound.plan.platform == "null":
            from ...runtime.process.library_file import place_library

            directory = self.directory or current().local_dir / LIBRARIES
            library = os.fsencode(place_library(compiled.library, directory))
            return {"entry": _core.Entry(bound.plan, 0, (("host", library),))}
        from ...runtime.calls.images import unpack_images

        images = tuple(unpack_images(compiled.library).items())
        return {"entry": _core.Entry(bound.plan, 0, images)}
