"""The rules of the loop IR: a tree that breaks one is refused."""

import re
from textwrap import indent

import pytest

from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.verify import verify

from .kernels import COLUMNS, PLANES

NEST = """\
kernel small
  dimension I horizontal
  dimension J horizontal
  field u float64 [I] unit I
  field out float64 [I]
  arena @0 float64 [I] unit I order [I] box (I: 0 .. 8)
  group 0 (I: 0 .. 8)
  step 0
    nest n0 group 0  # fills @0
      cpu streams @0 asked %0
      vector I: 0 .. 8
        %0 float64 load u[-1]
        %1 float64 store @0 %0
    nest n1 group 0  # stores out
      vector I: 0 .. 8
        %0 float64 load @0[0]
        %1 float64 neg %0
        %2 float64 store out %1
"""
TILES = """\
kernel tiled
  dimension I horizontal
  dimension J horizontal
  field u float64 [I, J] unit I
  field out float64 [I, J] unit I
  tile @0 float64 [I, J] unit I order [J, I] box (I: -1 .. 9, J: 0 .. 8)
  group 0 (I: 0 .. 8, J: 0 .. 8)
  step 0
    tiles arrays @0  # stays in cache
      cut I: 0 .. 8 size 4
      member margins 1 1
        nest n0 group 0  # fills @0
          sequential J: 0 .. 8
            vector I: -1 .. 9
              %0 float64 load u[0, 0]
              %1 float64 store @0 %0
      member margins 0 0
        nest n1 group 0  # stores out
          sequential J: 0 .. 8
            vector I: 0 .. 8
              %0 float64 load @0[1, 0]
              %1 float64 store out %0
"""
PATCHES = """\
kernel patched
  dimension C2E local
  dimension Cell horizontal
  dimension Edge horizontal
  dimension K vertical
  order o0 size 96 portion 0 most 49152 percent 250
    list fills true row_bytes 128 owner "" leads_back false
    list fills false row_bytes 0 owner "" leads_back false readings 0 (C2E 0)
  field u float64 [Edge, K] unit K
  field out float64 [Cell, K] unit K
  table "table C2E" int32 [Cell, C2E]
  arena @0 float64 [Edge, K] unit K order [Edge, K] box (Edge: 0 .. 8, K: 0 .. 8)
  group 0 (Cell: 0 .. 8, K: 0 .. 8)
  step 0
    if min(1, patches(o0))  # @0 need not go to memory and back
      patches arrays @0 order o0 levels 16 points 2 threads 256 blocks 4 extent 8
        each 0
          nest n0 group 0  # fills @0
            gpu block 32, 4
            thread Edge: 0 .. 8
              thread K: 0 .. 8
                %0 float64 load u[0, 0]
                %1 float64 store @0 %0
        each 1
          nest n1 group 0  # stores out
            thread Cell: 0 .. 8
              %0 int32 load "table C2E"[0, 0]
              thread K: 0 .. 8
                %1 float64 load @0[%0, 0]
                %2 float64 store out %1
    else
      n0
      n1
"""
SCANS = """\
kernel scans
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  arena @0 float64 [I, K] unit I order [I, K] box (I: 0 .. 8, K: 0 .. n)
  group 0 (I: 0 .. 8, K: 0 .. n)
  step 0
    if min(1, n)
      columns arrays @0 threads 32 needed mul(n, 256) most 49152
        nest n0 group 0 states float64 %0  # walks down
          %0 float64 constant 0.0
          thread I: 0 .. 8
            sequential K: 0 .. n
              %1 float64 state 0
              %2 float64 advance 0 %1
              %3 float64 store @0 %1
        nest n1 group 0  # walks up
          thread I: 0 .. 8
            sequential K: 0 .. n backward
              %0 float64 load @0[0, 0]
              %1 float64 store out %0
    else
      n0
      n1
"""


@pytest.mark.parametrize("text", [NEST, TILES, PATCHES, SCANS, PLANES, COLUMNS])
def test_a_sound_tree_is_returned_as_it_is(text: str) -> None:
    sound = read(text)
    assert verify(sound) is sound


@pytest.mark.parametrize(
    ("text", "old", "new", "problem"),
    [
        # 1: rows
        (NEST, "neg %0", "neg %2", "row %1: refers to row %2, which is not defined before it"),
        (
            NEST,
            "  %0 float64 load u[-1]",
            "%0 float64 load u[-1]",
            "stands outside a loop that buffer 'u' needs",
        ),
        (NEST, "out float64 [I]", "out float64 [I, J]", "has a dimension that no loop walks"),
        (NEST, "load u[-1]", "load u[-1, 0]", "dimensions or offsets are not those of 'u'"),
        (NEST, "store out %1", "store w %1", "unknown buffer 'w'"),
        (NEST, "field out", "table out", "writes table 'out'"),
        (NEST, "%1 float64 neg %0", "%1 float64 state 0", "there is no state 0"),
        (NEST, "%1 float64 neg %0", "%1 float64 get 0", "a nest has states, no registers"),
        (NEST, "n1 group 0", "n1 group 1", "of group 1, which there is not"),
        (NEST, "field out", "field u", "two buffers have one name"),
        # 2: stored before it is loaded
        (NEST, "store @0 %0", "store u %0", "streams @0, which it does not all store"),
        (SCANS, "store @0 %1", "store u %1", "reads '@0' before a nest has written it"),
        # 3: both sides store the same
        (SCANS, "else\n      n0\n      n1\n", "else\n      n0\n", "one side of a choice stores"),
        # 4, 5: groups
        (
            TILES,
            "load @0[1, 0]\n              %1 float64 store out %0\n",
            "load @0[1, 0]\n              %1 float64 store out %0\n    n0\n",
            "outside its group touches array '@0'",
        ),
        (TILES, "cut I: 0 .. 8 size 4", "cut K: 0 .. 8 size 4", "a dimension that is declared"),
        (TILES, "margins 1 1", "margins 1 1, 0 0", "does not walk each cut once"),
        (
            TILES,
            "sequential J: 0 .. 8\n            vector I: 0 .. 8",
            "parallel J: 0 .. 8\n            vector I: 0 .. 8",
            "shares loops inside of tiles",
        ),
        (SCANS, ".. 8\n            seq", ".. 7\n            seq", "do not walk the same columns"),
        (PATCHES, "else\n      n0", "else\n      each 0\n        n0", "in no group of its kind"),
        (PATCHES, "each 1", "each 2", "has none of its 2 lists"),
        # 6, 7: platforms and marks
        (PATCHES, "gpu block 32, 4", "cpu march 64", "parts for a CPU and parts for a GPU"),
        (NEST, "asked %0", "asked %1", "is loaded ahead, but is no load"),
        (NEST, "asked %0", "usual %7 true", "has a mark, but is no row"),
        # 8: shared loops
        (SCANS, "out float64 [I, K] unit I", "out float64 [K]", "store one element of 'out'"),
        # 9: lists
        (PATCHES, "readings 0 (C2E 0)", "readings 1 (C2E 0)", "reads what no list before it fills"),
        # 10: loops
        (PLANES, "store @0[0, 0] %0\n", "store u[0, 0, 0] %0\n", "a dimension that no loop walks"),
        # columns
        (COLUMNS, "load out[0, -1]", "load out[-1, 0]", "loads another column of 'out'"),
        (COLUMNS, "float64 store out %14", "float64 store out %12", "row %15: refers to row %12"),
        (COLUMNS, "%6 float64 get 0", "%6 float64 get 2", "there is no register 2"),
        (COLUMNS, "%10 float64 get 0", "%10 float64 state 0", "a column has registers, no states"),
    ],
)
def test_a_tree_that_breaks_a_rule_is_refused(text: str, old: str, new: str, problem: str) -> None:
    assert old in text
    with pytest.raises(ValueError, match=re.escape(problem)):
        verify(read(text.replace(old, new, 1)))


def test_a_turn_of_a_loop_has_no_array_of_a_group_from_the_turn_before() -> None:
    first, second = PATCHES.index("        each 0"), PATCHES.index("        each 1")
    head, fills = PATCHES[:first], PATCHES[first:second]
    reads, end = PATCHES[second:].split("    else\n")
    once = f"{head}{fills}        loop K: 0 .. 4\n{indent(reads, '  ')}    else\n{end}"
    verify(read(once))
    verify(read(once.replace(indent(reads, "  "), indent(fills + reads, "  "))))
    with pytest.raises(ValueError, match="reads '@0' before a nest has written it"):
        verify(read(once.replace(indent(reads, "  "), indent(reads + fills, "  "))))
