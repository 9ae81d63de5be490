"""What both sides of a condition compute stands before it."""

from fieldforge.stages.codegen.gpu.passes.loading_ahead import with_shared_rows

from ...texts import acts_after


def test_what_both_sides_of_a_condition_compute_stands_before_it():
    found = acts_after(
        with_shared_rows,
        """
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 argument limit
  %2 bool gt %0 %1
  if %2
    %3 float64 load out[0, 0]
    %4 float64 mul %3 %0
    %5 float64 store out[0, 0] %4
    %6 float64 load u[0, 1]
    %7 float64 set 0 %6
  else
    %8 float64 load u[0, 1]
    %9 float64 load out[0, 0]
    %10 float64 mul %9 %0
    %11 float64 sub %10 %8
    %12 float64 store out[0, 0] %11
  %13 float64 get 0
  %14 float64 store out[0, 0] %13
""",
    )

    assert (
        found
        == """\
%0 float64 argument limit
sweep K: 0 .. 40
  %1 float64 load u[0, 0]
  %2 bool gt %1 %0
  %3 float64 load out[0, 0]
  %4 float64 mul %3 %1
  %5 float64 load u[0, 1]
  if %2
    %6 float64 store out[0, 0] %4
    %7 float64 set 0 %5
  else
    %8 float64 sub %4 %5
    %9 float64 store out[0, 0] %8
  %10 float64 get 0
  %11 float64 store out[0, 0] %10
"""
    )


def test_what_one_side_changes_before_it_reads_stays_there():
    text = """
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 argument limit
  %2 bool gt %0 %1
  if %2
    %3 float64 store out[0, 0] %0
    %4 float64 load out[0, 1]
    %5 float64 set 0 %4
  else
    %6 float64 load out[0, 1]
    %7 float64 add %6 %6
    %8 float64 set 0 %7
  %9 float64 get 0
  %10 float64 store out[0, 0] %9
"""

    assert acts_after(with_shared_rows, text).count("load out[0, 1]") == 2
    without_store = text.replace("    %3 float64 store out[0, 0] %0\n", "").splitlines()
    fewer = "\n".join(without_store)
    for number in range(4, 11):  # rows have numbers in the order of the text
        fewer = fewer.replace(f"%{number}", f"%{number - 1}")
    assert acts_after(with_shared_rows, fewer).count("load out[0, 1]") == 1
