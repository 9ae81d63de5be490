"""Nests of a mesh that hand arrays on in patches and in portions, as text."""

from textwrap import indent

import attrs

from fieldforge.stages import Patches, Target
from fieldforge.stages.codegen.cpu.passes import portions
from fieldforge.stages.codegen.gpu.options import GpuOptions
from fieldforge.stages.codegen.gpu.passes.patching import patch
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show

ON_GPU = Rules(GpuTarget("sm_90"))
ON_CPU = Rules(Target(isa="x86-64-v3", cores=2))
HEAD = """\
kernel means
  dimension Edge horizontal
  dimension Vertex horizontal
  dimension E2V local
  dimension K vertical
  field u float64 [Vertex, K] unit K
  field out float64 [Edge, K] unit K
  field other float64 [Vertex, K] unit K
  table "table E2V" int32 [Edge, E2V] unit E2V
  arena @0 float64 [Vertex, K] unit K order [Vertex, K] box (Vertex: 0 .. m, K: 0 .. 40)
  group 0 (Edge: 0 .. n, K: 0 .. 40)
  step 0
"""
FILLS = """\
    nest n0 group 0  # fills @0
      thread Vertex: 0 .. m
        thread K: 0 .. 40
          %0 float64 load u[0, 0]
          %1 float64 mul %0 %0
          %2 float64 store @0 %1
"""
BETWEEN = """\
    nest n1 group 0  # stores other
      thread Vertex: 0 .. m
        thread K: 0 .. 40
          %0 float64 load u[0, 0]
          %1 float64 store other %0
"""
READS = """\
    nest n2 group 0  # stores out
      thread Edge: 0 .. n
        %0 int32 load "table E2V"[0, 0]
        %1 int32 load "table E2V"[0, 1]
        thread K: 0 .. 40
          %2 float64 load @0[%0, 0]
          %3 float64 load @0[%1, 0]
          %4 float64 add %2 %3
          %5 float64 store out %4
"""
BEFORE = HEAD + FILLS + BETWEEN + READS


def on_cpu(text: str) -> str:
    return text.replace("thread K", "vector K").replace("thread ", "parallel ")


def step_of(text: str) -> str:
    return text[text.index("  step 0\n") :]


def chosen(head: str, when: str, reason: str, *members: str, beside: str = "") -> str:
    """Return a choice between a cover with some nests, others `beside` it, and all nests."""
    each = (f"        each {n}\n{indent(nest, 6 * ' ')}" for n, nest in enumerate(members))
    return (
        f"  step 0\n    if {when}  # @0 need not go to memory and back{reason}\n      {head}\n"
        f"{''.join(each)}{indent(beside, 2 * ' ')}    else\n      n0\n      n1\n      n2\n"
    )


def test_what_stores_on_other_levels_of_memory_runs_beside_the_patches() -> None:
    text = BEFORE.replace(
        "other float64 [Vertex, K] unit K", "other float64 [Vertex, K] unit Vertex"
    )
    after = step_of(show(patch(read(text), ON_GPU)))
    when, head = after.splitlines()[1:3]
    condition, _, reason = (
        when.strip().removeprefix("if ").partition("  # @0 need not go to memory and back")
    )
    assert after == chosen(head.strip(), condition, reason, FILLS, READS, beside=BETWEEN)


def test_nests_that_march_stay() -> None:
    before = on_cpu(BEFORE).replace("# stores out\n", "# stores out\n      cpu march 64\n")
    assert show(portions.patch(read(before), ON_CPU)) == before


def test_levels_that_begin_inside_a_thread_take_patches_only_if_asked() -> None:
    before = BEFORE.replace("K: 0 .. 40", "K: 1 .. 40")
    asked = GpuOptions(patches=Patches(elements=96)).rules()
    assert show(patch(read(before), ON_GPU)) == before
    assert "  patches arrays @0 " in show(patch(read(before), asked))


def test_options_refuse_patches() -> None:
    for rules in (
        GpuOptions(patches=False).rules(),
        attrs.evolve(ON_GPU, checked=True),
    ):
        assert show(patch(read(BEFORE), rules)) == BEFORE
