"""What the nests of a patch share, as text: one loop for two nests, one more array."""

from textwrap import dedent, indent

import attrs

from fieldforge.stages.codegen.gpu.options import GpuOptions
from fieldforge.stages.codegen.gpu.passes.sharing_in_patches import share_in_patches
from fieldforge.stages.gpu_target import GpuTarget

from ...texts import after

TIGHT, ROOMY = (
    GpuOptions(GpuTarget("sm_90", block_memory=room)).rules() for room in (1 << 10, 1 << 20)
)
HEAD = """\
kernel both
  dimension Cell horizontal
  dimension Edge horizontal
  dimension C2E local
  dimension E2C local
  dimension K vertical
  order o0 size 192 portion 0 most 49152 percent 250
    list fills true row_bytes 128 owner "" leads_back false
    list fills true row_bytes 128 owner "" leads_back false
    list fills false row_bytes 0 owner C2E leads_back false readings 0 (C2E 0)
    list fills false row_bytes 0 owner "" leads_back false readings 1 (E2C 0)
  scalar same int32
  field u float64 [Edge, K] unit K
  field w float64 [Cell, K] unit K
  field drift float64 [Cell, K] unit K
  field climb float64 [Edge, K] unit K
  table "table C2E" int32 [Cell, C2E] unit C2E
  table "table E2C" int32 [Edge, E2C] unit E2C
  arena @0 float64 [Edge, K] unit K order [Edge, K] box (Edge: 0 .. n, K: 0 .. 40)
  arena @1 float64 [Cell, K] unit K order [Cell, K] box (Cell: 0 .. m, K: 0 .. 40)
"""
FITS = (
    "mul(min(1, floordiv(mul(max(0, n), 2), max(1, mul(patches(o0), 192)))), min(1, patches(o0)))"
)
GROUPS = f"""\
  group 0 (Edge: 0 .. n, K: 0 .. 40)
  group 1 (Cell: 0 .. c, K: 0 .. 40)
  step 0
    if {FITS}  # @0, @1 need not go to memory and back
      patches arrays @0, @1 order o0 levels 16 points 4 threads 256 blocks 5 extent n
"""
SQUARES = """\
each 0
  nest n0 group 0  # fills @0
    gpu block 256
    thread Edge: 0 .. n
      thread K: 0 .. 40
        %0 float64 load u[0, 0]
        %1 float64 mul %0 %0
        %2 float64 store @0 %1
"""
FILLS = """\
each 1
  nest n1 group 0  # fills @1; K has unit stride
    gpu block 256
    thread Cell: 0 .. m
      %0 int32 load "table C2E"[0, 0]
      thread K: 0 .. 40
        %1 float64 load u[%0, 0]
        %2 float64 store @1 %1
"""
DRIFT = """\
each 2
  nest n2 group 1  # stores drift
    gpu block 256
    thread Cell: 0 .. c
      %0 int32 load "table C2E"[0, 0]
      thread K: 0 .. 40
        %1 float64 load u[%0, 0]
        %2 float64 load @0[%0, 0]
        %3 float64 mul %1 %2
        %4 float64 store drift %3
"""
READS = """\
each 3
  nest n4 group 0  # stores climb; K has unit stride
    gpu block 256
    thread Edge: 0 .. n
      %0 int32 load "table E2C"[0, 0]
      thread K: 0 .. 40
        %1 float64 load @1[%0, 0]
        %2 float64 load w[%0, 0]
        %3 float64 load w[%0, 1]
        %4 float64 mul %2 %3
        %5 float64 mul %1 %4
        %6 float64 store climb %5
"""
OWNED = """\
each 2 part owned
  nest n3 group 1  # stores drift; fills @1 too
    gpu block 256
    thread Cell: 0 .. c
      %0 int32 load "table C2E"[0, 0]
      thread K: 0 .. 40
        %1 float64 load u[%0, 0]
        %2 float64 load @0[%0, 0]
        %3 float64 mul %1 %2
        %4 float64 store @1[0, 0] %1
        %5 float64 store drift[0, 0] %3
"""
REST = FILLS.replace("each 1", "each 1 part rest")
BOTH = dedent(OWNED.partition("\n")[2])
BEFORE = (
    HEAD
    + GROUPS
    + indent(SQUARES + FILLS + DRIFT + READS, 8 * " ")
    + f"    else\n      n0\n      if same  # @1 from what nest 2 reads too\n{indent(BOTH, 8 * ' ')}"
    "      else\n        n1\n        n2\n      n4\n"
)


def body(text: str) -> str:
    """Return what runs in calls that have patches."""
    start = text.index("\n", text.index("      patches ")) + 1
    return dedent(text[start : text.index("    else\n      n0")])


def lists(text: str) -> list[str]:
    """Return what the inspector knows of each nest."""
    return [line.strip() for line in text.splitlines() if line.startswith("    list ")]


def test_one_loop_fills_an_array_and_stores_for_elements_that_a_patch_owns() -> None:
    made = after(share_in_patches, BEFORE, TIGHT)
    either = f"if same\n{indent(OWNED + REST, '  ')}else\n  each 1\n    n1\n{indent(DRIFT, '  ')}"
    assert body(made) == SQUARES + either + READS
    fills, reads = lists(made)[1:3]
    assert fills == 'list fills true row_bytes 128 owner "" leads_back false begins 2'
    assert reads.endswith("readings 0 (C2E 0)")


def test_nests_that_always_have_the_same_points_are_one_loop_always() -> None:
    made = after(share_in_patches, BEFORE.replace("if same", "if 1"), TIGHT)
    assert body(made) == SQUARES + OWNED + REST + READS


def test_patches_fit_where_the_new_lists_do() -> None:
    made = after(share_in_patches, BEFORE, TIGHT)
    assert made.count("  order o") == 1  # the order before is nowhere left
    assert f"    if {FITS}  # @0, @1 " in made


def test_a_value_of_each_neighbour_is_one_more_array() -> None:
    alone = BEFORE.replace("if same", "if 1")
    made = after(share_in_patches, alone, ROOMY)
    reason = "# 2 loads of each neighbour computed with what is filled beside it"
    assert f"  shared @2 float64 [Cell, K] unit K  {reason}\n" in made
    assert "patches arrays @0, @1, @2 order o0" in made
    assert lists(made)[1] == 'list fills true row_bytes 256 owner "" leads_back false begins 2'
    _, *loops = body(made).split("each ")
    for fills in loops[1:3]:
        assert ", fills @2\n" in fills
        assert "load w[0, 0]" in fills
        assert "store @2[0, 0]" in fills
    assert loops[3] == dedent("""\
        3
          nest n7 group 0  # stores climb, reads @2
            thread Edge: 0 .. n
              %0 int32 load "table E2C"[0, 0]
              thread K: 0 .. 40
                %1 float64 load @1[%0, 0]
                %2 float64 load @2[%0, 0]
                %3 float64 mul %1 %2
                %4 float64 store climb %3
        """)


def test_arrays_that_not_only_tables_lead_to_stay_apart() -> None:
    other = BEFORE.replace("load @0[%0, 0]", "load @0[%0+1, 0]")
    assert after(share_in_patches, other, TIGHT) == other


def test_checked_programs_keep_their_nests() -> None:
    assert after(share_in_patches, BEFORE, attrs.evolve(ROOMY, checked=True)) == BEFORE
