"""Halos that GHEX exchanges hold what their owners have; MPI takes the fields that GHEX cannot."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from fieldforge.runtime.decomposition.ghex_exchange import has_ghex

from .launching import on_ranks

JOB = Path(__file__).with_name("ghex_job.py")


WORDS = ("-m", "fieldforge.examples.shallow_water", "--level", "3", "--days", "0.1", "--strict")

pytestmark = pytest.mark.skipif(
    shutil.which("mpirun") is None or not has_ghex(),
    reason="MPI or the extra 'ghex' is not installed",
)


def start(ranks, *words):
    """Return what a job says."""
    done = on_ranks(ranks, *words)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("ranks", [1, 3, pytest.param(4, marks=pytest.mark.in_full)])
def test_halos_of_meshes_arrive_for_every_kind_of_field(ranks):
    assert start(ranks, str(JOB)) == "0 wrong values\n"


@pytest.mark.needs_compiler
def test_the_model_has_the_same_bits_by_ghex_and_by_mpi(tmp_path):
    states = {}
    for by in ("ghex", "mpi"):
        file = tmp_path / f"{by}.npz"
        start(3, *WORDS, "--case", "5", "--mpi", "--exchange", by, "--save", str(file))
        states[by] = np.load(file)

    for name in ("h", "u"):
        assert states["ghex"][name].tobytes() == states["mpi"][name].tobytes()
