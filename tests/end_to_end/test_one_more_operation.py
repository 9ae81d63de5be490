"""An operation is a row of the table and a spelling in each writer, and nothing else."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

from ..processes import python

SCRIPT = Path(__file__).with_name("copysign.py")


def run(store: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return python(SCRIPT, *arguments, env={"FIELDFORGE_CACHE_DIR": str(store)})


def expected() -> str:
    u = np.array([0.0, -0.0, 1.5, -2.5, np.inf, np.nan, 4.0])
    v = np.array([-1.0, 1.0, -0.0, -np.inf, 2.0, -3.0, 0.0])
    outputs = np.copysign(u, v), np.abs(v).astype(np.float32), np.full(7, -3.0)
    return " ".join(array.tobytes().hex() for array in outputs)


@pytest.mark.needs_compiler
def test_an_operation_added_to_the_table_and_the_spellings_runs_everywhere(tmp_path):
    done = run(tmp_path, "reference,cpu")

    assert done.stderr == ""
    assert done.stdout.splitlines() == [expected()] * 3


@pytest.mark.in_full
@pytest.mark.needs_compiler
@pytest.mark.needs_dace
def test_an_operation_added_to_the_table_and_the_spellings_runs_by_dace(tmp_path):
    done = run(tmp_path, "dace_cpu")

    assert done.stdout.splitlines() == [expected()] * 2, done.stderr


def test_an_operation_without_a_spelling_is_an_error_that_names_it_and_the_writer(tmp_path):
    done = run(tmp_path, "reference,cpu", "unspelled")

    assert done.stdout.splitlines() == [expected()] * 2
    assert "SpellingError: The C++ writer lacks a spelling of 'copysign'." in done.stderr
    assert "Add it to the spellings of the C++ writer" in done.stderr
