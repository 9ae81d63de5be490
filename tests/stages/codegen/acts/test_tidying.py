"""Acts of columns: each value once, before the loops that do not change it; dead rows left out."""

import pytest

from fieldforge.stages.codegen.acts.tidying import tidied

from ..texts import acts_after

TIDIED = {
    "what a loop does not change stands before it": """\
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
->
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
  %8 float64 store out[0, 0] %7
""",
    "values of registers and elements that are known are not read": """\
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
->
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 add %0 %0
  %2 float64 store out[0, 0] %1
  %3 float64 store out[0, 1] %1
  %4 float64 mul %1 %1
  %5 float64 store out[0, 0] %4
""",
    "conditions on one row are one and loops stand under those that they keep": """\
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
->
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
  %10 float64 store out[0, 0] %9
""",
    "registers that nobody reads are left out": """\
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 exp %0
  %2 float64 set 0 %1
  %3 float64 store out[0, 0] %0
->
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 store out[0, 0] %0
""",
}


@pytest.mark.parametrize("text", TIDIED.values(), ids=TIDIED)
def test_acts_are_tidied(text):
    before, after = text.split("->\n")
    assert acts_after(tidied, before) == after


def test_a_function_under_a_condition_of_a_loop_stays_there():
    found = acts_after(
        tidied,
        """
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
""",
    )

    before, inside = found.split("while")
    assert "add" in before
    assert "exp" not in before
    assert "exp" in inside


def test_an_element_is_read_again_after_a_store_that_may_have_changed_it():
    found = acts_after(
        tidied,
        """
%0 int64 constant 3
sweep K: 0 .. 40
  %1 float64 load out[0, 0]
  %2 float64 load u[0, 0]
  %3 float64 store out[0, %0] %2
  %4 float64 load out[0, 0]
  %5 float64 add %1 %4
  %6 float64 store out[0, 0] %5
""",
    )

    assert found.count("load out[0, 0]") == 2


def test_a_sweep_loads_again_at_each_level():
    found = acts_after(
        tidied,
        """
sweep K: 0 .. 20
  %0 float64 load u[0, 0]
  %1 float64 store out[0, 0] %0
sweep K: 20 .. 40
  %2 float64 load u[0, 0]
  %3 float64 store out[0, 0] %2
""",
    )

    assert found.count("load u[0, 0]") == 2
