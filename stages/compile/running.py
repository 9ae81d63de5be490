"""Run compilers, a limited number at once, so that they end when this process ends.

A pool of builds has slots of its own. Elsewhere all builds of the process share as many slots as
the setting `jobs` allows, and only their further units wait for one.
"""

from __future__ import annotations

import errno
import os
import selectors
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import IO, Final

from ...runtime.process import Folder, current
from .watcher import Watcher, announced, watcher

_CHUNK: Final = 1 << 16
_PATIENCE: Final = 0.05  # seconds until a free slot of another build is noticed
# The name of the thread that waits for each compiler, and its watcher.
_running: Final[dict[subprocess.Popen[bytes], tuple[str, Watcher | None]]] = {}


def run_compilers(
    commands: Sequence[Sequence[str]], folder: Folder, environment: Mapping[str, str]
) -> list[subprocess.CompletedProcess[bytes]]:
    """Run compilers in `folder`, each in a process group of its own, at once if slots are free.

    After a failure, later commands do not count: they are killed or not started, and left out of
    the result. So the first failure in the order of the commands is the last of the result.
    An exception that ends the wait kills the whole groups: a driver that is killed alone would
    leave `cc1plus` behind. A watcher does the same when this process is killed.

    Raises:
        OSError: the compiler cannot be run.

    """
    batch = _Batch(commands, folder, environment)
    try:
        return batch.run()
    finally:
        batch.close()


class _Batch:
    """Compilers that run, and commands that wait for a slot."""

    def __init__(
        self, commands: Sequence[Sequence[str]], folder: Folder, environment: Mapping[str, str]
    ) -> None:
        self._commands, self._folder, self._environment = commands, folder, environment
        self._slots = slots_here()
        self._left = range(len(commands))  # numbers of the commands that are not started
        self._processes: dict[int, subprocess.Popen[bytes]] = {}  # that run, by number
        self._outputs: dict[int, bytes] = {}
        self._done: dict[int, subprocess.CompletedProcess[bytes]] = {}
        self._selector = selectors.DefaultSelector()

    def run(self) -> list[subprocess.CompletedProcess[bytes]]:
        while self._left or self._processes:
            while self._left and self._slots.take(is_first=not self._processes):
                self._start()
            patience = _PATIENCE if self._left else None
            for key, _ in self._selector.select(patience):
                self._read(key.data)
        return [self._done[number] for number in sorted(self._done)]

    def _start(self) -> None:
        number, self._left = self._left[0], self._left[1:]
        try:
            process = _start(self._commands[number], self._folder, self._environment)
        except BaseException:
            self._slots.give()
            raise
        self._processes[number] = process
        self._outputs[number] = b""
        self._selector.register(_output(process), selectors.EVENT_READ, number)

    def _read(self, number: int) -> None:
        process = self._processes.get(number)
        if process is None:  # killed since the selector returned
            return
        output = os.read(_output(process).fileno(), _CHUNK)
        self._outputs[number] += output
        if output:
            return
        code = process.wait()
        self._forget(number)
        command = self._commands[number]
        self._done[number] = subprocess.CompletedProcess(command, code, self._outputs[number])
        if code != 0:
            self._left = self._left[:0]
            for later in [each for each in self._processes if each > number]:
                self._end(later)
            self._done = {each: done for each, done in self._done.items() if each <= number}

    def _end(self, number: int) -> None:
        _kill(self._processes[number])
        self._processes[number].wait()
        self._forget(number)

    def _forget(self, number: int) -> None:
        process = self._processes.pop(number)
        self._selector.unregister(_output(process))
        _output(process).close()
        _forget(process)
        self._slots.give()

    def close(self) -> None:
        """End the compilers that still run."""
        for number in tuple(self._processes):
            self._end(number)
        self._selector.close()


def _start(
    words: Sequence[str], folder: Folder, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    watched = watcher()
    process = subprocess.Popen(
        announced(_found(words, environment)) if watched else words, cwd=folder.lasting_path,
        env={**environment, "LC_ALL": "C", "TMPDIR": "."}, process_group=0, bufsize=0,
        stdin=watched.pipe if watched else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    _running[process] = threading.current_thread().name, watched
    return process


def _forget(process: subprocess.Popen[bytes]) -> None:
    _, watched = _running.pop(process)
    if watched:
        watched.forget(process.pid)


def _output(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None, "it was asked for"
    return process.stdout


def stop_compilers(threads: str) -> None:
    """Kill the compilers that threads with this prefix wait for; their waits raise errors."""
    for process, (thread, _) in tuple(_running.items()):
        if thread.startswith(threads):
            _kill(process)


def _found(words: Sequence[str], environment: Mapping[str, str]) -> Sequence[str]:
    """Return `words` if their first can be run: a shell would report this as the compiler's end."""
    if shutil.which(words[0], path=environment.get("PATH", os.defpath)) is None:
        cause = errno.EACCES if os.path.exists(words[0]) else errno.ENOENT
        raise OSError(cause, os.strerror(cause), words[0])
    return words


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended by itself
        os.killpg(process.pid, signal.SIGKILL)


class Slots:
    """A number of slots, at least one; `first_waits` tells whether each build waits for its first.

    >>> slots = Slots(2)
    >>> [slots.take(is_first=False) for _ in range(3)]
    [True, True, False]
    """

    def __init__(self, limit: int, *, first_waits: bool = True) -> None:
        self._free = max(limit, 1)
        self._first_waits = first_waits
        self._changed = threading.Condition()

    def take(self, *, is_first: bool) -> bool:
        """Take a slot for a compiler; only the first of a build waits until there is one."""
        with self._changed:
            if is_first and self._first_waits:
                self._changed.wait_for(lambda: self._free > 0)
            if not is_first and self._free <= 0:
                return False
            self._free -= 1
            return True

    def give(self) -> None:
        """Give a slot back."""
        with self._changed:
            self._free += 1
            self._changed.notify()


_of_block: Final[ContextVar[Slots | None]] = ContextVar("slots", default=None)
_usual: Final[dict[int, Slots]] = {}  # by the number of jobs


@contextmanager
def using_slots(slots: Slots) -> Iterator[None]:
    """Let compilers that this thread starts in the block take these slots."""
    token = _of_block.set(slots)
    try:
        yield
    finally:
        _of_block.reset(token)


def slots_here() -> Slots:
    """Return the slots of the block, or those that the whole process shares."""
    jobs = current().jobs
    return _of_block.get() or _usual.setdefault(jobs, Slots(jobs, first_waits=False))


os.register_at_fork(after_in_child=_usual.clear)  # the compilers of the parent do not count
