"""Turn the interface of generated code into an argument plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ...runtime.process import classes
from .. import Artifact, Bound, Interface, Stage


@classes.frozen
class Bind(Stage):
    """Write strides, bounds and checks as data for the native core."""

    name: ClassVar[str] = "bind"
    is_awaited: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = ("interface",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"bound": Bound}

    def run(self, *, interface: Interface) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return the plan."""
        from .plans import plan_of

        return {"bound": Bound(plan_of(interface))}
