"""Run compilers so that they can be ended with everything that they have started."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

_running: Final[dict[subprocess.Popen[bytes], str]] = {}  # by the thread that waits


def run_compiler(
    words: Sequence[str], directory: str, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes]:
    """Run a compiler in a process group of its own; whatever ends the wait ends the whole group.

    A driver that is killed alone would leave the programs behind that do its work.
    """
    process = subprocess.Popen(
        words, cwd=directory, env={**environment, "LC_ALL": "C", "TMPDIR": directory},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        process_group=0,
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
    return subprocess.CompletedProcess(words, process.returncode, output)


def stop_compilers(threads: str) -> None:
    """End the compilers that threads wait for whose names begin so; the waits end in errors."""
    for process, thread in tuple(_running.items()):
        if thread.startswith(threads):
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended by itself
        os.killpg(process.pid, signal.SIGKILL)
