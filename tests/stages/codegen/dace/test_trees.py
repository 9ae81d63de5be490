"""Kernels written by hand as trees, for CPUs and in DaCe's words: what no program needs yet."""

from functools import partial

import numpy as np
import pytest

from fieldforge.runtime.process import CodegenError
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.codegen.dace.arrangement import arranged
from fieldforge.stages.codegen.dace.gpu.stage import CodegenDaceGpu
from fieldforge.stages.codegen.dace.loops import SdfgLoops
from fieldforge.stages.codegen.dace.sdfg_stage import SdfgStage
from fieldforge.stages.codegen.dace.source import dace_text
from fieldforge.stages.codegen.dace.stage import CodegenDace
from fieldforge.stages.codegen.interface import integers
from fieldforge.stages.ir.bounds import Bound
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.verify import verify
from fieldforge.stages.ir.strides import Stride

from ..cpu.text.test_nodes import run as by_cpu
from ..tree_kernels import (
    CHOICE,
    SCATTER,
    after_columns,
    after_nested,
    after_planes,
    after_scatter,
    call,
    columns,
    nested,
    planes,
)

pytestmark = pytest.mark.needs_compiler
needs_dace = pytest.mark.needs_dace

RANDOM = np.random.default_rng(5)


STAGES = {"dace_cpu": CodegenDace(), "dace_gpu-host": CodegenDaceGpu(host=True)}


@pytest.fixture(params=["cpu", *(pytest.param(each, marks=needs_dace) for each in STAGES)])
def run(request, tmp_path):
    """Return a function that calls a kernel on fields in its order, and returns the listing."""

    def called(text: str, **fields: np.ndarray) -> str:
        if request.param == "cpu":
            assert by_cpu(tmp_path, text, **fields) == 0
            return ""
        ints, made = generated(STAGES[request.param], text)
        assert call(tmp_path, made, ints, fields) == 0
        return made.loops

    return called


def generated(
    stage: SdfgStage, text: str, steps: tuple[int, ...] = ()
) -> tuple[tuple[Bound | Stride, ...], Generated]:
    """Return the integers of a kernel's call, and what DaCe writes of it."""
    kernel = verify(read(text))
    rules = stage._rules(())
    loops = SdfgLoops(arranged(kernel), (), integers(kernel), None, steps)
    written = dace_text(loops, rules, partial(stage._write, rules))
    return written.loops.integers, stage._generated(written, rules)


@pytest.mark.parametrize("backward", [False, True])
def test_a_loop_runs_nests_for_one_plane_after_the_other(run, backward):
    u = np.asfortranarray(RANDOM.random((16, 9)))
    expected = after_planes(u, backward=backward)

    run(planes("I", backward=backward), u=u)

    np.testing.assert_array_equal(u, expected)


# The array holds what the plane before has left, and no other array may lie in its place.
CARRIED = """\
kernel carried
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  arena @0 float64 [I] unit I slot 0 order [I] box (I: 0 .. stop(u, I))
  arena @1 float64 [I] unit I slot 1 order [I] box (I: 0 .. stop(u, I))
  group 0 (I: 0 .. stop(u, I), K: 0 .. stop(u, K))
  slot 1024
  slot 1024
  step 0
    nest n0 group 0
      vector I: 0 .. stop(u, I)
        %0 float64 constant 1.0
        %1 float64 store @0[0] %0
    loop K: 0 .. stop(u, K)
      nest n1 group 0
        vector I: 0 .. stop(u, I)
          %0 float64 load @0[0]
          %1 float64 load u[0, 0]
          %2 float64 add %0 %1
          %3 float64 store @1[0] %2
      nest n2 group 0
        vector I: 0 .. stop(u, I)
          %0 float64 load @1[0]
          %1 float64 store u[0, 0] %0
      nest n3 group 0
        vector I: 0 .. stop(u, I)
          %0 float64 load @1[0]
          %1 float64 store @0[0] %0
"""


def test_an_array_is_handed_on_from_plane_to_plane(run):
    u = np.asfortranarray(RANDOM.integers(0, 9, (12, 5)).astype(float))
    expected = 1.0 + np.cumsum(u, axis=1)

    run(CARRIED, u=u)

    np.testing.assert_array_equal(u, expected)


def test_loops_in_loops_run_in_turn(run):
    u = np.asfortranarray(RANDOM.random((5, 4)))
    expected = after_nested(u)

    run(nested("I"), u=u)

    np.testing.assert_array_equal(u, expected)


@pytest.mark.parametrize("kind", ["parallel", "sequential"])
def test_columns_sweep_choose_and_repeat(run, kind):
    u = np.asfortranarray(RANDOM.random((13, 6)) * 2)
    out = np.asfortranarray(RANDOM.random((13, 7)))
    expected = after_columns(u, out)

    listing = run(columns("I", kind), u=u, out=out)

    assert not listing or "tasklet column" in listing
    np.testing.assert_array_equal(out, expected)


def test_a_column_adds_at_levels_that_it_computes_where_a_condition_holds(run):
    u = np.asfortranarray(RANDOM.random((9, 6)))
    place = np.asfortranarray(RANDOM.integers(0, 6, (9, 6)))
    out, expected = np.zeros((9, 6), order="F"), after_scatter(u, place)

    run(SCATTER, u=u, place=place, out=out)

    np.testing.assert_array_equal(out, expected)


SCALED = """\
kernel scaled
  dimension I horizontal
  dimension K vertical
  scalar a float64
  field u float64 [I, K] unit I
  group 0 (I: 0 .. stop(u, I), K: 0 .. stop(u, K))
  step 0
    column group 0
      parallel I: 0 .. stop(u, I)
        sweep K: 0 .. stop(u, K)
          %0 float64 load u[0, 0]
          %1 float64 argument a
          %2 float64 mul %0 %1
          %3 float64 minimum %2 %0
          %4 float64 store u[0, 0] %3
"""


def test_columns_read_numbers_of_a_call(run):
    u = np.asfortranarray(RANDOM.random((70, 3)) - 0.5)
    expected = np.minimum(u * 2.5, u)

    run(SCALED, u=u)

    np.testing.assert_array_equal(u, expected)


@needs_dace
def test_checked_columns_are_refused():
    with pytest.raises(CodegenError, match="cannot test the values that columns of 'scatter'"):
        generated(CodegenDace(checked=True), SCATTER)


@needs_dace
@pytest.mark.parametrize("name", STAGES)
def test_a_choice_is_refused(name):
    with pytest.raises(CodegenError, match="'Choice'"):
        generated(STAGES[name], CHOICE)


@needs_dace
def test_a_loop_stands_in_the_block_of_its_statement():
    _, made = generated(CodegenDace(), planes("I"), steps=(1,))

    lines = [line.strip() for line in made.loops.splitlines()]
    (place,) = (n for n, line in enumerate(lines) if line.startswith("loop o_K = "))
    assert lines[place - 1] == "if ((only_statement == 0) or (only_statement == 1))"
