"""The short tier of the fault tests; `make faults` runs the long one.

Each module forks, ends or meddles with processes, so it runs in a small one of its own.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fieldforge.cache.disk import Disk

from .sample import SIZE, is_there, keep

ROOT = Path(__file__).parents[2]


def run(module: str, *args: object) -> str:
    """Run a module of this folder; what it says is shown where it fails."""
    command = [sys.executable, "-m", f"tests.faults.{module}", *map(str, args)]
    memory = {"TMPDIR": "/dev/shm"} if os.path.isdir("/dev/shm") else {}  # disks are slow
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, check=False, env={**os.environ, **memory}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_killing_120_builders_leaves_no_wrong_hit_nothing_stuck_and_nothing_behind():
    """T2a."""
    assert "0 wrong hits, 0 damaged files, 0 stuck, 0 files left behind" in run("kills", 120)


@pytest.mark.parametrize(
    "deeds", [("later result", "lock"), pytest.param((), marks=pytest.mark.in_full)]
)
def test_a_crash_at_any_call_of_the_system_leaves_a_miss_or_the_truth(deeds):
    """T2b; after a call is nearly before the next one, which is left to `make faults`."""
    assert ", 0 faults" in run("crashes", *deeds, "--when", "before")


def test_every_change_of_a_record_a_file_or_a_pack_is_noticed():
    """T3; other bits are changed in `test_disk.py`."""
    assert ", 0 believed" in run("flips", "--step", 61)


@pytest.mark.needs_compiler
def test_whichever_call_fails_the_program_runs_and_old_results_stay():
    """T4."""
    assert ", 0 faults" in run("errors", "--step", 61)


def test_a_killed_holder_is_followed_at_once_and_a_stopped_one_after_the_limit():
    """T5 and T6."""
    assert "0 stuck; 2400 holds" in run("holders", 20)


@pytest.mark.needs_compiler
def test_what_happens_to_the_store_does_not_touch_programs_that_run():
    """T11."""
    assert "every result right" in run("loaded", 50)


@pytest.mark.needs_compiler
def test_whatever_is_done_to_a_file_of_the_cache_the_answer_is_right():
    assert ", 0 faults" in run("meddling", "--share", 8)


# T4 on real file systems that are full.


few_bytes = pytest.mark.parametrize(
    "full", ["size=1m", pytest.param("nr_inodes=40", marks=pytest.mark.in_full)], indirect=True
)


@pytest.fixture(params=["size=1m", "nr_inodes=40"])
def full(request, tmp_path) -> Iterator[Path]:
    """Mount a file system with little room for bytes, or for files."""
    place = tmp_path / "small"
    place.mkdir(mode=0o700)
    options = f"{request.param},mode=0700"
    mount = ["mount", "-t", "tmpfs", "-o", options, "none", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:  # noqa: PLW1510  # the code is looked at
        pytest.skip("a small file system can be mounted by root only; the injector does its part")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_full_file_system_costs_nothing_but_the_result_that_has_no_room(full, events):
    disk = Disk(full / "store", on_event=events)
    stored = []
    for n in range(100):
        assert keep(disk, n).program == f"p{n}"
        if is_there(disk, n):
            stored.append(n)
    assert 3 <= len(stored) < 100
    ((_, facts),) = [event for event in events if event[0] == "store.put_failed"]
    assert facts["cause"] == "ENOSPC"
    assert "Free some space" in str(facts["error"])
    assert os.listdir(full / "store/v1/tmp") == []
    again = Disk(full / "store")
    assert all(is_there(again, n) for n in stored)
    assert again.stats().corrupt == 0


def fill(place: Path) -> None:
    for n in range(1000):
        (place / f"filler-{n}").write_bytes(bytes(SIZE if n < 30 else 100))


PROGRAM = """
import sys
from pathlib import Path
from tests.faults.program import *
settings = use(Path(sys.argv[1]), local=Path(sys.argv[2]))
print(is_right(settings), is_right(settings))
"""


def answers(cache: Path, local: Path) -> str:
    """Run the program twice in a new process; say whether the results were right."""
    command = [sys.executable, "-c", PROGRAM, str(cache), str(local)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    return done.stdout + done.stderr


@pytest.mark.needs_compiler
@few_bytes
def test_a_program_runs_where_its_cache_is_full(full, tmp_path):
    with pytest.raises(OSError, match="No space left"):
        fill(full)
    assert answers(full, tmp_path).startswith("True True\n")


@pytest.mark.needs_compiler
@few_bytes
def test_a_program_starts_from_a_folder_that_is_mounted_read_only(full, tmp_path):
    """Everything is there, and neither the store nor the folder of the node can be written."""
    cold = subprocess.run(["mount", "-o", "remount,size=8m,nr_inodes=4000", str(full)], check=False)
    assert cold.returncode == 0
    assert answers(full, full) == "True True\n"
    subprocess.run(["mount", "-o", "remount,ro", str(full)], check=True)
    assert answers(full, full) == "True True\n"
