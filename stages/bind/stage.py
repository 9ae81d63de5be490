"""Turn the interface of generated code into an argument plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from ..artifacts import Bound, Interface
from ..base import Artifact, Stage


@attrs.frozen
class Bind(Stage):
    """Write strides, bounds and checks as data for the native core."""

    name: ClassVar[str] = "bind"
    needs: ClassVar[tuple[str, ...]] = ("interface",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"bound": Bound}

    def run(self, *, interface: Interface) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return the plan."""
        from .plans import plan_of

        return {"bound": Bound(plan_of(interface))}
