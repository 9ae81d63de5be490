"""The assimilation takes the same steps on 1 and on 2 ranks of MPI."""

import json

import pytest

from .launching import NEEDS_MPI, on_ranks

pytest.importorskip("scipy", reason="L-BFGS is SciPy's")
pytest.importorskip("checkpoint_schedules", reason="the extra 'adjoint'")
pytestmark = NEEDS_MPI
WORDS = ("--level", "2", "--hours", "3", "--iterations", "3", "--strict", "--mpi")


def minimised(ranks, folder):
    """Return the cost, the norm of the gradient and the error by iteration."""
    module = "fieldforge.examples.assimilation"
    file = folder / f"{ranks}.json"
    done = on_ranks(ranks, "-m", module, *WORDS, "--json", file)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(file.read_text())["minimisation"]


def test_the_minimisation_has_the_bits_of_one_rank(tmp_path):
    one, two = (minimised(ranks, tmp_path) for ranks in (1, 2))

    assert len(one) == 4
    assert one[-1]["cost"] < one[0]["cost"]
    assert two == one
