"""Which loads a scan does some levels ahead, and how many."""

import attrs

from fieldforge.stages.codegen.gpu.options import GpuOptions
from fieldforge.stages.codegen.gpu.passes.loading_ahead import load_ahead
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show

RULES = Rules(GpuTarget("sm_90"))
SCAN = """\
kernel sums
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field places int64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. 8, K: 0 .. 40)
  step 0
    nest n0 group 0 states float64 %0  # stores out
      gpu block 64
      %0 float64 constant 0.0
      thread I: 0 .. 8
        sequential K: 0 .. 40
          %1 float64 state 0
          %2 float64 load u[0, 0]
          %3 int64 load places[0, 0]
          %4 float64 load u[%3, 0]
          %5 float64 add %1 %2
          %6 float64 add %5 %4
          %7 float64 store out %6
          %8 float64 advance 0 %6
"""


def test_a_scan_loads_ahead_what_it_can_find_without_loads() -> None:
    after = show(load_ahead(read(SCAN), RULES))
    assert after == SCAN.replace("gpu block 64", "gpu block 64 ahead 8 asked %2, %3")


def test_the_option_says_how_many_levels() -> None:
    asked = GpuOptions(ahead=3).rules()
    assert "ahead 3 asked %2, %3" in show(load_ahead(read(SCAN), asked))


def test_scans_that_may_not_load_ahead_stay() -> None:
    for rules in (GpuOptions(ahead=-1).rules(), attrs.evolve(RULES, checked=True)):
        assert show(load_ahead(read(SCAN), rules)) == SCAN


def test_a_nest_without_states_stays() -> None:
    lines = SCAN.replace(" states float64 %0", "").replace("float64 state 0", "float64 argument x")
    text = lines.replace("  field u", "  scalar x float64\n  field u")
    text = "\n".join(line for line in text.splitlines() if "advance" not in line) + "\n"
    assert show(load_ahead(read(text), RULES)) == text
