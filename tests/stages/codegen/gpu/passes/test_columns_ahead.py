"""Which loads of a sweep a column does a level ahead."""

import re

import pytest

from fieldforge.stages.codegen.gpu.options import GpuOptions
from fieldforge.stages.codegen.gpu.passes.loading_ahead import load_ahead
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.verify import verify

RULES = Rules(GpuTarget("sm_90"))
HEAD = """\
kernel columns
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. n, K: 0 .. 40)
  step 0
    column group 0 registers float64  # acts
      reads u (I: 0 .. n, K: 0 .. 40)
      parallel I: 0 .. n
"""
FALLING = """\
        sweep K: 0 .. 39
          %0 float64 load u[0, 0]
          %1 float64 load u[0, 1]
          while
            %2 float64 get 0
            %3 bool lt %2 %1
          holds %3
            %4 float64 add %2 %0
            %5 float64 set 0 %4
          %6 float64 store out[0, 0] %1
"""
AHEAD = """\
        sweep K: 0 .. 39
          %0 int64 index K
          %1 int64 number 0
          %2 bool eq %0 %1
          if %2
            %3 float64 load u[0, 0]
            %4 float64 load u[0, 1]
            %5 float64 set 1 %3
            %6 float64 set 2 %4
          %7 float64 get 1
          %8 float64 get 2
          %9 int64 index K
          %10 int64 number 38
          %11 bool lt %9 %10
          %12 float64 set 1 %8
          %13 float64 load u[0, 2] when %11
          %14 float64 set 2 %13
          while
            %15 float64 get 0
            %16 bool lt %15 %8
          holds %16
            %17 float64 add %15 %7
            %18 float64 set 0 %17
          %19 float64 store out[0, 0] %8
"""
HANDED_ON = """\
        sweep K: 0 .. 39
          %0 float64 load out[0, 0]
          %1 float64 load u[0, 0]
          %2 float64 add %0 %1
          %3 float64 store out[0, 0] %1
          %4 float64 store out[0, 1] %2
"""
UNDER_A_CONDITION = """\
        sweep K: 0 .. 39
          %0 float64 load u[0, 0]
          %1 float64 load out[0, 0]
          %2 bool lt %1 %0
          if %2
            %3 float64 store out[0, 1] %0
"""
LATE = """\
        sweep K: 0 .. 39
          %0 float64 load out[0, 0]
          %1 float64 div %0 %0
          %2 float64 store out[0, 0] %1
          %3 float64 load u[0, 0]
          %4 bool lt %1 %3
          if %4
            %5 float64 store out[0, 0] %3
            %6 float64 load u[0, 1]
            %7 float64 store out[0, 0] %6
"""
SEARCHED = """\
        sweep K: 0 .. 39
          %0 float64 load out[0, 0]
          %1 int64 index K
          %2 float64 store out[0, %1] %0
          while
            %3 float64 get 0
            %4 bool lt %3 %0
          holds %4
            %5 float64 set 0 %0
"""


def changed(acts: str, rules: Rules = RULES) -> str:
    """Return the acts of a column after the pass."""
    shown = show(verify(load_ahead(read(HEAD + acts), rules)))
    return shown.partition("      parallel I: 0 .. n\n")[2]


def test_a_sweep_loads_the_next_level_of_what_it_does_not_store() -> None:
    assert changed(FALLING) == AHEAD


def test_upwards_the_next_level_is_the_one_above() -> None:
    rising = FALLING.replace("sweep K: 0 .. 39", "sweep K: 0 .. 39 backward")
    found = changed(rising)

    assert "int64 number 38\n          %2 bool eq" in found
    assert "bool gt %9 %10" in found
    assert "load u[0, -1] when %11" in found


def test_what_a_level_stores_to_the_next_one_stays_in_a_register() -> None:
    assert (
        changed(HANDED_ON)
        == """\
        sweep K: 0 .. 39
          %0 float64 load u[0, 0]
          %1 int64 index K
          %2 int64 number 0
          %3 bool eq %1 %2
          if %3
            %4 float64 load out[0, 0]
            %5 float64 set 1 %4
          %6 float64 get 1
          %7 float64 add %6 %0
          %8 float64 store out[0, 0] %0
          %9 float64 store out[0, 1] %7
          %10 float64 set 1 %7
"""
    )


@pytest.mark.parametrize(
    ("acts", "rules"),
    [
        (UNDER_A_CONDITION, RULES),
        (SEARCHED, RULES),
        (FALLING.split("          while", maxsplit=1)[0], RULES),
        (FALLING, GpuOptions(ahead=-1).rules()),
    ],
    ids=["a condition", "a level of its own", "no loop inside", "the option says none"],
)
def test_other_sweeps_stay(acts: str, rules: Rules) -> None:
    assert changed(acts, rules) == acts


def test_each_block_begins_with_the_loads_of_what_the_column_does_not_store() -> None:
    assert (
        changed(LATE)
        == """\
        sweep K: 0 .. 39
          %0 float64 load u[0, 0]
          %1 float64 load out[0, 0]
          %2 float64 div %1 %1
          %3 float64 store out[0, 0] %2
          %4 bool lt %2 %0
          if %4
            %5 float64 load u[0, 1]
            %6 float64 store out[0, 0] %0
            %7 float64 store out[0, 0] %5
"""
    )


def test_no_more_registers_are_taken_than_leave_room_for_threads() -> None:
    loads = [f"          %{n} float64 load u[{n}, 0]\n" for n in range(20)]
    loop = FALLING[FALLING.index("          while") :]
    loop = re.sub(r"%([2-6])", lambda found: f"%{int(found[1]) + 18}", loop)
    found = changed("        sweep K: 0 .. 39\n" + "".join(loads) + loop)

    assert found.count("load u[") == 20 + 16  # 16 of 8 bytes ahead and at the first level
