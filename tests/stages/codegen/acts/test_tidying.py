"""Acts of columns: each value once, before the loops that do not change it; dead rows left out."""

from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.acts.tidying import tidied
from fieldforge.stages.ir.loops.column import Column
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import rewrite

HEAD = """\
kernel columns
  dimension I horizontal
  dimension K vertical
  scalar limit float64
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. n, K: 0 .. 40)
  step 0
    column group 0 registers float64, bool  # acts
      reads u (I: 0 .. n, K: 0 .. 40)
      parallel I: 0 .. n
"""


def acts_of(text: str) -> str:
    """Return the acts of a column after it was tidied."""
    lines = [f"        {line}\n" for line in text.strip("\n").splitlines()]
    kernel = read(HEAD + "".join(lines))
    made = rewrite(kernel, lambda node: tidied(node) if isinstance(node, Column) else node)
    shown = show(classes.evolve(made)).splitlines()
    first = shown.index("      parallel I: 0 .. n") + 1
    return "\n".join(line.removeprefix("        ") for line in shown[first:])


def test_what_a_loop_does_not_change_stands_before_it():
    found = acts_of("""
sweep K: 0 .. 40
  while
    %0 float64 get 0
    %1 float64 argument limit
    %2 bool lt %0 %1
  holds %2
    %3 float64 load u[0, 0]
    %4 float64 mul %3 %1
    %5 float64 add %0 %4
    %6 float64 set 0 %5
  %7 float64 get 0
  %8 float64 store out[0, 0] %7
""")

    assert (
        found
        == """\
%0 float64 argument limit
sweep K: 0 .. 40
  %1 float64 load u[0, 0]
  %2 float64 mul %1 %0
  while
    %3 float64 get 0
    %4 bool lt %3 %0
  holds %4
    %5 float64 add %3 %2
    %6 float64 set 0 %5
  %7 float64 get 0
  %8 float64 store out[0, 0] %7"""
    )


def test_a_function_under_a_condition_of_a_loop_stays_there():
    found = acts_of("""
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  while
    %1 float64 get 0
    %2 bool lt %1 %0
  holds %2
    %3 bool gt %1 %1
    if %3
      %4 float64 exp %0
      %5 float64 set 0 %4
    else
      %6 float64 add %0 %0
      %7 float64 set 0 %6
""")

    before, inside = found.split("while")
    assert "add" in before
    assert "exp" not in before
    assert "exp" in inside


def test_values_of_registers_and_elements_that_are_known_are_not_read():
    found = acts_of("""
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 set 0 %0
  %2 float64 get 0
  %3 float64 add %2 %2
  %4 float64 store out[0, 0] %3
  %5 float64 load out[0, 0]
  %6 float64 store out[0, 1] %5
  %7 float64 load out[0, 0]
  %8 float64 mul %7 %7
  %9 float64 store out[0, 0] %8
""")

    assert (
        found
        == """\
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 add %0 %0
  %2 float64 store out[0, 0] %1
  %3 float64 store out[0, 1] %1
  %4 float64 mul %1 %1
  %5 float64 store out[0, 0] %4"""
    )


def test_an_element_is_read_again_after_a_store_that_may_have_changed_it():
    found = acts_of("""
%0 int64 constant 3
sweep K: 0 .. 40
  %1 float64 load out[0, 0]
  %2 float64 load u[0, 0]
  %3 float64 store out[0, %0] %2
  %4 float64 load out[0, 0]
  %5 float64 add %1 %4
  %6 float64 store out[0, 0] %5
""")

    assert found.count("load out[0, 0]") == 2


def test_a_sweep_loads_again_at_each_level():
    found = acts_of("""
sweep K: 0 .. 20
  %0 float64 load u[0, 0]
  %1 float64 store out[0, 0] %0
sweep K: 20 .. 40
  %2 float64 load u[0, 0]
  %3 float64 store out[0, 0] %2
""")

    assert found.count("load u[0, 0]") == 2


def test_conditions_on_one_row_are_one_and_loops_stand_under_those_that_they_keep():
    found = acts_of("""
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 argument limit
  %2 bool gt %0 %1
  if %2
    %3 float64 set 0 %1
  %4 bool not %2
  if %4
    %5 float64 set 0 %0
  while
    %6 float64 get 0
    %7 bool lt %6 %1
    %8 bool and %7 %4
  holds %8
    %9 float64 add %6 %6
    %10 float64 set 0 %9
  %11 float64 get 0
  %12 float64 store out[0, 0] %11
""")

    assert (
        found
        == """\
%0 float64 argument limit
sweep K: 0 .. 40
  %1 float64 load u[0, 0]
  %2 bool gt %1 %0
  if %2
    %3 float64 set 0 %0
  else
    %4 float64 set 0 %1
    while
      %5 float64 get 0
      %6 bool lt %5 %0
    holds %6
      %7 float64 add %5 %5
      %8 float64 set 0 %7
  %9 float64 get 0
  %10 float64 store out[0, 0] %9"""
    )


def test_registers_that_nobody_reads_are_left_out():
    found = acts_of("""
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 exp %0
  %2 float64 set 0 %1
  %3 float64 store out[0, 0] %0
""")

    assert (
        found
        == """\
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 store out[0, 0] %0"""
    )
