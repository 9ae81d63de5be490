"""Start a tool's process, hand it a case, and time it as the variants of this process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from peer.client import ROOT, Peer
from timing import TimeCalls

PYTHON = Path(os.environ.get("OTHERS_VENV", ROOT / ".venv-others"), "bin", "python")
WORKER = Path(__file__).with_name("worker.py")
TOOLS = ("Numba", "JAX", "pystencils")
PINNED = ("JAX",)  # its threads are as many as the processors that the process may use


def started(tool: str, folder: Path, threads: int) -> Peer:
    """Start a process of a tool with so many threads; what it builds is kept in `folder`."""
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
) -> tuple[TimeCalls, dict[str, np.ndarray], str]:
    """Build a case; return what times its calls, its outputs, and the variant that won."""
    request = described | {"program": program, "folder": str(peer.folder)}
    answer = peer.ask(do="build", name=tool, **request)
    outputs = {key: np.load(path) for key, path in answer["outputs"].items()}
    return (lambda loops: peer.seconds(tool, loops)), outputs, answer["variant"]
