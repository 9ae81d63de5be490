"""What stages that let DaCe write the code have in common: SDFGs after each pass, and the key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....runtime.process import classes
from ...artifacts import Lowered, Variant
from ...base import Stage
from .settings import dace_version

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ...ir.flat_kernel import Kernel
    from .source import Plan


@classes.frozen
class SdfgStage(Stage):
    """A stage that plans an SDFG: subclasses say how, from their options."""

    def after_passes(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, str]:  # type: ignore[override]
        """Return the listing of the SDFG before the passes, and after each."""
        return self._after_passes(lowered, variant, as_pages=False)

    def pages_after_passes(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, str]:  # type: ignore[override]
        """Return the same as pages for DaCe's viewer."""
        return self._after_passes(lowered, variant, as_pages=True)

    def _after_passes(
        self, lowered: Lowered, variant: Variant, *, as_pages: bool
    ) -> Mapping[str, str]:
        from .source import after_passes

        kernel, _, plan = self._planned(lowered, variant)
        return after_passes(kernel, plan, as_pages=as_pages)

    def _planned(self, lowered: Lowered, variant: Variant) -> tuple[Kernel, Any, Plan]:
        """Return the loops, the groups of stores, and the options of the SDFG."""
        from .source import with_loops

        return with_loops(lowered, variant, self._plan(lowered))

    def _plan(self, lowered: Lowered) -> Plan:
        raise NotImplementedError

    def _arrays(self, lowered: Lowered, chosen: tuple[str, ...], fusion: str) -> tuple[str, ...]:
        """Return the values that become arrays; where DaCe fuses, all that have dimensions."""
        if fusion != "dace":
            return chosen
        values = lowered.program.values
        return (*chosen, *(f"%{row}" for row, each in enumerate(values) if each.dims))

    def environment(self) -> Mapping[str, str]:
        """Return the version of DaCe, found without importing it."""
        return {"dace": dace_version()}
