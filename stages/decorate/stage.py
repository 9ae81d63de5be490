"""Join compiled code or an encoded program with its argument plan: the entry that programs call."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

from ...runtime import _core
from ...runtime.process import TIERS, classes, current
from .. import (
    PATH,
    SECONDS,
    Artifact,
    Bound,
    Compiled,
    Encoded,
    Stage,
    one_of,
    option,
    optional,
    whole,
)

LIBRARIES = "libraries"
MOST_THREADS = 1 << 16


class Joining(Stage):
    """A stage whose entry holds addresses and kernels of this process: the store never keeps it."""

    provides: ClassVar[Mapping[str, type[Artifact]]] = {"entry": cast(Any, _core.Entry)}
    cache: ClassVar[Literal["disk", "memory", "never"]] = "never"


@classes.frozen
class Load(Joining):
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


@classes.frozen
class LoadKernels(Joining):
    """Make the native entry of one variant; a device loads the kernels at its first call.

    Attributes:
        directory: the folder of the libraries of the null platform; by default the settings'
            folder of this node.

    """

    name: ClassVar[str] = "load_kernels"
    needs: ClassVar[tuple[str, ...]] = ("bound", "compiled")

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


@classes.frozen
class LoadRows(Joining):
    """Make the native entry of one variant.

    Attributes:
        threads: the default number of threads of a call; 0 for that of the process.

    """

    name: ClassVar[str] = "load_rows"
    needs: ClassVar[tuple[str, ...]] = ("bound", "encoded")

    threads: int = option(whole(0, MOST_THREADS), 0, eq=False)

    def run(self, *, bound: Bound, encoded: Encoded) -> Mapping[str, Any]:  # type: ignore[override]
        """Choose the kernels for this processor."""
        rows = _core.Rows(encoded.program)
        return {"entry": _core.Entry(bound.plan, 0, rows, threads=self.threads)}
