"""Schedule a program for a CPU and write its C++."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self

from ....runtime.process import classes
from ... import Artifact, Generated, Interface, Lowered, Stage, Variant
from ..pass_list import LoopPass, PassName, without
from .options import CpuOptions
from .pass_list import PLAIN_PASSES, cpu_passes

if TYPE_CHECKING:  # the stage imports its work when it runs, see docs/decisions/0005
    from ..pass_list import Rules
    from ..rows import WriterOptions
    from ..schedule.schedule import Scheduled
    from ..soft_reads import Calls

# No flag here changes a value: floats keep IEEE arithmetic in the order of the source. The
# code only leaves errno and the processor's exception flags undefined, which nothing reads.
FLAGS = (
    "-std=c++17", "-O3", "-fopenmp-simd", "-fPIC", "-shared", "-ffp-contract=off", "-fwrapv",
    "-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing",
    # a strip that only copies is a vector, no call of `memcpy` that compilers write in halves
    "-fno-tree-loop-distribute-patterns",
)  # fmt: skip
FAST = ("-fassociative-math", "-freciprocal-math", "-fno-signed-zeros")
VECTOR_MATH = ("-Wl,--push-state,--no-as-needed", "-lmvec", "-Wl,--pop-state")


@classes.frozen
class Codegen(CpuOptions, Stage):
    """Choose loops and temporaries for `target` and write C++."""

    name: ClassVar[str] = "codegen"
    needs: ClassVar[tuple[str, ...]] = ("lowered", "variant")
    provides: ClassVar[Mapping[str, type[Artifact]]] = {
        "generated": Generated,
        "interface": Interface,
    }

    def run(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Return the source and what it expects at its entry point."""
        from ...ir.loops.text import show
        from ..interface import describe, integers, step_numbers, step_place
        from ..passes import make_loops
        from ..rows.checks import statuses
        from ..rows.options import Steps
        from ..schedule.schedule import remembered
        from ..soft_reads import clamping_of
        from .text.kernel import write_cpp

        scheduled = remembered(lowered, variant, self.checked)
        stage, notes = self._planned(scheduled, lowered, variant)
        tree, groups = make_loops(lowered, variant, *stage._schedule(variant), scheduled=scheduled)
        ints = integers(tree)
        calls: Calls = "all" if self.checked else "beyond" if variant.beyond else "inside"
        clamping = clamping_of(lowered.program, groups, ints, calls)
        place = step_place(ints, groups, clamping)
        steps = None if place is None else Steps(place, step_numbers(groups))
        source = write_cpp(tree, ints, stage._writer_options(), clamping, steps)
        listing = show(classes.evolve(tree, notes=(*tree.notes, *notes)))
        return {
            "generated": Generated("c++", source, listing, self._flags(source, variant)),
            "interface": describe(
                lowered.program,
                tree,
                groups,
                "cpu",
                self.target.device,
                # a call with `domain=` compares the domains, not the ranges of the fields
                () if variant.domain else variant.alike,
                statuses(tree, clamping) if self.checked else (),
                clamping=clamping,
                in_steps=True,
            ),
        }

    def after_passes(self, *, lowered: Lowered, variant: Variant) -> Mapping[str, str]:  # type: ignore[override]
        """Return the text of the loops after each pass."""
        from ..passes import listings
        from ..schedule.schedule import remembered

        stage, _ = self._planned(remembered(lowered, variant, self.checked), lowered, variant)
        return listings(lowered, variant, *stage._schedule(variant))

    def chosen(self) -> tuple[PassName, ...]:
        """Return the loop passes that the options ask for."""
        left_out = {
            "stream": self.stream_from == 0,
            "prefetch": not self.prefetch,
            "unswitch": not self.unswitch,
        }
        return without(self.passes, *(name for name, is_out in left_out.items() if is_out))

    def _planned(
        self, scheduled: Scheduled, lowered: Lowered, variant: Variant
    ) -> tuple[Self, tuple[str, ...]]:
        """Return the stage with the options that a search prefers, and what it tells of them."""
        if not self.effort or variant.beyond:
            return self, ()
        from ..plan.search import Subject
        from .planning import planned

        subject = Subject(scheduled, lowered, variant, lambda one: one._schedule(variant))
        return planned(subject, self)

    def _schedule(self, variant: Variant) -> tuple[Rules, tuple[LoopPass, ...]]:
        """Return rules and passes; what few calls run is not worth the time of a compiler."""
        if variant.beyond:
            return classes.evolve(self.rules(), jam=False), cpu_passes(PLAIN_PASSES)
        return self.rules(), cpu_passes(self.chosen())

    def _flags(self, source: str, variant: Variant) -> tuple[str, ...]:
        from ..rows.operations import DECLARATION

        less = ("-O1",) if variant.beyond else ()
        reordering = FAST if self.numerics == "fast" else ()
        libraries = VECTOR_MATH if DECLARATION in source else ()
        return (*FLAGS, *less, *reordering, *self.target.flags, *libraries)

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
            many_outputs=self.many_outputs,
        )
