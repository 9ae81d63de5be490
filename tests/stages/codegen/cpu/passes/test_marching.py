"""Levels march through blocks of rows: which nests, and the same bits for all parts of a loop."""

import re

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.diffusion import diffuse
from fieldforge.examples.laplacians import I, J, K, seven_points
from fieldforge.examples.precision import in_precision
from fieldforge.stages.codegen.cpu.passes.marching import march
from fieldforge.stages.target import Target

from ...texts import after, unmarked

# Blocks of eight rows, the fewest: a grid of some rows has several.
SMALL = attrs.evolve(Target.host(), l2=256)

# A point reads three planes of u and writes one of out: half a MiB holds 16384 points.
MARCHING = """\
kernel planes
  dimension I horizontal
  dimension J horizontal
  dimension K vertical
  field u float64 [I, J, K] unit I
  field out float64 [I, J, K] unit I
  group 0 (I: 0 .. n, J: 0 .. n, K: 1 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu march 16384
      parallel K: 1 .. n
        parallel J: 0 .. n
          vector I: 0 .. n
            %0 float64 load u[0, 0, -1]
            %1 float64 load u[0, 0, 1]
            %2 float64 add %0 %1
            %3 float64 store out %2
"""


def test_a_block_holds_the_planes_that_a_point_reads_and_writes():
    assert after(march, unmarked(MARCHING)) == MARCHING


def loops_of(program) -> str:
    return program.trace(until="codegen")["codegen"].loops


def test_stencils_over_planes_march_and_ask_for_the_first_plane_only():
    loops = loops_of(seven_points.with_backend(ff.cpu))
    assert "cpu march 16384 " in loops
    (row,) = re.findall(r" asked (%\d+)$", loops, re.MULTILINE)
    assert f"{row} float64 load u[0, 0, 1]" in loops


def test_stencils_in_a_plane_do_not_march():
    assert " march " not in loops_of(diffuse.with_backend(ff.cpu))


@pytest.mark.needs_compiler
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", ["seven_points", "twenty_seven_points"])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("rows", [1, 7, 8, 9, 37, 66])
def test_blocks_have_the_bits_of_whole_planes(dtype, name, threads, rows):
    """Threads begin and end inside blocks; rows in groups of four have blocks of their own."""
    program = getattr(in_precision("laplacians", dtype), name)
    numbers = np.random.default_rng(rows)
    u = numbers.normal(size=(35, rows + 2, 7)).astype(dtype)
    around = {I: (-1, 34), J: (-1, rows + 1), K: (-1, 6)}
    results = []
    for backend in (ff.cpu.with_options(target=SMALL), ff.cpu.with_passes(march=None)):
        field = ff.as_field(around, u, allocator=ff.cpu)
        core = {I: 33, J: rows, K: 5}
        out = ff.zeros(core, field.dtype.scalar_type, allocator=ff.cpu)
        chosen = backend.with_options(parallel_from=0)
        program.with_backend(chosen).with_threads(threads)(field, out)
        results.append(out.asnumpy().copy())
    assert results[0].any()
    np.testing.assert_array_equal(*results)
