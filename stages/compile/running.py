"""Run compilers so that they end, with every program they start, when this process ends."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from ...runtime.process.private_folder import Folder
from .watcher import announced, watcher

_running: Final[dict[subprocess.Popen[bytes], str]] = {}  # by the thread that waits


def run_compiler(
    words: Sequence[str], folder: Folder, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """Run a compiler in `folder`, in a process group of its own.

    An exception that ends the wait kills the whole group: a driver that is killed alone would leave
    `cc1plus` behind. A watcher does the same when this process is killed.

    Raises:
        OSError: the compiler cannot be run.

    """
    watched = watcher()
    process = subprocess.Popen(
        announced(_found(words, environment)) if watched else words, cwd=folder.lasting_path,
        env={**environment, "LC_ALL": "C", "TMPDIR": "."}, process_group=0,
        stdin=watched.pipe if watched else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    _running[process] = threading.current_thread().name
    try:
        output, _ = process.communicate()
    except BaseException:
        _kill(process)
        process.wait()
        raise
    finally:
        del _running[process]
        if watched:
            watched.forget(process.pid)
    return subprocess.CompletedProcess(words, process.returncode, output)


def stop_compilers(threads: str) -> None:
    """Kill the compilers that threads with this prefix wait for; their waits raise errors."""
    for process, thread in tuple(_running.items()):
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
