"""Levels share a test, and have none where one before says the same."""

from __future__ import annotations

import pytest

from fieldforge.stages.codegen.rows.level_groups import levels_together
from fieldforge.stages.ir.loops import Column, instructions, nodes_of
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.verify import verify

HEAD = """\
kernel columns
  dimension I horizontal
  group 0 (I: 0 .. n)
  step 0
    column group 0 registers int64  # acts
      parallel I: 0 .. n
"""
FIRST = """\
%0 int64 number 0
%1 int64 number n
"""


def groups(acts: str) -> list[tuple[list[int], bool]]:
    """Return the distances of levels that share a test, and whether it may be left out."""
    lines = [f"        {line}\n" for line in (FIRST + acts).strip("\n").splitlines()]
    kernel = verify(read(HEAD + "".join(lines)))
    assert read(show(kernel)) == kernel
    (column,) = nodes_of(kernel, Column)
    found = levels_together(tuple(instructions(column)), column.acts, 0)
    return [([distance for _, distance in each.levels], each.is_sure) for each in found]


SEARCH = """\
%2 int64 get 0
%3 int64 minimum %2 %1
%4 int64 maximum %3 %0
while
  %5 int64 get 0
  %6 int64 constant 1
  %7 int64 add %5 %6
  %8 int64 minimum %7 %1
  %9 int64 maximum %8 %0
  %10 int64 minimum %5 %1
  %11 int64 maximum %10 %0
  %12 bool lt %9 %11
holds %12
  %13 int64 set 0 %7
%14 int64 get 0
{later}
%16 int64 minimum %15 %1
%17 int64 maximum %16 %0
"""


def test_the_condition_of_a_loop_holds_for_levels_after_it():
    found = groups(SEARCH.replace("%15 %1", "%14 %1").format(later="%15 int64 constant 5"))

    assert found == [([0], False), ([0, -1], False), ([0], True)]


def test_a_level_that_no_test_before_has_seen_is_not_sure():
    text = "%15 int64 constant 1\n%16 int64 add %14 %15\n%17 int64 add %16 %15"
    after = SEARCH.replace("%17 int64 maximum %16", "%19 int64 maximum %18")
    found = groups(
        after.replace("%16 int64 minimum %15", "%18 int64 minimum %17").format(later=text)
    )

    assert found == [([0], False), ([0, -1], False), ([0], False)]


UNSURE = {
    "a branch that may not be taken": """\
%2 int64 get 0
%3 bool lt %2 %1
if %3
  %4 int64 minimum %2 %1
  %5 int64 maximum %4 %0
  %6 int64 set 0 %2
%7 int64 minimum %2 %1
%8 int64 maximum %7 %0
""",
    "a loop that may take no turn": """\
while
  %2 int64 get 0
  %3 bool lt %2 %1
holds %3
  %4 int64 minimum %2 %1
  %5 int64 maximum %4 %0
  %6 int64 set 0 %5
%7 int64 get 0
%8 int64 minimum %7 %1
%9 int64 maximum %8 %0
""",
    "a register that a branch changes": """\
%2 int64 get 0
%3 int64 minimum %2 %1
%4 int64 maximum %3 %0
%5 bool lt %2 %1
if %5
  %6 int64 set 0 %1
%7 int64 get 0
%8 int64 minimum %7 %1
%9 int64 maximum %8 %0
""",
}


@pytest.mark.parametrize("text", UNSURE.values(), ids=UNSURE)
def test_no_level_is_sure_by_the_test_of(text):
    assert groups(text) == [([0], False), ([0], False)]


def test_a_register_has_the_value_that_was_set():
    text = """\
%2 int64 get 0
%3 int64 constant 2
%4 int64 add %2 %3
%5 int64 minimum %4 %1
%6 int64 maximum %5 %0
%7 int64 set 0 %4
%8 int64 get 0
%9 int64 minimum %8 %1
%10 int64 maximum %9 %0
"""
    assert groups(text) == [([0, 0], False)]
