"""Schedule a program for a CPU, hand it to DaCe as an SDFG, and take DaCe's C++ for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from ...artifacts import Generated, Interface, Lowered, Variant
from ...base import Artifact, Stage
from ...numerics import check_mathematics, check_numerics
from ...target import Target
from ..cpp.stage import FAST, FLAGS, VECTOR_MATH, WRAPPED
from .settings import dace_version

BACKEND = "dace_cpu"


@attrs.frozen
class CodegenDace(Stage):
    """Choose loops and temporaries for `target`, and let DaCe write their C++.

    Attributes:
        target: the machine that will run the code.
        parallel_from: loops over fewer points than this run on one thread.
        arrays: values (as in '%12') that become arrays, whatever the cost model says.
        inline: values that are computed where they are used, likewise.
        numerics: 'strict', 'contract' or 'fast', as for the backend 'cpu'.
        mathematics: 'own' or 'library', as for the backend 'cpu'.
        checked: whether numbers that are not finite are refused when they are written, and what is
            missing is NaN; `program.checked` sets it.

    """

    name: ClassVar[str] = "codegen_dace"
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "generated": Generated,
        "interface": Interface,
    }

    target: Target = attrs.field(factory=Target.host)
    parallel_from: int = 16384
    arrays: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    inline: tuple[str, ...] = attrs.field(default=(), converter=tuple)
    numerics: str = attrs.field(default="contract", validator=check_numerics)
    mathematics: str = attrs.field(default="own", validator=check_mathematics)
    checked: bool = False

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return DaCe's source with our entry point, and what that expects."""
        from ..cpp.kernel import ALONE
        from ..cpp.operations import DECLARATION
        from ..interface import describe
        from ..pass_list import PLAN_ONLY
        from ..passes import make_loops
        from ..schedule.placement import Rules
        from .source import sdfg_source
        from .tasklet import Style

        dace_version()  # says how to install what is missing
        rules = Rules(self.target, self.arrays, self.inline, checked=self.checked)
        kernel, groups = make_loops(lowered, variant, rules, PLAN_ONLY)
        style = Style(
            vector_math=self.target.vector_math and self.numerics != "strict",
            own_math=self.mathematics == "own"
            and self.numerics == "contract"
            and self.target.has_fma,
            checked=self.checked,
        )
        written = sdfg_source(kernel, rules, style, self.parallel_from)
        libraries: tuple[str, ...] = VECTOR_MATH if DECLARATION in written.source else ()
        libraries += WRAPPED if ALONE in written.source else ()
        reordering = FAST if self.numerics == "fast" else ()
        flags = (*FLAGS, *reordering, *self.target.flags, *libraries)
        # where a call gives domains, those were compared, not the ranges of the fields
        alike = () if variant.domain else variant.alike
        return {
            "generated": Generated("c++", written.source, written.listing, flags),
            "interface": describe(lowered.program, written.kernel, groups, BACKEND, alike),
        }

    def environment(self) -> Mapping[str, str]:
        """Return the version of DaCe, found without importing it."""
        return {"dace": dace_version()}
