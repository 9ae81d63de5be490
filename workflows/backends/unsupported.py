"""A stage that refuses: it ends the workflow of a backend that this version cannot build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NoReturn, cast

import attrs

from ...runtime import _core
from ...runtime.process.errors import DeviceError
from ...stages.base import Artifact, Stage


@attrs.frozen
class Refuse(Stage):
    """Say that there is no code for a machine, when code for it is asked for.

    So the backend may be named, compared and selected anywhere, as models do at import.
    """

    name: ClassVar[str] = "refuse"
    needs: ClassVar[tuple[str, ...]] = ("lowered",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"entry": cast(Any, _core.Entry)}
    cache: ClassVar[Literal["disk", "memory", "never"]] = "never"

    backend: str = "gpu"
    instead: str = "cpu"

    def run(self, **_: Any) -> NoReturn:
        """Refuse."""
        raise DeviceError(
            f"Backend '{self.backend}' cannot build programs in this version.",
            hints=[f"Select '{self.instead}' with 'with_backend'."],
        )
