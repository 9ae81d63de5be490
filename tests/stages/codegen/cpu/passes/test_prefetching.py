"""Rows that are asked for before the loops come to them: which ones, and never outside a table."""

import re

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.examples.diffusion import K, diffuse
from fieldforge.stages.codegen.cpu.passes.prefetching import prefetch
from fieldforge.stages.ir.loops.cpu import marks_of
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of

from .....dimensions import C2EDim, Levels
from ...texts import after, unmarked

C = ff.Dimension("C")
E = ff.Dimension("E")
C2E = ff.FieldOffset("C2E", source=E, target=(C, C2EDim))
Cells = Field[Dims[C, K], float64]
Edges = Field[Dims[E, K], float64]

PREFETCHED = """\
kernel prefetched
  dimension I horizontal
  dimension J horizontal
  field u float64 [I, J] unit I
  field c float64 [I] unit I
  field out float64 [I, J] unit I
  group 0 (I: 0 .. n, J: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu ahead 2 asked %1
      parallel J: 0 .. n
        vector I: 0 .. n
          %0 float64 load u[0, -1]
          %1 float64 load u[1, 1]
          %2 float64 load u[0, 0]
          %3 float64 load c[0]
          %4 float64 add %0 %1
          %5 float64 fma %2 %3 %4
          %6 float64 store out %5
"""

IN_TURN = """\
kernel in_turn
  dimension I horizontal
  dimension J horizontal
  field u float64 [I, J] unit I
  field c float64 [I, J] unit I
  field out float64 [I, J] unit I
  tile @0 float64 [I, J] unit I ring J order [J, I] box (I: 0 .. n, J: 0 .. 8)
  tile @1 float64 [I, J] unit I ring J order [J, I] box (I: 0 .. n, J: 0 .. 8)
  group 0 (I: 0 .. n, J: 0 .. n)
  step 0
    tiles arrays @0, @1 rolled J threads 2  # @0, @1: about 32 of 8 KiB of cache
      cut J: 0 .. n size 256 even
      member margins 2 2
        nest n0 group 0  # fills @0
          sequential J: -2 .. n + 2
            vector I: 0 .. n
              %0 float64 load u[0, 0]
              %1 float64 load u[0, 1]
              %2 float64 add %0 %1
              %3 float64 store @0 %2
      member margins 1 1
        nest n1 group 0  # fills @1
          cpu ahead 1 asked %0
          sequential J: -1 .. n + 1
            vector I: 0 .. n
              %0 float64 load c[0, 0]
              %1 float64 load @0[0, 1]
              %2 float64 mul %0 %1
              %3 float64 store @1 %2
      member margins 0 0
        nest n2 group 0  # stores out
          cpu ahead 4 asked %2
          sequential J: 0 .. n
            vector I: 0 .. n
              %0 float64 load @1[0, -1]
              %1 float64 load @1[0, 1]
              %2 float64 load u[0, 0]
              %3 float64 add %0 %1
              %4 float64 add %3 %2
              %5 float64 store out %4
"""

STAGGERED = """\
kernel staggered
  dimension I horizontal
  dimension J horizontal
  dimension _StaggeredI horizontal
  dimension _StaggeredJ horizontal
  field west float64 [_StaggeredI, J] unit _StaggeredI
  field south float64 [I, _StaggeredJ] unit I
  field out float64 [I, J] unit I
  group 0 (I: 0 .. n, J: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu ahead 2 asked %1, %5
      parallel J: 0 .. n
        %3 int64 index J
        vector I: 0 .. n
          %0 int64 index I
          %1 float64 load west[%0, 0]
          %2 float64 load west[%0+1, 0]
          %4 float64 load south[0, %3]
          %5 float64 load south[0, %3+1]
          %6 float64 add %1 %2
          %7 float64 fma %4 %5 %6
          %8 float64 store out %7
"""

MARCHING = """\
kernel marching
  dimension I horizontal
  dimension J horizontal
  dimension K vertical
  field u float64 [I, J, K] unit I
  field out float64 [I, J, K] unit I
  group 0 (I: 0 .. n, J: 0 .. n, K: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu march 512 ahead 2 asked %1
      parallel K: 0 .. n
        parallel J: 0 .. n
          vector I: 0 .. n
            %0 float64 load u[0, 1, 0]
            %1 float64 load u[0, 0, 1]
            %2 float64 add %0 %1
            %3 float64 store out %2
"""


@ff.field_operator
def summed(e: Edges, c: Cells) -> Cells:
    return e(C2E[0]) + e(C2E[1]) * c


@ff.program
def to_cells(e: Edges, c: Cells, out: Cells):
    summed(e, c, out=out)


@ff.scan_operator(axis=K, forward=False, init=0.0)
def upwards(below: float64, u: float64) -> float64:
    return 0.5 * below + u


@ff.program
def sweep(u: Levels, out: Levels):
    upwards(u, out=out)


def asked(loops: str) -> list[tuple[str, ...]]:
    """Return for each nest how far ahead is asked along which dimension, and the buffers read."""
    found = []
    for nest in nests_of(read(loops)):
        marks, around = marks_of(nest), nest.loops[-2].range.dim.value
        loads = [nest.body[row] for row in marks.asked]
        places = (f"{load.buffer}{list(load.offsets)}" for load in loads)
        found.append((f"{marks.ahead} of {around}" if loads else "", *places))
    return found


def test_rows_that_no_load_has_read_before_are_prefetched() -> None:
    assert after(prefetch, unmarked(PREFETCHED)) == PREFETCHED


def test_backward_loops_prefetch_the_first_row_and_groups_of_rows_one_group_ahead() -> None:
    back = PREFETCHED.replace("parallel J: 0 .. n", "sequential J: 0 .. n backward")
    back = back.replace("asked %1", "asked %0")
    assert after(prefetch, unmarked(back)) == back
    wide = PREFETCHED.replace("parallel J: 0 .. n", "parallel J: 0 .. n step 4")
    wide = wide.replace("ahead 2 asked %1", "ahead 1 asked %0, %1, %2")
    assert after(prefetch, unmarked(wide)) == wide


def test_marching_nests_prefetch_the_foremost_plane_only() -> None:
    assert after(prefetch, MARCHING.replace(" ahead 2 asked %1", "")) == MARCHING


def test_the_last_nest_of_a_tile_that_reads_a_row_prefetches_it_before_the_first_one_does() -> None:
    assert after(prefetch, unmarked(IN_TURN)) == IN_TURN
    # where they take no turns, each nest walks all rows of a tile
    apart = unmarked(IN_TURN).replace(" rolled J", "").replace(" ring J", "")
    assert after(prefetch, apart).count("cpu ahead 2 asked %") == 3


def test_nests_without_a_vector_loop_prefetch_nothing() -> None:
    left = unmarked(PREFETCHED).replace("vector I", "sequential I")
    assert after(prefetch, left) == left


def test_of_a_stencil_the_foremost_rows_are_asked_for() -> None:
    backend = ff.cpu.with_options(jam=False)
    loops = diffuse.with_backend(backend).trace(until="codegen")["codegen"].loops
    assert asked(loops) == [("2 of J", "coeff[0, 0, 0]", "u[0, 2, 0]")]


def test_a_sweep_asks_for_the_next_level_in_its_direction() -> None:
    trace = sweep.with_backend(ff.cpu).trace(until="codegen")["codegen"]
    assert ("2 of K", "u[0, 0, 0]") in asked(trace.loops)
    assert re.search(r"const s64 j\d = later\(n\d+, i\d - 2\);", trace.text)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("cells", [1, 15, 16, 17, 40])
def test_rows_that_a_table_tells_are_asked_for_within_the_table(cells: int) -> None:
    numbers = np.random.default_rng(cells)
    edges = 2 * cells
    table = ff.as_connectivity(
        {C: cells, C2EDim: 2}, E, numbers.permutation(edges).reshape(cells, 2).astype(np.int32)
    )
    e, c = numbers.random((edges, 32)), numbers.random((cells, 32))
    out = ff.zeros({C: cells, K: 32}, allocator=ff.cpu)
    # every call prefetches whose rows have 256 bytes
    backend = ff.cpu.with_options(numerics="strict", stream_from=1)
    program = to_cells.with_backend(backend)

    program(
        ff.as_field((E, K), e, allocator=ff.cpu),
        ff.as_field((C, K), c, allocator=ff.cpu),
        out,
        offset_provider={"C2E": table},
    )

    first, second = table.ndarray.T
    np.testing.assert_array_equal(out.asnumpy(), e[first] + e[second] * c)
    trace = program.trace(offset_provider={"C2E": table})["codegen"]
    assert asked(trace.loops) == [("16 of C", "e[0, 0]", "e[0, 0]", "c[0, 0]")]
    assert "earlier(i0 + 16, " in trace.text
    assert re.search(r"const bool asks = .* >= 1 && \(n\d+ - n\d+\) \* 8 >= 256;", trace.text)


def test_rows_of_staggered_fields_are_rows() -> None:
    assert after(prefetch, unmarked(STAGGERED)) == STAGGERED


def test_nothing_is_asked_for_where_the_option_says_so() -> None:
    backend = ff.cpu.with_options(prefetch=False)
    trace = diffuse.with_backend(backend).trace(until="codegen")["codegen"]
    assert "asked" not in trace.loops
    assert "prefetch" not in trace.text
