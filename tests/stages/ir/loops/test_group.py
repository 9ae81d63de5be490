"""A group that no module knows: its facts are enough for what walks a tree."""

from collections.abc import Iterator
from typing import ClassVar

import attrs
import pytest

from fieldforge.stages.codegen.arena import plan_arena
from fieldforge.stages.codegen.dace.rare import ungrouped
from fieldforge.stages.codegen.gpu.kernels import parts
from fieldforge.stages.codegen.gpu.launches import orders_of
from fieldforge.stages.codegen.gpu.text.kernel import Written
from fieldforge.stages.codegen.interface import integers, turns
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.bounds import Bound, Const, ScalarSymbol
from fieldforge.stages.ir.loops.gpu import GroupLaunch, KernelGroup
from fieldforge.stages.ir.loops.kernel import Kernel, Node, Step
from fieldforge.stages.ir.loops.nest import Nest
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of, nodes_of
from fieldforge.stages.ir.loops.verify import verify

COUNT, BYTES = ScalarSymbol("count"), ScalarSymbol("bytes")
NESTS = """\
kernel small
  dimension I horizontal
  field u float64 [I] unit I
  field out float64 [I] unit I
  shared @0 float64 [I] unit I
  group 0 (I: 0 .. 8)
  step 0
    nest n0 group 0
      thread I: 0 .. 8
        %0 float64 load u[0]
        %1 float64 store @0 %0
    nest n1 group 0
      thread I: 0 .. 8
        %0 float64 load @0[0]
        %1 float64 store out %0
"""


@attrs.frozen
class Pair(KernelGroup):
    """Two nests that a block runs one after the other."""

    nests: tuple[Nest, ...]
    workspace: ClassVar[Bound] = BYTES  # type: ignore[misc]

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return (COUNT,)

    @property
    def launch(self) -> GroupLaunch:
        return GroupLaunch((64,), Const(512), 1024, COUNT)

    def problems(self) -> Iterator[tuple[Node, str]]:
        if len(self.nests) != 2:
            yield self, "is not a pair"


@pytest.fixture
def kernel() -> Kernel:
    given = read(NESTS)
    return attrs.evolve(given, steps=(Step(0, Pair(("@0",), nests_of(given))),))


def test_the_verifier_checks_its_place_and_its_own_rules(kernel):
    nests = nests_of(kernel)
    verify(kernel)

    with pytest.raises(ValueError, match="a 'Pair' is not a pair"):
        verify(attrs.evolve(kernel, steps=(Step(0, Pair((), nests[:1])),)))
    with pytest.raises(ValueError, match="outside its group touches array '@0'"):
        verify(attrs.evolve(kernel, steps=(*kernel.steps, Step(0, nests[1]))))


def test_a_call_passes_its_bounds_and_has_its_memory(kernel):
    made = plan_arena(kernel, Rules(GpuTarget("sm_90")))

    assert COUNT in integers(kernel)
    assert [each.slot for each in nodes_of(made, Pair)] == [0]
    assert made.slots == (BYTES,)


def test_its_nests_take_one_turn_and_are_one_launch(kernel):
    (part,) = parts(kernel)
    (order,) = orders_of(kernel, [Written("k", (), part)], [1])

    assert [len(turn) for turn in turns(kernel)] == [2]
    assert part.nests == (0, 1)
    assert (order.blocks[0], order.threads) == (COUNT, (64, 1, 1))
    assert (order.shared, order.most_shared) == (Const(512), 1024)


def test_a_kernel_without_groups_has_its_nests(kernel):
    assert nests_of(ungrouped(kernel)) == nests_of(kernel)
    assert not any(nodes_of(ungrouped(kernel), Pair))
