"""The last stage of a backend that this version cannot build: it raises the error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NoReturn, cast

import attrs

from ...runtime import _core
from ...runtime.process.errors import DeviceError
from ...stages.base import Artifact, Stage


@attrs.frozen
class Refuse(Stage):
    """Raise the error that there is no code for a machine, when a build needs it.

    Models can therefore name, compare and select the backend, as they do at import.
    """

    name: ClassVar[str] = "refuse"
    needs: ClassVar[tuple[str, ...]] = ("lowered",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"entry": cast(Any, _core.Entry)}
    cache: ClassVar[Literal["disk", "memory", "never"]] = "never"

    backend: str = "gpu"
    instead: str = "cpu"

    def run(self, **_: Any) -> NoReturn:
        """Raise the error."""
        raise DeviceError(
            f"Backend '{self.backend}' cannot build programs in this version.",
            hints=[f"Select '{self.instead}' with 'with_backend'."],
        )
