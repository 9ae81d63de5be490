"""Which fields of a nest are written by non-temporal stores."""

import attrs

from fieldforge.stages.codegen.cpu.passes.streaming import stream
from fieldforge.stages.codegen.pass_list import Rules

from ...programs import TARGET
from ...texts import after, unmarked

# Field v is read again, w has no rows along I, f holds smaller elements than a register divides.
STREAMED = """\
kernel streamed
  dimension I horizontal
  dimension J horizontal
  field out float64 [I, J] unit I
  field v float64 [I, J] unit I
  field w float64 [I, J] unit J
  field f bool [I, J] unit I
  group 0 (I: 0 .. n, J: 0 .. n)
  step 0
    nest n0 group 0  # stores all
      cpu streams out
      %0 float64 constant 1.0
      %1 bool constant true
      parallel J: 0 .. n
        vector I: 0 .. n
          %2 float64 store out %0
          %3 float64 store v %0
          %4 float64 store w %0
          %5 bool store f %1
    nest n1 group 0  # reads v
      cpu streams out
      parallel J: 0 .. n
        vector I: 0 .. n
          %0 float64 load v[0, 0]
          %1 float64 store out %0
"""


def test_fields_that_nothing_reads_and_whose_rows_are_whole_are_streamed() -> None:
    assert after(stream, unmarked(STREAMED)) == STREAMED


def test_a_machine_without_such_stores_has_none() -> None:
    rules = Rules(attrs.evolve(TARGET, isa="armv8-a"))
    assert after(stream, unmarked(STREAMED), rules) == unmarked(STREAMED)


def test_rows_without_a_loop_around_them_are_not_streamed() -> None:
    row = unmarked(STREAMED).replace("parallel J", "sequential J").replace("vector I", "parallel I")
    assert after(stream, row) == row
