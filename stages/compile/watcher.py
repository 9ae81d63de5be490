"""End the compilers of a process that is killed: one small watcher for each process that builds.

The watcher is a shell that reads from a pipe which only this process, and compilers until they
have announced themselves, can write to. Each compiler announces its process group before it starts,
and this process takes the group back when the compiler has ended. The pipe closes when this process
ends, however that happens; then the watcher kills the groups that are left, and ends.

`PR_SET_PDEATHSIG` would not do: it follows the thread that started a compiler, not the process,
and it misses the programs that a compiler's driver starts.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

SHELL: Final = "/bin/sh"
_WATCH: Final = """
groups=" "
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""
_ANNOUNCE: Final = 'echo "+ $$" >&0; exec "$@" </dev/null'

_guard: Final = threading.Lock()


class Watcher:
    """The watcher of this process and the pipe to it."""

    def __init__(self) -> None:
        read_end, self.pipe = os.pipe()  # neither is inherited by programs
        try:
            self._process = subprocess.Popen(
                [SHELL, "-c", _WATCH], stdin=read_end, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, cwd="/", start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(self.pipe)
            raise
        finally:
            os.close(read_end)

    @property
    def is_alive(self) -> bool:
        """Whether the watcher still runs."""
        return self._process.poll() is None

    def forget(self, group: int) -> None:
        """Take back a process group whose compiler has ended."""
        with suppress(OSError):  # the watcher was killed
            os.write(self.pipe, f"- {group}\n".encode())

    def close(self) -> None:
        """Close the pipe and wait for the watcher, which has nothing left to kill."""
        os.close(self.pipe)
        self._process.wait()

    def leave(self) -> None:
        """Close the pipe in a forked child: the watcher waits for the parent alone."""
        os.close(self.pipe)
        self._process.returncode = 0  # it is no child of this process


_watchers: Final[list[Watcher]] = []


def watcher() -> Watcher | None:
    """Return the watcher of this process, started at the first call; None if there is no shell."""
    with _guard:
        if _watchers and not _watchers[0].is_alive:
            _stop()
        if not _watchers:
            try:
                _watchers.append(Watcher())
            except OSError:
                return None
        return _watchers[0]


def announced(words: Sequence[str]) -> list[str]:
    """Return a command that tells the watcher on its standard input of its process group, and runs.

    The command must lead a process group. It reads nothing afterwards.
    """
    return [SHELL, "-c", _ANNOUNCE, "sh", *words]


def _stop() -> None:
    while _watchers:
        _watchers.pop().close()


def _leave() -> None:
    while _watchers:
        _watchers.pop().leave()
    _guard.release()


# The lock is free in a forked child, whatever the other threads of its parent were doing.
os.register_at_fork(before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_leave)
atexit.register(_stop)
