"""Kernels written by hand as trees, compiled and compared with NumPy: what no program needs yet."""

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
from ...tree_kernels import (
    CHOICE,
    SCATTER,
    after_columns,
    after_planes,
    after_scatter,
    columns,
    planes,
)

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


@pytest.mark.parametrize("backward", [False, True])
def test_a_loop_runs_nests_for_one_plane_after_the_other(tmp_path, backward):
    u = np.asfortranarray(RANDOM.random((16, 9)))
    expected = after_planes(u, backward=backward)

    assert run(tmp_path, planes("I", backward=backward), u=u) == 0
    np.testing.assert_array_equal(u, expected)


def test_nests_of_a_loop_may_be_functions_of_their_own(tmp_path, monkeypatch):
    for name, value in {"CUT_FROM": 0, "UNIT": 5, "LEAST": 1, "LARGEST": 2.0}.items():
        monkeypatch.setattr(units, name, value)
    u = np.asfortranarray(np.ones((16, 3)))

    assert run(tmp_path, planes("I"), u=u) == 0
    np.testing.assert_array_equal(u[2:14, 2], 8.0)


@pytest.mark.parametrize("count", [7, 8])
def test_a_call_runs_one_side_of_a_choice(tmp_path, count):
    u = np.asfortranarray(RANDOM.random((count, 5)))
    out = np.zeros_like(u)

    assert run(tmp_path, CHOICE, u=u, out=out) == 0
    np.testing.assert_array_equal(out, u + u if count == 8 else u * u)


# --- columns ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["parallel", "sequential"])
def test_columns_sweep_choose_and_repeat(tmp_path, kind):
    u = np.asfortranarray(RANDOM.random((13, 6)) * 2)
    out = np.asfortranarray(RANDOM.random((13, 7)))
    expected = after_columns(u, out)

    assert run(tmp_path, columns("I", kind), u=u, out=out) == 0
    np.testing.assert_array_equal(out, expected)


def test_a_column_adds_at_levels_that_it_computes_where_a_condition_holds(tmp_path):
    u = np.asfortranarray(RANDOM.random((9, 6)))
    place = np.asfortranarray(RANDOM.integers(0, 6, (9, 6)))
    out, expected = np.zeros((9, 6), order="F"), after_scatter(u, place)

    assert run(tmp_path, SCATTER, u=u, place=place, out=out) == 0
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("value", [1.0, np.nan])
def test_checked_columns_report_numbers_that_are_not_finite(tmp_path, value):
    u = np.full((9, 6), value, order="F")
    place = np.zeros((9, 6), np.int64, order="F")
    out = np.zeros((9, 6), order="F")

    code = run(tmp_path, SCATTER, WriterOptions(0, checked=True), u=u, place=place, out=out)

    assert code == (0 if value == 1.0 else 3)  # the third field
