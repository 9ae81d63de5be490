"""Start a tool's process, hand it a case, and time it as the variants of this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from peer.client import ROOT, Peer

if TYPE_CHECKING:  # which needs pyperf
    from timing import TimeCalls

PYTHON = Path(os.environ.get("OTHERS_VENV", ROOT / ".venv-others"), "bin", "python")
WORKER = Path(__file__).with_name("worker.py")
TOOLS = ("Numba", "JAX", "pystencils")
PINNED = ("JAX",)  # its threads are as many as the processors that the process may use


def processes(tool: str, counts: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return the threads that each process of a tool starts with, and those that it measures."""
    return {n: (n,) for n in counts} if tool in PINNED else {max(counts): tuple(counts)}


def started(tool: str, folder: Path, threads: int) -> Peer:
    """Start a process of a tool with at most so many threads; what it builds is in `folder`."""
    settings = {
        "NUMBA_NUM_THREADS": str(threads),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "XDG_CACHE_HOME": str(folder),
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    pinned = ("pinned",) if tool in PINNED else ()
    worker = (os.environ.get("OTHERS_PYTHON", str(PYTHON)), str(WORKER), *pinned)
    return Peer(folder, threads, settings=settings, worker=worker)


def built(
    peer: Peer, tool: str, program: str, described: dict[str, Any]
) -> tuple[Callable[[int], TimeCalls], dict[str, np.ndarray]]:
    """Build a case; return what times its calls on a number of threads, and its outputs."""
    request = described | {"program": program, "folder": str(peer.folder)}
    answer = peer.ask(do="build", name=tool, **request)
    outputs = {key: np.load(path) for key, path in answer["outputs"].items()}

    def on(threads: int) -> TimeCalls:
        def time_calls(loops: int) -> float:
            return float(peer.ask(do="run", name=tool, times=loops, threads=threads)["seconds"])

        return time_calls

    return on, outputs
