"""A nest for two that read the same, as text."""

from __future__ import annotations

from fieldforge.stages.codegen.gpu.passes.fusing import fuse
from fieldforge.stages.codegen.schedule.rules import Rules
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
    else
      nest n1 group 0  # fills @0; K has unit stride
        parallel I: 0 .. 8
          vector K: 0 .. n
            %0 float64 load u[0, 0]
            %1 float64 load u[1, 0]
            %2 float64 add %0 %1
            %3 float64 store @0 %2
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


def test_one_nest_for_two_runs_where_they_have_the_same_points() -> None:
    after = show(fuse(read(HEAD + FILLS + NEEDED + STORES), RULES))
    assert after == HEAD + AFTER


def test_a_nest_that_reads_what_the_other_fills_stays_apart() -> None:
    before = HEAD + FILLS + NEEDED + STORES.replace("load @1", "load @0")
    assert show(fuse(read(before), RULES)) == before


def test_nests_of_other_steps_stay_apart() -> None:
    before = HEAD + FILLS + NEEDED + "  step 1\n" + STORES
    assert show(fuse(read(before), RULES)) == before


def test_nests_that_read_little_in_common_stay_apart() -> None:
    before = HEAD + FILLS + NEEDED + STORES.replace("load u[1, 0]", "load u[2, 0]")
    assert show(fuse(read(before), RULES)) == before
