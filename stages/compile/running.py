"""Run compilers so that they can be killed together with every process that they start."""

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
    """Run a compiler in its own process group; an interrupted wait kills the whole group.

    Killing only the driver would leave the programs behind that it has started.
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
    """Kill the compilers that threads with this prefix wait for; their waits raise errors."""
    for process, thread in tuple(_running.items()):
        if thread.startswith(threads):
            _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # it has ended by itself
        os.killpg(process.pid, signal.SIGKILL)
