"""Acts of columns: levels that are free of each other, and elements that loops hold."""

import pytest

from fieldforge.stages.codegen.acts.free_levels import with_free_levels
from fieldforge.stages.codegen.acts.held_elements import with_held_elements
from fieldforge.stages.ir.loops.column import Column
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import rewrite
from fieldforge.stages.ir.loops.verify import verify

HEAD = """\
kernel columns
  dimension I horizontal
  dimension K vertical
  scalar limit float64
  field u float64 [I, K] unit {unit}
  field out float64 [I, K] unit {unit}
  group 0 (I: 0 .. n, K: 0 .. 40)
  step 0
    column group 0 registers float64  # acts
      reads u (I: 0 .. n, K: 0 .. 40)
"""
LOOP = "      parallel I: 0 .. n\n"
DOUBLED = """
sweep K: 0 .. 40
  %0 float64 load u[0, 0]
  %1 float64 add %0 %0
  %2 float64 store out[0, 0] %1
"""


def changed(text: str, change: object, unit: str = "I") -> str:
    """Return the loops and acts of a column after a pass."""
    lines = [f"        {line}\n" for line in text.strip("\n").splitlines()]
    kernel = read(HEAD.format(unit=unit) + LOOP + "".join(lines))
    buffers = {each.name: each for each in kernel.buffers}
    made = rewrite(kernel, lambda node: change(node, buffers) if isinstance(node, Column) else node)
    shown = show(verify(made)).splitlines()
    first = next(n for n, line in enumerate(shown) if "parallel" in line)
    return "\n".join(line.removeprefix("      ") for line in shown[first:])


@pytest.mark.parametrize("unit", ["I", "K"])
def test_levels_that_do_not_know_each_other_are_a_loop(unit):
    found = changed(DOUBLED, with_free_levels, unit)

    loops = {
        "I": "parallel K: 0 .. 40\n  parallel I: 0 .. n\n",
        "K": "parallel I: 0 .. n\n  parallel K: 0 .. 40\n",
    }
    assert found == loops[unit] + (
        "    %0 float64 load u[0, 0]\n    %1 float64 add %0 %0\n    %2 float64 store out[0, 0] %1"
    )


@pytest.mark.parametrize(
    "text",
    [
        DOUBLED.replace("store out[0, 0]", "store out[0, 1]").replace("40", "39"),
        DOUBLED.replace("load u[0, 0]", "get 0") + "  %3 float64 set 0 %1\n",
        DOUBLED + "  %3 float64 load out[0, -1]\n",
        DOUBLED + "%3 float64 get 0\n%4 float64 set 0 %3\n",
    ],
    ids=["stores another level", "carries a register", "loads another level", "acts after it"],
)
def test_other_levels_stay_a_sweep(text):
    kept = changed(text, lambda column, _: column)

    assert "sweep" in kept
    assert changed(text, with_free_levels) == kept


COUNTED = """
sweep K: 0 .. 39
  %0 float64 load u[0, 0]
  {first}while
    %2 float64 load out[0, 0]
    %3 bool lt %2 %0
  holds %3
    %4 float64 add %2 %0
    %5 float64 store out[0, 0] %4
"""


def test_an_element_that_is_stored_first_is_not_loaded():
    found = changed(COUNTED.format(first="%1 float64 store out[0, 0] %0\n  "), with_held_elements)

    assert "load out" not in found
    assert found.count("store out") == 1


def test_elements_at_levels_that_values_give_are_not_held():
    text = COUNTED.format(first="%1 int64 index K\n  ").replace(
        "store out[0, 0]", "store out[0, %1]"
    )
    kept = changed(text, lambda column, _: column)

    assert changed(text, with_held_elements) == kept


def test_an_element_that_only_a_condition_touches_is_held_under_it():
    text = """
sweep K: 0 .. 39
  %0 float64 load u[0, 0]
  %1 bool lt %0 %0
  if %1
    while
      %2 float64 load out[0, 0]
      %3 bool lt %2 %0
    holds %3
      %4 float64 store out[0, 0] %0
"""

    found = changed(text, with_held_elements).splitlines()

    assert found.index("    if %1") < found.index("      %2 float64 load out[0, 0]")
    assert found[-1] == "      %8 float64 store out[0, 0] %7"
