"""The assimilation takes the same steps on 1 and on 2 ranks of MPI."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest

from .test_sphere import ENVIRONMENT

pytest.importorskip("scipy", reason="L-BFGS is SciPy's")
pytest.importorskip("checkpoint_schedules", reason="the extra 'adjoint'")
pytestmark = [
    pytest.mark.needs_compiler,
    pytest.mark.skipif(
        shutil.which("mpirun") is None or importlib.util.find_spec("mpi4py") is None,
        reason="MPI is not installed",
    ),
]
WORDS = ("--level", "2", "--hours", "3", "--iterations", "3", "--strict", "--mpi")


def minimised(ranks, folder):
    """Return the cost, the norm of the gradient and the error by iteration."""
    module = "fieldforge.examples.assimilation"
    file = folder / f"{ranks}.json"
    done = subprocess.run(
        ["mpirun", "-n", str(ranks), sys.executable, "-m", module, *WORDS, "--json", str(file)],
        env=os.environ | ENVIRONMENT | {"TERM": "dumb"},
        timeout=250,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(file.read_text())["minimisation"]


def test_the_minimisation_has_the_bits_of_one_rank(tmp_path):
    one, two = (minimised(ranks, tmp_path) for ranks in (1, 2))

    assert len(one) == 4
    assert one[-1]["cost"] < one[0]["cost"]
    assert two == one
