"""How many registers a thread is expected to take, and in which order its rows stand."""

from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.plan.registers import OTHERS, by_demand, registers
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import nests_of, with_nests

HEAD = """\
kernel sums
  dimension E horizontal
  dimension K vertical
  field w float64 [E] unit E
  field u {} [E, K] unit K
  field out {} [E, K] unit K
  group 0 (E: 0 .. 8, K: 1 .. 8)
  step 0
    nest n0 group 0  # stores out
      thread E: 0 .. 8
        thread K: 1 .. 8
"""
EARLY = """\
          %0 float64 load u[0, 0]
          %1 float64 load u[1, 0]
          %2 float64 load u[2, 0]
          %3 float64 load u[3, 0]
          %4 float64 add %0 %1
          %5 float64 add %4 %2
          %6 float64 add %5 %3
          %7 float64 store out %6
"""
LATE = """\
          %0 float64 load u[0, 0]
          %1 float64 load u[1, 0]
          %2 float64 add %0 %1
          %3 float64 load u[2, 0]
          %4 float64 add %2 %3
          %5 float64 load u[3, 0]
          %6 float64 add %4 %5
          %7 float64 store out %6
"""


def kernel(rows: str, dtype: str = "float64") -> str:
    return HEAD.format(dtype, dtype) + rows.replace("float64", dtype)


def words(text: str, points: int) -> int:
    """Return the registers of values alone."""
    return registers(nests_of(read(text))[0], points) - OTHERS


def test_rows_stand_just_before_the_first_that_needs_them() -> None:
    ordered = with_nests(
        read(kernel(EARLY)), lambda nest: classes.evolve(nest, body=by_demand(nest.body))
    )

    assert show(ordered) == kernel(LATE)


def test_a_sum_keeps_what_it_has_the_next_number_and_the_new_sum() -> None:
    assert words(kernel(EARLY), 1) == 3 * 2
    assert words(kernel(EARLY), 4) == 4 * 3 * 2


def test_half_as_many_bytes_take_half_as_many_registers() -> None:
    assert words(kernel(EARLY, "float32"), 2) == 2 * 3


def test_what_does_not_change_along_the_rows_is_there_once() -> None:
    rows = """\
          %1 float64 load u[0, 0]
          %2 float64 mul %0 %1
          %3 float64 store out %2
"""
    inner = "        thread K: 1 .. 8\n"
    text = kernel(rows).replace(inner, f"        %0 float64 load w[0]\n{inner}")
    assert words(text, 1) == 3 * 2
    assert words(text, 4) == 2 + 2 * 4 * 2


def test_a_value_that_two_stores_need_stays_until_the_second() -> None:
    rows = """\
          %0 float64 load u[0, 0]
          %1 float64 store out %0
          %2 float64 load u[1, 0]
          %3 float64 load u[2, 0]
          %4 float64 add %2 %3
          %5 float64 add %4 {}
          %6 float64 store out[1, 0] %5
"""
    assert words(kernel(rows.format("%0")), 1) == 4 * 2
    assert words(kernel(rows.format("%2")), 1) == 3 * 2
