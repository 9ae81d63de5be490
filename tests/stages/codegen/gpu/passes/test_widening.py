"""How many points a thread has, and where the rows of arrays begin."""

import attrs

from fieldforge.stages.codegen.gpu.options import GpuOptions
from fieldforge.stages.codegen.gpu.passes.widening import widen
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.sizes import ThreadBlock, ThreadPoints

RULES = Rules(GpuTarget("sm_90"))
KERNEL = """\
kernel sums
  dimension I horizontal
  dimension J horizontal
  field u float64 [I, J] unit I
  field out float64 [I, J] unit I
  group 0 (I: 0 .. 8, J: 0 .. 8)
  step 0
    nest n0 group 0  # stores out
      gpu block 32, 8
      thread J: 0 .. 8
        thread I: 0 .. 8
          %0 float64 load u[0, 0]
          %1 float64 load u[0, 1]
          %2 float64 load u[0, 2]
          %3 float64 add %0 %1
          %4 float64 add %3 %2
          %5 float64 store out %4
"""
ARRAY = "  arena @0 float64 [I, J] unit I order [J, I] box (I: {}, J: 0 .. 9)\n"


def test_a_thread_has_points_that_share_what_they_load() -> None:
    reason = (
        "stores out; 2 of I at a time: accesses of 16 bytes, 2 of J share what they load; "
        "by single accesses where memory is not aligned"
    )
    expected = KERNEL.replace("stores out", reason)
    expected = expected.replace("gpu block 32, 8", "gpu block 32, 4 points 2, 2 unaligned")
    assert show(widen(read(KERNEL), RULES)) == expected


def test_options_say_how_many_points() -> None:
    asked = GpuOptions(
        points=ThreadPoints(x=4), block=ThreadBlock(x=64, y=2), unaligned=False
    ).rules()
    expected = KERNEL.replace("stores out", "stores out; points of a thread asked for")
    expected = expected.replace("gpu block 32, 8", "gpu block 64, 2 points 4, 1")
    assert show(widen(read(KERNEL), asked)) == expected


def test_other_layouts_and_checked_programs_keep_one_point_a_thread() -> None:
    other = KERNEL.replace("out float64 [I, J] unit I", "out float64 [I, J] unit J")
    other = other.replace("load u[0, 1]", "load u[3, 4]").replace("load u[0, 2]", "load u[6, 8]")
    assert show(widen(read(other), RULES)) == other
    assert show(widen(read(KERNEL), attrs.evolve(RULES, checked=True))) == KERNEL


def test_rows_of_arrays_begin_at_lines() -> None:
    text = KERNEL.replace("  group", ARRAY.format("-1 .. 9") + "  group").replace("u[", "@0[")
    text = text.replace("store out", "store @0").replace("load @0", "load u")
    assert ARRAY.format("-16 .. 16") in show(widen(read(text), RULES))


ON_MESH = """\
kernel sums
  dimension E horizontal
  dimension K vertical
  dimension E2C local
  field table int32 [E, E2C] unit E2C
  field u float64 [E, K] unit K
  field out float64 [E, K] unit K
  group 0 (E: 0 .. 8, K: 1 .. 9)
  step 0
    nest n0 group 0  # stores out
      gpu block 32, 8
      thread E: 0 .. 8
        %0 int32 load table[0, 0]
        thread K: 1 .. 9
{}"""


def _mirrored(count: int) -> str:
    """Return rows that load numbers, and multiply the first by the last, the second by the next."""
    last = 2 * count
    loads = [f"%{n} float64 load u[%0, {8 * n}]" for n in range(1, count + 1)]
    products = [f"%{count + n} float64 mul %{n} %{count + 1 - n}" for n in range(1, count + 1)]
    sums = [f"%{last + 1} float64 add %{count + 1} %{count + 2}"]
    sums += [f"%{last + n} float64 add %{last + n - 1} %{count + n + 1}" for n in range(2, count)]
    rows = [*loads, *products, *sums, f"%{3 * count} float64 store out %{3 * count - 1}"]
    return "".join(f"          {row}\n" for row in rows)


def test_registers_say_how_many_levels_a_thread_has_and_what_to_ask_for() -> None:
    def found(rows: str) -> str:
        return show(widen(read(ON_MESH.format(rows)), RULES))

    few = "".join(f"          %{n} float64 load u[%0, {8 * n}]\n" for n in range(1, 10))
    few += "          %10 float64 store out %1\n"
    assert "gpu block 128 points 2, 1 blocks 8 masked\n" in found(few)
    assert "registers for 8 blocks, more than it needs" in found(few)
    assert "gpu block 128 points 2, 1 masked\n" in found(_mirrored(12))
    assert "gpu block 128\n" in found(_mirrored(40))


LIGHT = """\
          %1 float64 load u[%0, 0]
          %2 float64 store out %1
"""


def _threads(rows: str, start: int = 0, head: str = ON_MESH) -> str:
    text = head.format(rows).replace("1 .. 9", f"{start} .. 9")
    (line,) = (each for each in show(widen(read(text), RULES)).splitlines() if "gpu block" in each)
    return line.strip()


def test_a_thread_has_two_packs_if_they_take_few_registers_and_rows_begin_with_it() -> None:
    assert _threads(LIGHT) == _threads(LIGHT, 4) == "gpu block 128 points 4, 1"
    assert "points 2, 1 blocks 8 masked" in _threads(LIGHT, 1)
    assert "points 2, 1 blocks 8 masked" in _threads(_mirrored(3))


GRID = f"""\
{KERNEL[: KERNEL.index("      thread J")]}\
      thread J: 0 .. 8
        %0 int64 index J
        thread I: 1 .. 9
{{}}"""


def test_rows_share_what_they_load_where_registers_suffice() -> None:
    def found(count: int) -> str:
        rows = _mirrored(count).replace("u[%0, ", "u[0, ")
        for n in range(1, count + 1):
            rows = rows.replace(f"u[0, {8 * n}]", f"u[0, {n - 1}]")
        return _threads(rows, head=GRID)

    assert "points 2, 2" in found(9)
    assert "points 2, 1" in found(14)


def test_rows_of_a_grid_that_begin_inside_a_thread_mask_their_ends() -> None:
    rows, head = (text.replace("float64", "float32") for text in (_mirrored(3), GRID))
    rows = rows.replace("u[%0, ", "u[0, ")
    assert _threads(rows, 0, head) == "gpu block 32, 4 points 4, 1"
    assert _threads(rows, 1, head) == "gpu block 32, 4 points 4, 1 masked"
