"""Which loops become threads of a GPU, and how many of them a block has."""

from fieldforge.stages.codegen.gpu.options import GpuOptions
from fieldforge.stages.codegen.gpu.passes.thread_blocks import spread
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.sizes import ThreadBlock

RULES = Rules(GpuTarget("sm_90"))
POINTS = """\
kernel points
  dimension I horizontal
  dimension J horizontal
  field u float64 [I, J] unit I
  group 0 (I: 0 .. 8, J: 0 .. 8)
  step 0
    nest n0 group 0  # stores u
      %0 float64 constant 0.0
      parallel J: 0 .. 8
        parallel I: 0 .. 8
          %1 float64 store u %0
"""
SCAN = """\
kernel sums
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  group 0 (I: 0 .. 8, K: 0 .. 40)
  step 0
    nest n0 group 0 states float64 %0  # stores u
      %0 float64 constant 0.0
      parallel I: 0 .. 8
        sequential K: 0 .. 40
          %1 float64 state 0
          %2 float64 load u[0, 0]
          %3 float64 add %1 %2
          %4 float64 store u %3
          %5 float64 advance 0 %3
"""
ALONE = """\
kernel alone
  field u float64 []
  group 0 ()
  step 0
    nest n0 group 0  # stores u
      %0 float64 constant 0.0
      %1 float64 store u %0
"""


def test_each_point_has_a_thread() -> None:
    after = show(spread(read(POINTS), RULES))
    marked = POINTS.replace("      %0 float64 c", "      gpu block 32, 8\n      %0 float64 c")
    assert after == marked.replace("parallel", "thread")


def test_each_column_of_a_scan_has_a_thread() -> None:
    reads = "      %0 float64 c"
    after = show(spread(read(SCAN), RULES))
    expected = SCAN.replace("parallel", "thread")
    assert after == expected.replace(reads, f"      gpu block 64\n{reads}")
    asked = GpuOptions(column_block=ThreadBlock(x=128)).rules()
    assert "gpu block 128\n" in show(spread(read(SCAN), asked))


def test_a_nest_without_loops_has_one_thread() -> None:
    assert show(spread(read(ALONE), RULES)) == ALONE
