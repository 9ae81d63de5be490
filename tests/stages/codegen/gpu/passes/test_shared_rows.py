"""What both sides of a condition compute stands before it."""

from fieldforge.stages.codegen.gpu.passes.shared_rows import with_shared_rows
from fieldforge.stages.ir.loops.column import Column
from fieldforge.stages.ir.loops.kernel import Node
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import rewrite
from fieldforge.stages.ir.loops.verify import verify

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


def changed(node: Node) -> Node:
    return with_shared_rows(node) if isinstance(node, Column) else node


def acts_of(text: str) -> str:
    """Return the acts of a column after the pass."""
    lines = [f"        {line}\n" for line in text.strip("\n").splitlines()]
    kernel = read(HEAD + "".join(lines))
    made = rewrite(
        kernel, lambda node: with_shared_rows(node) if isinstance(node, Column) else node
    )
    shown = show(verify(made)).splitlines()
    first = shown.index("      parallel I: 0 .. n") + 1
    return "\n".join(line.removeprefix("        ") for line in shown[first:])


def test_what_both_sides_of_a_condition_compute_stands_before_it():
    found = acts_of("""
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
""")

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
  %11 float64 store out[0, 0] %10"""
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

    assert acts_of(text).count("load out[0, 1]") == 2
    without_store = text.replace("    %3 float64 store out[0, 0] %0\n", "").splitlines()
    fewer = "\n".join(without_store)
    for number in range(4, 11):  # rows have numbers in the order of the text
        fewer = fewer.replace(f"%{number}", f"%{number - 1}")
    assert acts_of(fewer).count("load out[0, 1]") == 1
