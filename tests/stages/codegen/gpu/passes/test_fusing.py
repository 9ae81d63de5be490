"""A nest for two that read the same, as text."""

from textwrap import indent

from fieldforge.stages.codegen.gpu.passes.fusing import fuse
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show

RULES = Rules(GpuTarget("sm_90"))
HEAD = """\
kernel pairs
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit K
  field v float64 [I, K] unit K
  field out float64 [I, K] unit K
  arena @0 float64 [I, K] unit K order [I, K] box (I: 0 .. 8, K: 0 .. n)
  arena @1 float64 [I, K] unit K order [I, K] box (I: 0 .. 8, K: 0 .. n)
  group 0 (I: 0 .. 8, K: 0 .. n)
  step 0
"""
FILLS = """\
    nest n0 group 0  # fills @0; K has unit stride
      parallel I: 0 .. 8
        vector K: 0 .. n
          %0 float64 load u[0, 0]
          %1 float64 load u[1, 0]
          %2 float64 add %0 %1
          %3 float64 store @0 %2
"""
NEEDED = """\
    nest n1 group 0  # fills @1
      parallel I: 0 .. 8
        vector K: 0 .. n
          %0 float64 load v[0, 0]
          %1 float64 store @1 %0
"""
STORES = """\
    nest n2 group 0  # stores out
      parallel I: 0 .. 8
        vector K: 0 .. m
          %0 float64 load u[0, 0]
          %1 float64 load u[1, 0]
          %2 float64 load @1[0, 0]
          %3 float64 sub %0 %1
          %4 float64 mul %3 %2
          %5 float64 store out %4
"""
AFTER = """\
    nest n0 group 0  # fills @1
      parallel I: 0 .. 8
        vector K: 0 .. n
          %0 float64 load v[0, 0]
          %1 float64 store @1 %0
    if max(0, mul(max(0, mul(m, -1) + n, m + mul(n, -1)), -1) + 1)  # @0 from what nest 2 reads too
      nest n3 group 0  # stores out; fills @0 too
        parallel I: 0 .. 8
          vector K: 0 .. m
            %0 float64 load u[0, 0]
            %1 float64 load u[1, 0]
            %2 float64 add %0 %1
            %3 float64 load @1[0, 0]
            %4 float64 sub %0 %1
            %5 float64 mul %4 %3
            %6 float64 store @0[0, 0] %2
            %7 float64 store out[0, 0] %5
"""


def test_one_nest_for_two_runs_where_they_have_the_same_points() -> None:
    after = show(fuse(read(HEAD + FILLS + NEEDED + STORES), RULES))
    apart = indent(FILLS.replace("n0", "n1") + STORES, "  ")
    assert after == HEAD + AFTER + "    else\n" + apart


def test_a_nest_that_reads_what_the_other_fills_at_neighbours_stays_apart() -> None:
    before = HEAD + FILLS + STORES.replace("load @1[0, 0]", "load @0[1, 0]")
    assert show(fuse(read(before), RULES)) == before.replace("nest n2", "nest n1")


def test_a_nest_that_stores_what_the_other_reads_at_neighbours_stays_apart() -> None:
    before = HEAD + FILLS + STORES.replace("load @1", "load @0").replace("store out", "store u")
    assert show(fuse(read(before), RULES)) == before.replace("nest n2", "nest n1")


def test_an_output_may_still_have_the_memory_of_what_another_nest_reads_at_neighbours() -> None:
    stores = STORES.replace("n2", "n1").replace("load u[1, 0]", "load u[0, 0]")
    before = HEAD + FILLS + stores.replace("load @1", "load @0")
    assert show(fuse(read(before), RULES)) == before
    other = before.replace("field out float64 [I, K] unit K", "field out float64 [I] unit I")
    assert "fills @0 too" in show(fuse(read(other.replace("store out", "store out[0]")), RULES))


def test_a_nest_between_two_keeps_them_apart() -> None:
    between = NEEDED.replace("load v[0, 0]", "load @0[1, 0]")
    before = HEAD + FILLS + between + STORES.replace("load @1[0, 0]", "load @1[1, 0]")
    assert show(fuse(read(before), RULES)) == before


def test_nests_that_always_have_the_same_points_are_one() -> None:
    nests = FILLS + STORES.replace("load @1", "load @0").replace(".. m", ".. n")
    after = show(fuse(read(HEAD + nests), RULES))
    assert "    if " not in after
    assert "nest n0 group 0  # stores out; fills @0 too" in after
    assert "nest n1" not in after


def test_nests_of_other_steps_stay_apart() -> None:
    before = HEAD + FILLS + NEEDED + "  step 1\n" + STORES
    assert show(fuse(read(before), RULES)) == before


def test_nests_that_read_little_in_common_stay_apart() -> None:
    stores = STORES.replace("load u[1, 0]", "load u[2, 0]").replace("load @1[0", "load @1[1")
    before = HEAD + FILLS + NEEDED + stores
    assert show(fuse(read(before), RULES)) == before
