"""Which nests share the reciprocals of their divisors."""

import pytest

from fieldforge.stages.codegen.gpu.passes.reciprocals import share_reciprocals
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show

RULES = Rules(GpuTarget("sm_90"))
KERNEL = """\
kernel quotients
  dimension I horizontal
  field a float64 [I] unit I
  field out float64 [I] unit I
  group 0 (I: 0 .. 8)
  step 0
    nest n0 group 0  # stores out
      gpu block 256
      thread I: 0 .. 8
        %0 float64 load a[0]
        %1 float64 load a[1]
        %2 float64 div %0 %1
        %3 float64 div %2 %1
        %4 float64 store out %3
"""
SCAN = """\
kernel sums
  dimension I horizontal
  dimension K vertical
  field a float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. 8, K: 0 .. n)
  step 0
    nest n0 group 0 states float64 %0  # walks down
      gpu block 64
      %0 float64 constant 0.0
      thread I: 0 .. 8
        sequential K: 0 .. n
          %1 float64 state 0
          %2 float64 load a[0, 0]
          %3 float64 div %1 %2
          %4 float64 advance 0 %3
          %5 float64 store out %3
"""


def test_quotients_by_one_number_share_its_reciprocal() -> None:
    after = show(share_reciprocals(read(KERNEL), RULES))
    assert after == KERNEL.replace("gpu block 256", "gpu block 256 reciprocals")


@pytest.mark.parametrize("second", ["div %2 %0", "mul %2 %1"])
def test_a_quotient_by_a_number_of_its_own_is_a_product_too(second: str) -> None:
    other = KERNEL.replace("div %2 %1", second)
    after = show(share_reciprocals(read(other), RULES))
    assert after == other.replace("gpu block 256", "gpu block 256 reciprocals")


def test_nests_without_quotients_and_scans_with_single_ones_divide_as_before() -> None:
    for kernel in (KERNEL.replace("div", "mul"), SCAN):
        assert show(share_reciprocals(read(kernel), RULES)) == kernel
