"""Which nests share a state of an SDFG, and arrays of tiles that threads have instead."""

import pytest

from fieldforge.stages.codegen.dace.arrangement import arranged, of_threads
from fieldforge.stages.codegen.dace.rare import ungrouped
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show

from ..texts import after

# Two nests that scan and read an array, tile by tile: a tile is one row.
TILED = """\
kernel sweep
  dimension I horizontal
  dimension J horizontal
  dimension K vertical
  field a float64 [I, J, K] unit I
  field out float64 [I, J, K] unit I
  tile @1 float64 [I, J, K] unit I order [K, J, I] box (I: 0 .. n, J: 0 .. 1, K: 0 .. m)
  group 0 (I: 0 .. n, J: 0 .. l, K: 0 .. m)
  step 0
    tiles arrays @1 threads 4  # @1 stays in cache
      cut J: 0 .. l size 1
      member margins 0 0
        nest n0 group 0 states float64 %0  # walks %3
          reads a (I: 0 .. n, J: 0 .. l, K: 0 .. m)
          %0 float64 constant 0.0
          sequential J: 0 .. l
            vector I: 0 .. n
              sequential K: 0 .. m
                %1 float64 state 0
                %2 float64 load a[0, 0, 0]
                %3 float64 add %1 %2
                %4 float64 advance 0 %3
                %5 float64 store @1 %3
      member margins 0 0
        nest n1 group 0  # stores out
          sequential J: 0 .. l
            sequential K: 0 .. m
              vector I: 0 .. n
                %0 float64 load @1[0, 0, 0]
                %1 float64 store out %0
"""

# Two nests compute what the third stores; the fourth stores, too.
APART = """\
kernel values
  dimension I horizontal
  field a float64 [I]
  field out float64 [I]
  field more float64 [I]
  arena @0 float64 [I] unit I slot 0 order [I] box (I: 0 .. n)
  arena @1 float64 [I] unit I slot 1 order [I] box (I: 0 .. n)
  group 0 (I: 0 .. n)
  step 0
    nest n0 group 0  # fills @0
      vector I: 0 .. n
        %0 float64 load a[0]
        %1 float64 store @0 %0
    nest n1 group 0  # fills @1
      vector I: 0 .. n
        %0 float64 load @0[0]
        %1 float64 neg %0
        %2 float64 store @1 %1
    nest n2 group 0  # stores out
      vector I: 0 .. n
        %0 float64 load @1[0]
        %1 float64 store out %0
    nest n3 group 0  # stores more
      vector I: 0 .. n
        %0 float64 load @1[0]
        %1 float64 store more %0
"""


def states(text: str) -> list[int]:
    """Return how many nests each state has."""
    return [len(step.members) for step in arranged(read(text)).steps[0].body.steps]


def test_what_a_nest_stores_ends_a_state_with_the_operands_before_it() -> None:
    assert states(APART) == [3, 1]


@pytest.mark.parametrize(
    ("old", "new", "members"),
    [
        ("%0 float64 load @1[0]\n        %1 float64 store out", "%0 float64 load a[0]\n"
         "        %1 float64 store out", [2, 1, 1]),  # needs nothing that they compute
        ("store @1 %1", "store @0 %1", [1, 1, 1, 1]),  # overwrites what was read
        ("store @0 %0", "store out %0", [1, 2, 1]),  # stores a field
    ],
)  # fmt: skip
def test_nests_that_must_keep_their_order_have_states_of_their_own(
    old: str, new: str, members: list[int]
) -> None:
    assert old in APART
    assert states(APART.replace(old, new, 1)) == members


def test_nests_of_a_state_come_apart_again() -> None:
    assert show(ungrouped(arranged(read(APART)))) == APART


def test_threads_have_arrays_in_place_of_tiles_of_one_row() -> None:
    arrays = TILED.replace("  tile @1 ", "  arena @1 ").replace(
        "order [K, J, I]", "order [J, K, I]"
    )
    arrays = arrays.replace("J: 0 .. 1,", "J: 0 .. 4,").replace("tiles arrays @1 ", "tiles ")
    assert after(of_threads, TILED) == arrays
    assert show(arranged(read(arrays))) == arrays


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("size 1", "size 2"),
        ("size 1", "size 1 even"),
        ("margins 0 0\n        nest n0", "margins 1 0\n        nest n0"),
        ("threads 4", "rolled J threads 4"),
    ],
)
def test_other_tiles_keep_their_arrays(old: str, new: str) -> None:
    left = TILED.replace(old, new)
    assert left != TILED
    assert after(of_threads, left) == left
