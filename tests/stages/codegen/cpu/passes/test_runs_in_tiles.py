"""Which runs of nests become tiles, in text; `test_tiling.py` runs tiles."""

import attrs

from fieldforge.stages.codegen.cpu.passes.tiling import tile
from fieldforge.stages.codegen.pass_list import Rules

from ...programs import TARGET
from ...texts import after

SMALL = Rules(attrs.evolve(TARGET, l2=8192))
HEAD = """\
kernel twice
  dimension I horizontal
  dimension J horizontal
  field u float64 [I, J] unit I
  field out float64 [I, J] unit I
"""
RUN = """\
  arena @0 float64 [I, J] unit I order [J, I] box (I: 0 .. n, J: -1 .. n + 1)
  group 0 (I: 0 .. n, J: 0 .. n)
  step 0
    nest n0 group 0  # fills @0
      parallel J: -1 .. n + 1
        vector I: 0 .. n
          %0 float64 load u[0, 0]
          %1 float64 store @0 %0
    nest n1 group 0  # stores out
      parallel J: 0 .. n
        vector I: 0 .. n
          %0 float64 load @0[0, -1]
          %1 float64 load @0[0, 1]
          %2 float64 add %0 %1
          %3 float64 store out %2
"""
TILES = """\
    tiles arrays @0 rolled J threads 2  # @0: about 16 of 8 KiB of cache
      cut J: 0 .. n size 256 even
      member margins 1 1
        nest n0 group 0  # fills @0
          sequential J: -1 .. n + 1
            vector I: 0 .. n
              %0 float64 load u[0, 0]
              %1 float64 store @0 %0
      member margins 0 0
        nest n1 group 0  # stores out
          sequential J: 0 .. n
            vector I: 0 .. n
              %0 float64 load @0[0, -1]
              %1 float64 load @0[0, 1]
              %2 float64 add %0 %1
              %3 float64 store out %2
"""
TILED = """\
  tile @0 float64 [I, J] unit I ring J order [J, I] box (I: 0 .. n, J: 0 .. 8)
  group 0 (I: 0 .. n, J: 0 .. n)
  step 0
"""
OTHER = """\
    nest n2 group 0  # stores out
      parallel I: 0 .. n
        sequential J: 0 .. n
          %0 float64 load u[0, 0]
          %1 float64 store out %0
"""


def test_nests_that_hand_an_array_on_become_tiles_with_a_ring_of_rows() -> None:
    assert after(tile, HEAD + RUN, SMALL) == HEAD + TILED + TILES


def test_a_run_ends_before_a_nest_with_other_loops() -> None:
    assert after(tile, HEAD + RUN + OTHER, SMALL) == HEAD + TILED + TILES + OTHER


def test_an_array_that_another_nest_reads_stays_whole() -> None:
    left = HEAD + RUN + OTHER.replace("load u", "load @0")
    assert after(tile, left, SMALL) == left


def test_a_run_in_a_branch_of_a_choice_becomes_tiles() -> None:
    def branches(nests: str) -> str:
        inside = "".join(f"  {line}" for line in nests.splitlines(keepends=True))
        other = "".join(f"  {line}" for line in OTHER.splitlines(keepends=True))
        return f"    if min(1, n)\n{other}    else\n{inside}"

    before, nests = RUN.split("  step 0\n")
    text = f"{HEAD}{before}  step 0\n{branches(nests)}"
    assert after(tile, text, SMALL) == HEAD + TILED + branches(TILES)


MAP_AND_SWEEP = """\
kernel swept
  dimension I horizontal
  dimension J horizontal
  dimension K vertical
  field u float64 [I, J, K] unit I
  field c float64 [K] unit K
  field out float64 [I, J, K] unit I
  arena @0 float64 [I, J, K] unit I order [K, J, I] box (I: 0 .. n, J: 0 .. n, K: 0 .. 40)
  group 0 (I: 0 .. n, J: 0 .. n, K: 0 .. 40)
  step 0
    nest n0 group 0  # fills @0
      parallel K: 0 .. 40
        %0 float64 load c[0]
        parallel J: 0 .. n
          vector I: 0 .. n
            %1 float64 load u[0, 0, 0]
            %2 float64 mul %0 %1
            %3 float64 store @0 %2
    nest n1 group 0  # stores out
      parallel J: 0 .. n
        sequential K: 0 .. 40
          vector I: 0 .. n
            %0 float64 load @0[0, 0, 0]
            %1 float64 store out %0
"""


def test_nests_of_one_row_of_columns_walk_its_levels_inside() -> None:
    """Then the row that is prefetched is one of the next level, not of another tile."""
    assert """\
        nest n0 group 0  # fills @0
          sequential J: 0 .. n
            sequential K: 0 .. 40
              %0 float64 load c[0]
              vector I: 0 .. n
                %1 float64 load u[0, 0, 0]
""" in after(tile, MAP_AND_SWEEP, SMALL)
