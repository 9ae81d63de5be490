"""Both models have the same bits on 1, 2 and 4 ranks of MPI, and halos of blocks arrive."""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fieldforge.cache.checking import verify
from fieldforge.cache.disk import Disk

from .launching import ENVIRONMENT, NEEDS_MPI, on_ranks

JOB = Path(__file__).with_name("sphere.py")

pytestmark = NEEDS_MPI


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sphere")
    for ranks in (1, 4):
        done = on_ranks(ranks, JOB, folder)
        assert done.returncode == 0, done.stderr[-3000:]
    return {ranks: np.load(folder / f"{ranks}.npz") for ranks in (1, 4)}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sphere")
    done = on_ranks(2, JOB, folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return np.load(folder / "2.npz")


def test_the_fields_have_the_bits_of_one_rank(results):
    for name in ("h", "u", "moist"):
        assert results[4][name].tobytes() == results[1][name].tobytes()


@pytest.mark.in_full
def test_two_ranks_do_what_one_does(results, two):
    for name in ("h", "u", "moist"):
        assert two[name].tobytes() == results[1][name].tobytes()
    assert [int(two["compiled"]), int(two["wrong"])] == [0, 0]


def test_the_norms_of_the_steady_case_hold_and_do_not_depend_on_the_ranks(results):
    l1, l2, linf = results[1]["steady"]

    assert results[4]["steady"].tobytes() == results[1]["steady"].tobytes()
    assert 1e-4 < l1 < 6e-4
    assert 1e-4 < l2 < 8e-4
    assert 2e-4 < linf < 3e-3


def test_nothing_is_compiled_in_the_loop(results):
    assert [int(each["compiled"]) for each in results.values()] == [0, 0]


def test_halos_of_periodic_blocks_arrive_for_every_kind_of_field(results):
    assert [int(each["wrong"]) for each in results.values()] == [0, 0]


@pytest.mark.in_full
def test_a_rank_that_raises_in_the_loop_ends_the_job_and_says_why(tmp_path):
    done = on_ranks(3, JOB, tmp_path, "fail")

    assert done.returncode != 0
    assert "KeyError: 'mine'" in done.stderr
    assert "Rank 1 of 3 has failed and ends the job" in done.stderr


@pytest.mark.in_full
def test_a_rank_that_is_killed_in_the_loop_ends_the_job_and_leaves_the_store_whole(tmp_path):
    store = tmp_path / "store"
    words = ["mpirun", "-n", "3", sys.executable, str(JOB), str(tmp_path), "die"]
    job = subprocess.Popen(
        words,
        env=os.environ | ENVIRONMENT | {"FIELDFORGE_CACHE_DIR": str(store)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(2000):
            if (tmp_path / "dying").exists() or job.poll() is not None:
                break
            time.sleep(0.1)
        assert (tmp_path / "dying").exists()
        assert job.wait(timeout=30) != 0  # the others would wait for its halo for ever
    finally:
        job.kill()

    verdict = verify(Disk(store))
    assert verdict.is_sound
    assert verdict.records > 0
