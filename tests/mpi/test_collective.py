"""Four ranks build programs once, whatever happens to one of them."""

import json
from collections import Counter
from pathlib import Path

import pytest

from fieldforge.cache.checking import verify
from fieldforge.cache.disk import Disk

from .launching import NEEDS_MPI, on_ranks

RANKS = 4
JOB = Path(__file__).with_name("job.py")
NAMES = [f"sum_{number}" for number in range(4)]

pytestmark = NEEDS_MPI


SCENARIOS = (
    "plain", "plain-again", "apart", "differ", "fails", "raises", "dies", "late", "lost", "idle",
)  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """Return what the ranks of one job said, by scenario."""
    folder = tmp_path_factory.mktemp("job")
    done = on_ranks(RANKS, JOB, folder, *SCENARIOS)
    assert done.returncode == 0, done.stderr[-3000:]
    return {
        scenario: [
            json.loads(
                (folder / scenario.removesuffix("-again") / f"{scenario}{rank}.json").read_text()
            )
            for rank in range(RANKS)
        ]
        for scenario in SCENARIOS
    }


def compiled(ranks):
    return Counter(name for each in ranks for name in each["compiled"])


@pytest.mark.parametrize("stores", ["plain", "apart"])
def test_every_program_is_built_once_in_the_job_and_is_there_on_every_rank(said, stores):
    assert compiled(said[stores]) == dict.fromkeys(NAMES, 1)
    assert [len(each["compiled"]) for each in said[stores]] == [1] * RANKS
    assert [(each["missing"], each["errors"]) for each in said[stores]] == [([], [])] * RANKS


def test_what_is_in_the_store_is_built_by_nobody(said):
    assert compiled(said["plain-again"]) == {}


def test_programs_that_differ_between_ranks_are_built_by_those_who_want_them(said):
    expected = dict.fromkeys(NAMES[:-1], 1) | {f"sum_{100 + rank}": 1 for rank in range(RANKS)}
    assert compiled(said["differ"]) == expected
    assert [each["missing"] for each in said["differ"]] == [[]] * RANKS


@pytest.mark.parametrize(
    ("scenario", "error"),
    [("fails", "CompilationError"), ("dies", "CompilationError"), ("raises", "ValueError")],
)
def test_an_error_is_raised_on_all_ranks_and_the_rest_is_built(said, scenario, error):
    expected = [f"{error} While compiling 'sum_2'."]
    assert [each["errors"] for each in said[scenario]] == [expected] * RANKS
    assert [each["missing"] for each in said[scenario]] == [["sum_2"]] * RANKS


def test_ranks_wait_for_one_that_comes_late(said):
    assert compiled(said["late"]) == dict.fromkeys(NAMES, 1)
    assert [each["errors"] for each in said["late"]] == [[]] * RANKS


def test_a_rank_that_fails_before_building_is_no_hang_for_the_others(said):
    assert said["lost"][1]["errors"] == ["KeyError('mine')"]
    others = [each["errors"] for each in said["lost"] if each["rank"] != 1]
    assert others == [["RankError "]] * (RANKS - 1)


def test_a_rank_that_wants_nothing_takes_part(said):
    assert compiled(said["idle"]) == dict.fromkeys(NAMES, 1)
    assert [each["errors"] for each in said["idle"]] == [[]] * RANKS


@pytest.mark.in_full
def test_a_rank_that_is_killed_ends_the_job_and_the_next_one_finds_the_store_whole(tmp_path):
    assert on_ranks(RANKS, JOB, tmp_path, "end").returncode != 0

    assert verify(Disk(tmp_path / "end")).is_sound
    assert on_ranks(RANKS, JOB, tmp_path, "end-again").returncode == 0
    again = [
        json.loads((tmp_path / "end" / f"end-again{r}.json").read_text()) for r in range(RANKS)
    ]
    assert [(each["missing"], each["errors"]) for each in again] == [([], [])] * RANKS
