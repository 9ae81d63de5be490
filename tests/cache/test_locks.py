"""A lock between processes is exclusive, ends with its holder, and never stops a build."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fieldforge.cache.locks import BuildLock

HOLD = """
import sys, time
from fieldforge.cache.locks import BuildLock
with BuildLock(sys.argv[1]).acquire(what="module:lap") as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "lock" / "ab" / "key")


@pytest.fixture
def holder(path):
    process = subprocess.Popen([sys.executable, "-c", HOLD, path], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"True\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_free_lock_is_obtained_again_and_again(path):
    for _ in range(3):
        with BuildLock(path).acquire(0) as mine:
            assert mine


def test_two_holders_exclude_each_other_even_in_one_process(path):
    with BuildLock(path).acquire(0) as first, BuildLock(path).acquire(0) as second:
        assert (first, second) == (True, False)


def test_who_waits_learns_for_whom(path, holder, events):
    with BuildLock(path, events).acquire(limit=0.05) as mine:
        assert not mine
    assert events.names() == ["lock.awaited", "lock.timed_out"]
    owner = BuildLock(path).owner()
    assert (owner.pid, owner.host, owner.what) == (holder.pid, os.uname().nodename, "module:lap")
    assert events[0][1]["owner"] == str(owner)


def test_a_stopped_holder_only_costs_the_limit(path, holder):
    os.kill(holder.pid, signal.SIGSTOP)
    with BuildLock(path).acquire(limit=0.05) as mine:
        assert not mine


def test_a_killed_holder_frees_the_lock(path, holder, events):
    killer = threading.Timer(0.1, holder.kill)
    killer.start()
    with BuildLock(path, events).acquire(limit=30) as mine:
        assert mine
    # With several threads, Linux may tell of a holder's end before it has freed the lock.
    assert [name for name in events.names() if name != "lock.taken_over"] == [
        "lock.awaited", "lock.obtained",
    ]  # fmt: skip


def test_a_deleted_lock_file_is_noticed(path):
    with BuildLock(path).acquire(0) as first:
        os.unlink(path)
        with BuildLock(path).acquire(0) as second:
            assert (first, second) == (True, True)  # the first holds a lock that has no name
        with BuildLock(path).acquire(0) as third:
            assert third


def test_a_lock_on_a_file_deleted_while_we_took_it_does_not_count(path, monkeypatch):
    real, calls = fcntl.flock, []

    def flock(handle: int, how: int) -> None:
        real(handle, how)
        calls.append(handle)
        if len(calls) == 1:
            os.unlink(path)

    monkeypatch.setattr(fcntl, "flock", flock)
    with BuildLock(path).acquire(limit=5) as mine:
        assert mine
        assert len(calls) == 2
        assert os.path.exists(path)


@pytest.mark.parametrize("cause", ["ENOSYS", "ENOLCK", "EOPNOTSUPP", "EIO", "EROFS"])
def test_without_locks_everybody_builds(cause, path, events, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(getattr(errno, cause), cause)

    monkeypatch.setattr(fcntl, "flock", refuse)
    with BuildLock(path, events).acquire(limit=30) as mine:
        assert not mine
    assert events[0][0] == "lock.unavailable"


def test_a_link_in_place_of_a_lock_is_not_followed(path, tmp_path, events):
    os.makedirs(os.path.dirname(path))
    os.symlink(tmp_path / "victim", path)
    with BuildLock(path, events).acquire(limit=0) as mine:
        assert not mine
    assert not (tmp_path / "victim").exists()
    assert events.names() == ["lock.unavailable"]


def test_an_error_inside_gives_the_lock_back(path):
    with pytest.raises(ValueError, match="mine"), BuildLock(path).acquire(0):
        raise ValueError("mine")
    with BuildLock(path).acquire(0) as mine:
        assert mine


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"host": 1}', b"\xff"])
def test_an_unreadable_owner_is_nobody(content, path):
    os.makedirs(os.path.dirname(path))
    Path(path).write_bytes(content)
    assert BuildLock(path).owner() is None


def test_no_descriptor_leaks(path):
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    with BuildLock(path).acquire(0):
        for _ in range(20):
            with BuildLock(path).acquire(0) as mine:
                assert not mine
    after = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    assert before == after


def test_a_pipe_in_place_of_a_lock_is_not_waited_for(path):
    os.makedirs(os.path.dirname(path))
    os.mkfifo(path)
    with BuildLock(path).acquire(0.05) as first, BuildLock(path).acquire(0.05) as second:
        assert (first, second) == (True, False)


def test_a_holder_whose_child_lives_on_is_replaced(path, events, tmp_path):
    forking = (
        "    if __import__('os').fork():\n        print"  # the parent tells, with a child there
    )
    script = HOLD.replace("    print", forking)
    process = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE,
                               start_new_session=True)  # fmt: skip
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == b"True\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with BuildLock(path, events).acquire(limit=30) as mine:
            assert mine
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
    assert "lock.timed_out" not in events.names()


def test_a_lock_that_was_given_back_names_nobody(path):
    with BuildLock(path).acquire(0):
        assert BuildLock(path).owner().pid == os.getpid()
        assert not BuildLock(path).owner().is_gone()
    assert BuildLock(path).owner() is None
