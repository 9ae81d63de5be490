"""Kernels written by hand as trees, compiled and compared with NumPy: what no program needs yet."""

from pathlib import Path

import numpy as np
import pytest

from fieldforge.stages.artifacts import Generated
from fieldforge.stages.codegen.cpu.stage import FLAGS
from fieldforge.stages.codegen.cpu.text import units
from fieldforge.stages.codegen.cpu.text.kernel import write_cpp
from fieldforge.stages.codegen.interface import integers
from fieldforge.stages.codegen.rows.options import WriterOptions
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.verify import verify

from ...tree_kernels import CHOICE, SCATTER, call, planes

pytestmark = pytest.mark.needs_compiler

RANDOM = np.random.default_rng(5)


def run(folder: Path, text: str, options: WriterOptions | None = None, **fields: np.ndarray) -> int:
    """Compile and call a kernel on fields in the order of its text; return its code."""
    kernel = verify(read(text))
    known = integers(kernel)
    source = write_cpp(kernel, known, options or WriterOptions(0))
    made = Generated(language="c++", source=source, loops="", flags=FLAGS)
    return call(folder, made, known, fields)


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


@pytest.mark.parametrize("value", [1.0, np.nan])
def test_checked_columns_report_numbers_that_are_not_finite(tmp_path, value):
    u = np.full((9, 6), value, order="F")
    place = np.zeros((9, 6), np.int64, order="F")
    out = np.zeros((9, 6), order="F")

    code = run(tmp_path, SCATTER, WriterOptions(0, checked=True), u=u, place=place, out=out)

    assert code == (0 if value == 1.0 else 3)  # the third field
