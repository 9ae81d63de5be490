"""Schedule a program for a CPU and write its C++."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import attrs

from ....runtime.process import classes
from ...artifacts import Generated, Interface, Lowered, Variant
from ...base import VALUES, Artifact, Stage
from ...numerics import EXACTNESS, FUNCTIONS
from ...option_kinds import BYTES, FLAG, VALUE_NAMES, option, optional, whole
from ...target import CPU_TARGET, CpuTarget
from ..pass_list import LOOP_PASSES, PassName, without
from ..patch_sizes import PORTIONS
from .pass_list import CPU_PASSES, cpu_passes

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..rows.options import WriterOptions
    from ..schedule.rules import Rules

# No flag here changes a value: floats keep IEEE arithmetic in the order of the source. The
# code only leaves errno and the processor's exception flags undefined, which nothing reads.
FLAGS = (
    "-std=c++17", "-O3", "-fopenmp-simd", "-fPIC", "-shared", "-ffp-contract=off", "-fwrapv",
    "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing",
)  # fmt: skip
MOST_TILE = 1 << 16  # points; a thread has room for the levels of each
FAST = ("-fassociative-math", "-freciprocal-math", "-fno-signed-zeros")
VECTOR_MATH = ("-Wl,--push-state,--no-as-needed", "-lmvec", "-Wl,--pop-state")


@classes.frozen
class Codegen(Stage):
    """Choose loops and temporaries for `target` and write C++.

    Attributes:
        target: the machine that will run the code.
        parallel_from: loops over fewer points than this run on one thread. The default is the
            number that `fieldforge doctor --machine` measured on the node of the call, or 8192.
        arrays: values (as in '%12') that become arrays, against the cost model.
        inline: values that are recomputed at each use, against the cost model.
        tile_size: the points of a tile along the dimension that tiles divide; 0 lets the size of
            the cache decide.
        numerics: 'strict' keeps to scalar functions of the C library; 'contract' vectorises them
            (within 4 ulp); 'fast' lets the compiler reorder sums and multiply by reciprocals.
        mathematics: 'own' emits our transcendental functions (`mathematics/`) where `numerics` is
            'contract' and the target has a fused multiply-add; 'library' never does.
        stream_from: calls that touch this many bytes write outputs that they do not read with
            non-temporal stores; 0 never does. The default is the measured number, else 12 MiB, or
            1.5 MiB for each thread if that is more.
        jam: whether unroll-and-jam may compute several rows of a stencil together.
        prefetch: whether the code prefetches rows.
        unswitch: whether usual levels have a loop without the conditions of other levels.
        passes: the passes over loops in order: names of built-in passes, or functions.
        patches: sizes for nests that hand arrays on within patches of a mesh, such as
            (6144, 128, 16 << 20): elements of a patch, elements of a portion, and the bytes of
            these arrays from which a call uses patches. 0 leaves one to the model; with (-1,) the
            nests run one by one.
        checked: whether writing a number that is not finite is an error, and a missing neighbour
            is NaN; `program.checked` sets it.

    """

    name: ClassVar[str] = "codegen"
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "generated": Generated,
        "interface": Interface,
    }

    target: CpuTarget = option(CPU_TARGET, attrs.Factory(CpuTarget.host))
    parallel_from: int | None = option(
        optional(whole(0, BYTES)), None, tune=[0, 2048, 8192, 1 << 15]
    )
    arrays: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
    inline: tuple[str, ...] = option(VALUE_NAMES, (), tune=[VALUES])
    tile_size: int = option(whole(0, MOST_TILE), 0, tune=[0, 8, 16, 32, 64, 128, 256])
    numerics: str = option(EXACTNESS, "contract")
    mathematics: str = option(FUNCTIONS, "own")
    stream_from: int | None = option(optional(whole(0, BYTES)), None, tune=[0, 1 << 20, 12 << 20])
    jam: bool = option(FLAG, True, tune=[True, False])
    prefetch: bool = option(FLAG, True, tune=[True, False])
    unswitch: bool = option(FLAG, True, tune=[True, False])
    patches: tuple[int, ...] = option(PORTIONS, (), tune=[(), (-1,), (2048,), (24576,)])
    checked: bool = option(FLAG, False)
    passes: tuple[PassName, ...] = option(LOOP_PASSES, CPU_PASSES)

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return the source and what it expects at its entry point."""
        from ...ir.loops.text import show
        from ..integers import integers
        from ..interface import describe, step_numbers, step_place
        from ..passes import make_loops
        from ..rows.checks import statuses
        from ..rows.operations import DECLARATION
        from ..rows.options import Steps
        from ..soft_reads import clamping_of
        from .text.kernel import write_cpp

        tree, groups = make_loops(lowered, variant, self.rules(), cpu_passes(self.chosen()))
        ints = integers(tree)
        # a call with `domain=` compares the domains, not the ranges of the fields
        alike = () if variant.domain else variant.alike
        clamping = clamping_of(lowered.program, groups, ints)
        place = step_place(ints, groups, clamping)
        steps = None if place is None else Steps(place, step_numbers(groups))
        source = write_cpp(tree, ints, self._writer_options(), clamping, steps)
        libraries: tuple[str, ...] = VECTOR_MATH if DECLARATION in source else ()
        reordering = FAST if self.numerics == "fast" else ()
        return {
            "generated": Generated(
                language="c++",
                source=source,
                loops=show(tree),
                flags=(*FLAGS, *reordering, *self.target.flags, *libraries),
            ),
            "interface": describe(
                lowered.program,
                tree,
                groups,
                "cpu",
                self.target.device,
                alike,
                statuses(tree, clamping) if self.checked else (),
                clamping=clamping,
                in_steps=True,
            ),
        }

    def after_passes(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, str]:  # type: ignore[override]
        """Return the text of the loops after each pass."""
        from ..passes import listings

        return listings(lowered, variant, self.rules(), cpu_passes(self.chosen()))

    def chosen(self) -> tuple[PassName, ...]:
        """Return the loop passes that the options ask for."""
        left_out = {
            "stream": self.stream_from == 0,
            "prefetch": not self.prefetch,
            "unswitch": not self.unswitch,
        }
        return without(self.passes, *(name for name, is_out in left_out.items() if is_out))

    def rules(self) -> Rules:
        """Return the options of the schedule and of the loop passes."""
        from ..schedule.rules import Rules

        return Rules(
            self.target,
            self.arrays,
            self.inline,
            jam=self.jam,
            checked=self.checked,
            tile_size=self.tile_size,
            patches=self.patches,
        )

    def _writer_options(self) -> WriterOptions:
        from ..rows.options import WriterOptions

        is_strict = self.numerics == "strict"
        # our functions rely on sums in the order written, and on a fast multiply-add
        own_math = self.mathematics == "own" and self.numerics == "contract" and self.target.has_fma
        return WriterOptions(
            parallel_from=self.parallel_from,
            stream_from=self.stream_from,
            vector_bytes=self.target.vector_bytes,
            vector_math=self.target.vector_math and not is_strict,
            own_math=own_math,
            checked=self.checked,
            core_memory=self.target.core_memory,
        )
