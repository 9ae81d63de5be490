"""Scans that hand numbers on in shared memory, as text."""

import pytest

from fieldforge.stages.codegen.arena import plan_arena
from fieldforge.stages.codegen.gpu.options import GpuOptions
from fieldforge.stages.codegen.gpu.passes.handing_on import hand_on
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show

TARGET = GpuTarget("sm_90", block_memory=48 << 10)
PLAIN = GpuOptions(TARGET, blocked=False, land=-1).rules()
HEAD = """\
kernel columns
  dimension I horizontal
  dimension K vertical
  field a float64 [I, K] unit I
  field x float64 [I, K] unit I
  arena @0 float64 [I, K] unit I order [K, I] box (I: 0 .. 8, K: 0 .. n)
  group 0 (I: 0 .. 8, K: 0 .. n)
  step 0
"""
FORWARD = """\
nest n0 group 0 states float64 %0  # stores @0
  reads a (I: 0 .. 8, K: 0 .. n)
  gpu block 64 ahead 8 asked %1
  %0 float64 constant 0.0
  thread I: 0 .. 8
    sequential K: 0 .. n
      %1 float64 load a[0, 0]
      %2 float64 state 0
      %3 float64 add %1 %2
      %4 float64 store @0 %3
      %5 float64 advance 0 %3
"""
BACKWARD = """\
nest n1 group 0 states float64 %0  # stores x
  gpu block 64 ahead 8 asked %1
  %0 float64 constant 0.0
  thread I: 0 .. 8
    sequential K: 0 .. n backward
      %1 float64 load @0[0, 0]
      %2 float64 state 0
      %3 float64 sub %1 %2
      %4 float64 store x %3
      %5 float64 advance 0 %3
"""
BYTES = "mul(max(0, n), 256)"
FITS = f"min(1, floordiv(49152, max(1, {BYTES})))"


def indented(text: str, depth: int) -> str:
    return "".join(f"{'  ' * depth}{line}\n" for line in text.splitlines())


BEFORE = HEAD + indented(FORWARD, 2) + indented(BACKWARD, 2)


def test_arrays_between_scans_are_in_shared_memory_where_they_fit() -> None:
    expected = HEAD + indented(
        f"if {FITS}  # @0 need not go to memory and back\n"
        f"  columns arrays @0 threads 32 needed {BYTES} most 49152\n"
        f"{indented(FORWARD + BACKWARD, 2)}"
        "else\n"
        "  n0\n"
        "  n1\n",
        2,
    )
    made = hand_on(read(BEFORE), PLAIN)
    assert show(made) == expected
    left = f"mul(min(0, floordiv(49152, max(1, {BYTES})) + -1), -8)"
    assert f"order [K, I] box (I: 0 .. {left}, K: 0 .. n)" in show(plan_arena(made, PLAIN))


def test_longer_columns_keep_some_levels_in_memory() -> None:
    after = show(hand_on(read(BEFORE), GpuOptions(TARGET, land=-1).rules()))
    then, otherwise = after.split("    else\n")
    assert "levels that do not fit go to memory and come back" in then
    assert otherwise.startswith("      columns arrays @0 threads 32 needed ")
    assert "        long levels max(16, " in otherwise


def test_what_the_first_scan_loads_lands_in_shared_memory() -> None:
    after = show(hand_on(read(BEFORE), GpuOptions(TARGET, blocked=False).rules()))
    landing = "        landing rounds 1 ahead 8\n          land a [0, 0] float64 room @0\n"
    assert landing in after
    assert "; 8 levels of a to @0 on their way\n" in after


def test_columns_of_contiguous_levels_come_as_rows() -> None:
    contiguous = BEFORE.replace("unit I", "unit K").replace("order [K, I]", "order [I, K]")
    after = show(hand_on(read(contiguous), PLAIN))
    assert "  # columns of contiguous K come as rows\n" in after
    assert "source a offsets [0, 0] filled K: 0 .. n holds @0, x written x K: 0 .. n\n" in after
    assert after.count("ahead 3 ") == 2  # instead of 8
    assert contiguous[contiguous.index("arena") : contiguous.index("step")] in after


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("load @0[0, 0]", "load @0[1, 0]"),  # another column
        ("store @0", "store x"),  # no array
    ],
)
def test_other_scans_stay(old: str, new: str) -> None:
    before = BEFORE.replace(old, new)
    assert before != BEFORE
    assert show(hand_on(read(before), PLAIN)) == before


ALONE = """\
nest n0 group 0 states float64 %0  # stores x
  gpu block 64 ahead 8 asked %1, %2, %3
  %0 float64 constant 0.0
  thread I: 0 .. 8
    sequential K: 0 .. n
      %1 float64 load a[0, 0]
      %2 float64 load a[1, 0]
      %3 float64 load a[2, 0]
      %4 float64 state 0
      %5 float64 add %4 %1
      %6 float64 add %5 %2
      %7 float64 add %6 %3
      %8 float64 store x %7
      %9 float64 advance 0 %7
"""


def test_scans_outside_shared_memory_load_so_few_levels_ahead_that_many_threads_fit() -> None:
    before = HEAD + indented(ALONE, 2)
    narrow = before.replace("float64", "float32")
    assert show(hand_on(read(before), PLAIN)) == before.replace("ahead 8", "ahead 4")
    assert show(hand_on(read(narrow), PLAIN)) == narrow
    asked = GpuOptions(TARGET, ahead=8).rules()
    assert show(hand_on(read(before), asked)) == before


def test_without_shared_memory_all_scans_leave_room() -> None:
    apart = GpuOptions(TARGET, shared=False).rules()
    before = HEAD + indented(FORWARD, 2) + indented(ALONE.replace("n0", "n1"), 2)
    after = show(hand_on(read(before), apart))
    assert "ahead 8 asked %1\n" in after
    assert "ahead 4 asked %1, %2, %3\n" in after
