"""What both stages that let DaCe write the code have in common: options, the run, SDFGs to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from ....runtime.fields.device import DeviceType
from ....runtime.process import classes
from ...artifacts import Generated, Interface, Lowered, Variant
from ...base import Artifact, Stage
from ...option_kinds import FLAG, SECONDS, TEXTS, option, whole
from ..options import CodegenOptions
from .pass_list import DACE_PASSES, FUSION, FUSIONS, SDFG_PASSES, SdfgPass
from .settings import dace_version

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..schedule.rules import Rules
    from .loops import SdfgLoops, SdfgRules
    from .source import SdfgSource
    from .tasklet import Style


@classes.frozen(kw_only=True)
class SdfgStage(CodegenOptions, Stage):
    """A stage that makes an SDFG and lets DaCe write its code.

    Attributes:
        fusion: 'schedule' lets our cost model choose the values that become arrays; with 'dace'
            every used value becomes one, and DaCe's passes fuse the maps.
        auto_optimize: whether the passes run.
        passes: DaCe's transformations in their order: names of ours, functions of the user's.
        blocking_dims: names of the dimensions that pass 'block' cuts; on a GPU, a thread computes
            a block.
        blocking_size: how many indices a block has.
        unroll_scans: how often pass 'unroll_scans' unrolls loops over levels; not at all if 0.
        most_applications: a pass that is applied more often is undone, with a warning.
        most_nodes: a pass that leaves more nodes is undone, with a warning.
        pass_seconds: a function in `passes` that takes longer ends the build; 0 is no limit.
        gt4py_hooks: names of functions in `passes` that were written for SDFGs of gt4py; one that
            fails on ours is left out, with a warning.

    """

    backend: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "generated": Generated,
        "interface": Interface,
    }

    fusion: str = option(FUSION, "schedule", tune=FUSIONS)
    auto_optimize: bool = option(FLAG, True)
    passes: tuple[SdfgPass, ...] = option(SDFG_PASSES, DACE_PASSES)
    blocking_dims: tuple[str, ...] = option(TEXTS, ())
    blocking_size: int = option(whole(1), 10, tune=[4, 10, 32])
    unroll_scans: int = option(whole(0, 1024), 0, tune=[0, 2, 4])
    most_applications: int = option(whole(), 1000)
    most_nodes: int = option(whole(), 100_000)
    pass_seconds: float = option(SECONDS, 600.0, eq=False)
    gt4py_hooks: tuple[str, ...] = option(TEXTS, ())

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return DaCe's source with our entry point, and the interface."""
        from ..interface import describe
        from ..rows.checks import codes, statuses

        loops, rules = self._planned(lowered, variant)
        written = self._written(loops, rules)
        loops = written.loops
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
        interface = attrs.evolve(interface, workspace=written.workspace)
        if self.checked and rules.grid is not None:
            interface = attrs.evolve(interface, codes=codes(loops.kernel))
        made = Generated(
            self._language(), written.source, written.listing, self._flags(written.source)
        )
        return {"generated": made, "interface": interface}

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

    def _sdfg_rules(self, schedule: Rules, style: Style, **own: Any) -> SdfgRules:
        """Return the options of an SDFG; `own` are those of one platform."""
        from .loops import SdfgRules
        from .transformations import PassSettings

        settings = PassSettings(
            block_size=self.blocking_size,
            unroll=self.unroll_scans,
            most_applications=self.most_applications,
            most_nodes=self.most_nodes,
            gt4py_hooks=self.gt4py_hooks,
            seconds=self.pass_seconds,
        )
        passes = self.passes if self.auto_optimize else ()
        return SdfgRules(schedule, style, passes, self.blocking_dims, settings, **own)

    # --- what a platform says -------------------------------------------------------------------

    def _rules(self, arrays: tuple[str, ...]) -> SdfgRules:
        """Return the options of the SDFG, with the values that become arrays."""
        raise NotImplementedError

    def _written(self, loops: SdfgLoops, rules: SdfgRules) -> SdfgSource:
        raise NotImplementedError

    def _language(self) -> str:
        raise NotImplementedError

    def _flags(self, source: str) -> tuple[str, ...]:
        raise NotImplementedError

    def _device(self) -> DeviceType:
        raise NotImplementedError
