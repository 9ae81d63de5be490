"""Kernels written by hand as trees, compiled and compared with NumPy: what no program needs yet."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from fieldforge.runtime.calls.plan import ENTRY
from fieldforge.runtime.process.settings import current
from fieldforge.stages.artifacts import Generated
from fieldforge.stages.codegen.cpu.stage import FLAGS
from fieldforge.stages.codegen.cpu.text import units
from fieldforge.stages.codegen.cpu.text.kernel import write_cpp
from fieldforge.stages.codegen.integers import integers
from fieldforge.stages.codegen.rows.options import WriterOptions
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.ir.bounds import Bound, DomainSymbol, evaluate
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.verify import verify
from fieldforge.stages.ir.strides import Stride

from ... import programs

pytestmark = pytest.mark.needs_compiler

RANDOM = np.random.default_rng(5)


def run(folder: Path, text: str, options: WriterOptions | None = None, **fields: np.ndarray) -> int:
    """Compile and call a kernel on fields in the order of its text; return its code."""
    kernel = verify(read(text))
    known = integers(kernel)
    source = write_cpp(kernel, known, options or WriterOptions(0))
    stage = Compile(flags=programs.FLAGS, variables=current().compiler_variables)
    made = Generated(language="c++", source=source, loops="", flags=FLAGS)
    folder.joinpath("kernel.so").write_bytes(stage.run(generated=made)["compiled"].library)
    entry = getattr(ctypes.CDLL(str(folder / "kernel.so")), ENTRY)
    pointers = (ctypes.c_void_p * len(fields))(*(each.ctypes.data for each in fields.values()))
    numbers = [integer(each, fields) for each in known]
    arena = np.full(1 << 16, 0xFF, np.uint8)
    aligned = ctypes.c_void_p(-(-arena.ctypes.data // 64) * 64)
    return int(entry(pointers, (ctypes.c_int64 * 64)(*numbers), None, aligned, None))


def integer(source: Bound | Stride, fields: dict[str, np.ndarray]) -> int:
    def end(symbol: object) -> int:
        assert isinstance(symbol, DomainSymbol)
        axis = ["I", "K"].index(symbol.dim.value)
        return 0 if symbol.end == "start" else fields[symbol.field].shape[axis]

    if isinstance(source, Stride):
        field = fields[source.name]
        return field.strides[source.axis] // field.itemsize
    return evaluate(source, end)


# --- planes -------------------------------------------------------------------------------------

PLANES = """\
kernel planes
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  arena @0 float64 [I] unit I slot 0 order [I] box (I: 1 .. 15)
  group 0 (I: 1 .. 15, K: 1 .. stop(u, K))
  slot 1024
  step 0
    loop K: 1 .. stop(u, K){way}
      nest n0 group 0
        vector I: 1 .. 15
          %0 float64 load u[1, {before}]
          %1 float64 load u[-1, {before}]
          %2 float64 add %0 %1
          %3 int64 index K
          %4 float64 cast %3
          %5 float64 add %2 %4
          %6 float64 store @0[0] %5
      nest n1 group 0
        vector I: 1 .. 15
          %0 float64 load @0[0]
          %1 float64 store u[0, 0] %0
"""


@pytest.mark.parametrize(("way", "before"), [("", -1), (" backward", 1)])
def test_a_loop_runs_nests_for_one_plane_after_the_other(tmp_path, way, before):
    u = np.asfortranarray(RANDOM.random((16, 9)))
    expected = u.copy()
    order = range(1, 8) if before < 0 else range(7, 0, -1)
    for k in order:
        expected[1:15, k] = expected[2:16, k + before] + expected[:14, k + before] + k

    assert run(tmp_path, PLANES.format(way=way, before=before), u=u[:, :8]) == 0
    np.testing.assert_array_equal(u, expected)


def test_nests_of_a_loop_may_be_functions_of_their_own(tmp_path, monkeypatch):
    for name, value in {"CUT_FROM": 0, "UNIT": 5, "LEAST": 1, "LARGEST": 2.0}.items():
        monkeypatch.setattr(units, name, value)
    u = np.asfortranarray(np.ones((16, 3)))

    assert run(tmp_path, PLANES.format(way="", before=-1), u=u) == 0
    np.testing.assert_array_equal(u[2:14, 2], 8.0)


CHOICE = """\
kernel choice
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. stop(u, I), K: 0 .. stop(u, K))
  step 0
    if min(1, floordiv(stop(u, I), 8))
      nest n0 group 0
        parallel K: 0 .. stop(u, K)
          vector I: 0 .. stop(u, I)
            %0 float64 load u[0, 0]
            %1 float64 add %0 %0
            %2 float64 store out[0, 0] %1
    else
      nest n1 group 0
        parallel K: 0 .. stop(u, K)
          vector I: 0 .. stop(u, I)
            %0 float64 load u[0, 0]
            %1 float64 mul %0 %0
            %2 float64 store out[0, 0] %1
"""


@pytest.mark.parametrize("count", [7, 8])
def test_a_call_runs_one_side_of_a_choice(tmp_path, count):
    u = np.asfortranarray(RANDOM.random((count, 5)))
    out = np.zeros_like(u)

    assert run(tmp_path, CHOICE, u=u, out=out) == 0
    np.testing.assert_array_equal(out, u + u if count == 8 else u * u)


# --- columns ------------------------------------------------------------------------------------

COLUMNS = """\
kernel columns
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. stop(u, I), K: 0 .. 6)
  step 0
    column group 0 registers float64, int64
      {kind} I: 0 .. stop(u, I)
        %0 float64 constant 0.0
        %1 float64 set 0 %0
        %2 float64 constant 1.0
        %3 int64 constant 1
        sweep K: 0 .. 6
          %4 float64 load u[0, 0]
          %5 float64 get 0
          %6 float64 add %5 %4
          %7 float64 set 0 %6
          %8 bool gt %4 %2
          if %8
            %9 float64 store out[0, 0] %6
          else
            %10 int64 index K
            %11 int64 get 1
            %12 int64 add %11 %3
            %13 int64 set 1 %12
            %14 float64 store out[0, %10+1] %4 when %8
            %15 float64 store out[0, 0] %4 add
        while
          %16 float64 get 0
          %17 bool gt %16 %2
        holds %17
          %18 float64 constant 0.5
          %19 float64 mul %16 %18
          %20 float64 set 0 %19
        sweep K: 0 .. 5 backward
          %21 float64 load out[0, 1]
          %22 float64 load out[0, 0]
          %23 float64 add %21 %22
          %24 float64 store out[0, 0] %23
        %25 float64 get 0
        %26 int64 get 1
        %27 float64 cast %26
        %28 float64 add %25 %27
        %29 int64 constant 6
        %30 float64 store out[0, %29] %28
"""


def columns(u: np.ndarray, out: np.ndarray) -> None:
    """Compute in NumPy's numbers what the text says, column by column."""
    for i in range(u.shape[0]):
        total, small = 0.0, 0
        for k in range(6):
            total += u[i, k]
            if u[i, k] > 1.0:
                out[i, k] = total
            else:
                small += 1
                out[i, k] += u[i, k]
        while total > 1.0:
            total *= 0.5
        for k in reversed(range(5)):
            out[i, k] = out[i, k + 1] + out[i, k]
        out[i, 6] = total + small


@pytest.mark.parametrize("kind", ["parallel", "sequential"])
def test_columns_sweep_choose_and_repeat(tmp_path, kind):
    u = np.asfortranarray(RANDOM.random((13, 6)) * 2)
    out = np.asfortranarray(RANDOM.random((13, 7)))
    expected = out.copy(order="F")
    columns(u, expected)

    assert run(tmp_path, COLUMNS.format(kind=kind), u=u, out=out) == 0
    np.testing.assert_array_equal(out, expected)


SCATTER = """\
kernel scatter
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field place int64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. stop(u, I), K: 0 .. 6)
  step 0
    column group 0
      parallel I: 0 .. stop(u, I)
        sweep K: 0 .. 6
          %0 int64 load place[0, 0]
          %1 int64 constant 4
          %2 bool lt %0 %1
          %3 float64 load u[0, 0]
          %4 float64 store out[0, %0] %3 when %2 add
"""


def test_a_column_adds_at_levels_that_it_computes_where_a_condition_holds(tmp_path):
    u = np.asfortranarray(RANDOM.random((9, 6)))
    place = np.asfortranarray(RANDOM.integers(0, 6, (9, 6)))
    out, expected = (np.zeros((9, 6), order="F") for _ in range(2))
    for k in range(6):
        for i in range(9):
            expected[i, place[i, k]] += u[i, k] * (place[i, k] < 4)

    assert run(tmp_path, SCATTER, u=u, place=place, out=out) == 0
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("value", [1.0, np.nan])
def test_checked_columns_report_numbers_that_are_not_finite(tmp_path, value):
    u = np.full((9, 6), value, order="F")
    place = np.zeros((9, 6), np.int64, order="F")
    out = np.zeros((9, 6), order="F")

    code = run(tmp_path, SCATTER, WriterOptions(0, checked=True), u=u, place=place, out=out)

    assert code == (0 if value == 1.0 else 3)  # the third field
