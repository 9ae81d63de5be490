"""Kernels written by hand as trees, in DaCe's words: what no program needs yet."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from fieldforge.runtime.calls.plan import ENTRY
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.codegen.cpu.stage import FLAGS
from fieldforge.stages.codegen.dace.arrangement import arranged
from fieldforge.stages.codegen.dace.loops import SdfgLoops, SdfgRules
from fieldforge.stages.codegen.dace.pass_list import DACE_PASSES
from fieldforge.stages.codegen.dace.source import sdfg_source
from fieldforge.stages.codegen.dace.tasklet import Style
from fieldforge.stages.codegen.dace.transformations import PassSettings
from fieldforge.stages.codegen.errors import CodegenError
from fieldforge.stages.codegen.integers import integers
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.verify import verify

from .. import programs
from ..cpu.text.test_nodes import CHOICE, COLUMNS, PLANES, SCATTER, columns, integer
from ..texts import RULES

pytestmark = [pytest.mark.needs_dace, pytest.mark.needs_compiler]

RANDOM = np.random.default_rng(5)


def run(folder: Path, text: str, *, checked: bool = False, **fields: np.ndarray) -> str:
    """Let DaCe write a kernel, call it on fields in the order of its text; return the listing."""
    kernel = verify(read(text))
    steps = tuple(range(1, 1 + len(kernel.steps))) if len(kernel.steps) > 1 else ()
    loops = SdfgLoops(arranged(kernel), (), integers(kernel), None, steps)
    style = Style(checked=checked)
    made = sdfg_source(loops, SdfgRules(RULES, style, DACE_PASSES, (), PassSettings()))
    stage = Compile(flags=programs.FLAGS, variables=current().compiler_variables)
    flags = (*FLAGS, "-fopenmp", "-Wl,--wrap=GOMP_parallel")
    generated = Generated(language="c++", source=made.source, loops="", flags=flags)
    folder.joinpath("kernel.so").write_bytes(stage.run(generated=generated)["compiled"].library)
    entry = getattr(ctypes.CDLL(str(folder / "kernel.so")), ENTRY)
    pointers = (ctypes.c_void_p * len(fields))(*(each.ctypes.data for each in fields.values()))
    numbers = [integer(each, fields) for each in made.loops.integers]
    arena = np.full(1 << 16, 0xFF, np.uint8)
    aligned = ctypes.c_void_p(-(-arena.ctypes.data // 64) * 64)
    assert entry(pointers, (ctypes.c_int64 * 64)(*numbers), None, aligned, None) == 0
    return made.listing


@pytest.mark.parametrize(("way", "before"), [("", -1), (" backward", 1)])
def test_a_loop_runs_nests_for_one_plane_after_the_other(tmp_path, way, before):
    u = np.asfortranarray(RANDOM.random((16, 9)))
    expected = u.copy()
    for k in range(1, 8) if before < 0 else range(7, 0, -1):
        expected[1:15, k] = expected[2:16, k + before] + expected[:14, k + before] + k

    listing = run(tmp_path, PLANES.format(way=way, before=before), u=u[:, :8])

    assert "loop o_K = " in listing
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


def test_an_array_is_handed_on_from_plane_to_plane(tmp_path):
    u = np.asfortranarray(RANDOM.integers(0, 9, (12, 5)).astype(float))
    expected = 1.0 + np.cumsum(u, axis=1)

    run(tmp_path, CARRIED, u=u)

    np.testing.assert_array_equal(u, expected)


NESTED = """\
kernel nested
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  group 0 (I: 1 .. stop(u, I), K: 1 .. 4)
  step 0
    loop I: 1 .. stop(u, I)
      nest n0 group 0
        sequential K: 0 .. 1
          %0 float64 load u[-1, 3]
          %1 float64 store u[0, 0] %0
      loop K: 1 .. 4
        column group 0
          %0 float64 load u[0, -1]
          %1 float64 load u[-1, 0]
          %2 float64 add %0 %1
          %3 float64 store u[0, 0] %2
"""


def test_loops_in_loops_run_in_turn(tmp_path):
    u = np.asfortranarray(RANDOM.random((5, 4)))
    expected = u.copy()
    for i in range(1, 5):
        expected[i, 0] = expected[i - 1, 3]
        for k in range(1, 4):
            expected[i, k] = expected[i, k - 1] + expected[i - 1, k]

    run(tmp_path, NESTED, u=u)

    np.testing.assert_array_equal(u, expected)


@pytest.mark.parametrize("kind", ["parallel", "sequential"])
def test_columns_sweep_choose_and_repeat(tmp_path, kind):
    u = np.asfortranarray(RANDOM.random((13, 6)) * 2)
    out = np.asfortranarray(RANDOM.random((13, 7)))
    expected = out.copy(order="F")
    columns(u, expected)

    listing = run(tmp_path, COLUMNS.format(kind=kind), u=u, out=out)

    assert "tasklet column" in listing
    np.testing.assert_array_equal(out, expected)


def test_a_column_adds_at_levels_that_it_computes_where_a_condition_holds(tmp_path):
    u = np.asfortranarray(RANDOM.random((9, 6)))
    place = np.asfortranarray(RANDOM.integers(0, 6, (9, 6)))
    out, expected = (np.zeros((9, 6), order="F") for _ in range(2))
    for k in range(6):
        for i in range(9):
            expected[i, place[i, k]] += u[i, k] * (place[i, k] < 4)

    run(tmp_path, SCATTER, u=u, place=place, out=out)

    np.testing.assert_array_equal(out, expected)


def test_checked_columns_are_refused(tmp_path):
    with pytest.raises(CodegenError, match="cannot test the values that columns of 'scatter'"):
        run(tmp_path, SCATTER, checked=True)


def test_a_choice_is_refused(tmp_path):
    with pytest.raises(CodegenError, match="'Choice'"):
        run(tmp_path, CHOICE)
