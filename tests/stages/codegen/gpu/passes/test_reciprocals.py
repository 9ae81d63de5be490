"""Which nests share the reciprocals of their divisors."""

from __future__ import annotations

import pytest

from fieldforge.stages.codegen.gpu.passes.reciprocals import share_reciprocals
from fieldforge.stages.codegen.schedule.rules import Rules
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


def test_quotients_by_one_number_share_its_reciprocal() -> None:
    after = show(share_reciprocals(read(KERNEL), RULES))
    assert after == KERNEL.replace("gpu block 256", "gpu block 256 reciprocals")


def test_points_of_a_thread_may_share_a_divisor() -> None:
    several = KERNEL.replace("%2 %1", "%2 %0").replace("256", "256 points 2")
    after = show(share_reciprocals(read(several), RULES))
    assert after == several.replace("points 2", "points 2 reciprocals")


@pytest.mark.parametrize("second", ["div %2 %0", "mul %2 %1"])
def test_other_nests_divide(second: str) -> None:
    other = KERNEL.replace("div %2 %1", second)
    assert show(share_reciprocals(read(other), RULES)) == other
