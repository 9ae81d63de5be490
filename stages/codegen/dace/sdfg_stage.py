"""What both stages that let DaCe write the code have in common: the run, SDFGs to read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from ....runtime.process import DeviceType, classes
from ... import Artifact, Generated, Interface, Lowered, Stage, Variant
from .options import DaceOptions
from .settings import dace_version

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from .generators import Written
    from .loops import SdfgLoops, SdfgRules
    from .names import SdfgNames
    from .source import DaceText


@classes.frozen(kw_only=True)
class SdfgStage(DaceOptions, Stage):
    """A stage that makes an SDFG and lets DaCe write its code."""

    backend: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "generated": Generated,
        "interface": Interface,
    }

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return DaCe's source with our entry point, and the interface."""
        from ..interface import describe
        from ..rows.checks import codes, statuses
        from .source import dace_text

        planned, rules = self._planned(lowered, variant)
        text = dace_text(planned, rules, partial(self._write, rules))
        loops = text.loops
        interface = describe(
            lowered.program,
            loops.kernel,
            loops.groups,
            self.backend,
            self._device(),
            # a call with `domain=` compares the domains, not the ranges of the fields
            () if variant.domain else variant.alike,
            statuses(loops.kernel, loops.clamping) if self.checked else (),
            clamping=loops.clamping,
            in_steps=True,
        )
        has_codes = self.checked and rules.grid is not None
        interface = classes.evolve(
            interface,
            workspace=text.workspace,
            codes=codes(loops.kernel) if has_codes else (),
        )
        return {"generated": self._generated(text, rules), "interface": interface}

    def after_passes(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, str]:  # type: ignore[override]
        """Return the listing of the SDFG before the passes, and after each."""
        from .source import after_passes

        return after_passes(*self._planned(lowered, variant), as_pages=False)

    def pages_after_passes(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, str]:  # type: ignore[override]
        """Return the same as pages for DaCe's viewer."""
        from .source import after_passes

        return after_passes(*self._planned(lowered, variant), as_pages=True)

    def environment(self) -> Mapping[str, str]:
        """Return the version of DaCe, found without importing it."""
        return {"dace": dace_version()}

    def _planned(self, lowered: Lowered, variant: Variant) -> tuple[SdfgLoops, SdfgRules]:
        """Return the loops, and the options of the SDFG."""
        from .loops import sdfg_loops

        dace_version()  # the error says how to install DaCe
        arrays = self.arrays
        if self.fusion == "dace":  # it fuses what has dimensions
            values = lowered.program.values
            arrays += tuple(f"%{row}" for row, each in enumerate(values) if each.dims)
        rules = self._rules(arrays)
        return sdfg_loops(lowered, variant, rules), rules

    # --- what a platform says -------------------------------------------------------------------

    def _rules(self, arrays: tuple[str, ...]) -> SdfgRules:
        """Return the options of the SDFG, with the values that become arrays."""
        raise NotImplementedError

    def _write(self, rules: SdfgRules, sdfg: Any, names: SdfgNames) -> Written:
        """Let the generators of a platform write an SDFG."""
        raise NotImplementedError

    def _generated(self, text: DaceText, rules: SdfgRules) -> Generated:
        """Return the source around DaCe's text, with its language and flags."""
        raise NotImplementedError

    def _device(self) -> DeviceType:
        raise NotImplementedError
