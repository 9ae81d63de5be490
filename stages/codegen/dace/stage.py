"""Schedule a program for a CPU, hand it to DaCe as an SDFG, and take DaCe's C++ for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from ...artifacts import Generated, Interface, Lowered, Variant
from ...base import Artifact, Stage
from ...target import CpuTarget
from ..cpp.stage import FLAGS
from ..value_names import value_names
from .settings import dace_version

BACKEND = "dace_cpu"
THREADS = "-fopenmp"  # for the pragmas that DaCe writes; no other backend uses OpenMP's threads


@attrs.frozen
class CodegenDace(Stage):
    """Choose loops and temporaries for `target`, and let DaCe write their C++.

    Attributes:
        target: the machine that will run the code.
        parallel_from: loops over fewer points than this run on one thread.
        arrays: values (as in '%12') that become arrays, whatever the cost model says.
        inline: values that are computed where they are used, likewise.

    """

    name: ClassVar[str] = "codegen_dace"
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "generated": Generated,
        "interface": Interface,
    }

    target: CpuTarget = attrs.field(factory=CpuTarget.host)
    parallel_from: int = 16384
    arrays: tuple[str, ...] = attrs.field(default=(), converter=value_names)
    inline: tuple[str, ...] = attrs.field(default=(), converter=value_names)

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return DaCe's source with our entry point, and what that expects."""
        from ..interface import describe
        from ..pass_list import PLAN_ONLY
        from ..passes import make_loops
        from ..schedule.placement import Rules
        from .limits import refuse_unsupported
        from .source import sdfg_source

        refuse_unsupported(lowered.program)
        dace_version()  # says how to install what is missing
        rules = Rules(self.target, self.arrays, self.inline)
        kernel, groups = make_loops(lowered, variant, rules, PLAN_ONLY)
        source, listing = sdfg_source(kernel, self.parallel_from)
        return {
            "generated": Generated("c++", source, listing, (*FLAGS, THREADS, *self.target.flags)),
            "interface": describe(lowered.program, kernel, groups, BACKEND, self.target.device),
        }

    def environment(self) -> Mapping[str, str]:
        """Return the version of DaCe, found without importing it."""
        return {"dace": dace_version()}
