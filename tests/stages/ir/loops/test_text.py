"""The text of the loop IR: printed, read back, equal; what is no text of it is refused."""

import pytest

from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.verify import verify

from .kernels import COLUMNS, PLANES, kernels

SMALL = """\
kernel small
  dimension I horizontal
  scalar dt float64
  field u float64 [I] unit I
  field out float64 [I]
  arena @0 float64 [I] unit I slot 0 order [I] box (I: 0 .. 8)  # asked for
  group 0 (I: 0 .. 8)
  slot 64
  # a note
  step 0
    if min(1, n)  # two ways
      nest n2 group 0  # stores out at once
        cpu streams out ahead 2 asked %0
        vector I: 0 .. 8
          %0 float64 load u[-1]
          %1 float64 store out %0
    else
      nest n0 group 0  # fills @0
        vector I: 0 .. 8
          %0 float64 load u[-1]
          %1 float64 store @0 %0
      nest n1 group 0  # stores out
        vector I: 0 .. 8
          %0 float64 load @0[0]
          %1 float64 store out %0
"""


def test_tree_and_text_hold_the_same() -> None:
    count = 0
    for name, tree in kernels():
        assert read(show(tree)) == tree, name
        count += 1
    assert count > 80


@pytest.mark.parametrize("text", [SMALL, PLANES, COLUMNS])
def test_a_tree_written_by_hand_is_read_and_printed(text: str) -> None:
    assert show(verify(read(text))) == text


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("kernel small", "kernle small", "Line 1: expected 'kernel'"),
        (
            "[I] unit I\n  field out",
            "[I] unit L\n  field out",
            "Line 4: expected a dimension that is declared",
        ),
        ("vector I: 0 .. 8\n", "vectorr I: 0 .. 8\n", "Line 14: expected a keyword"),
        ("load u[-1]", "loda u[-1]", "expected an instruction"),
        ("load u[-1]", "load w[-1]", "expected a buffer"),
        ("ahead 2", "aheat 2", "expected a field of 'cpu'"),
        ("slot 64", "slot 64 bytes", "Line 8: expected the end of the line"),
        ("%1 float64 store out", "%2 float64 store out", "rows of a nest have the numbers"),
        ("    else\n", "", "An 'if' has no 'else'"),
        ("  group 0 (", "group 0 (", "lines further in"),
    ],
)
def test_other_text_is_refused(old: str, new: str, problem: str) -> None:
    assert old in SMALL
    with pytest.raises(ValueError, match=problem):
        read(SMALL.replace(old, new))
