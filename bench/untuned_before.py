"""Untuned programs in other processes: those of another checkout, and cold builds."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cases import untuned
from native import use_threads
from peer.client import Peer, RefusedError
from peer.serving import serve
from untuned_calls import Built, Place, TimeCalls, build, own_store, stream

import fieldforge as ff

MAIN = Path(__file__).with_name("untuned.py")
BUILDS = 2  # cold builds, of which the fastest counts
SMALL = 0.004  # scale of cold builds

# --- another checkout -----------------------------------------------------------------------------


def interpreter(path: Path) -> tuple[str, dict[str, str]]:
    """Return the Python of a checkout, or ours and where it is to look first."""
    own = path / ".venv" / "bin" / "python"
    if own.exists():
        return str(own), {"PYTHONPATH": ""}
    more = os.environ.get("PYTHONPATH", "")
    return sys.executable, {"PYTHONPATH": f"{path.resolve()}:{more}".rstrip(":")}


class Before:
    """The process of another checkout."""

    def __init__(self, path: Path, on: Place, threads: int, stack: contextlib.ExitStack) -> None:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="before-")))
        python, settings = interpreter(path)
        worker = (python, str(MAIN.resolve()), f"--{on.name}", "--serve")
        self._peer = stack.enter_context(Peer(folder, threads, settings=settings, worker=worker))
        self._path = path.resolve()

    def variant(self, built: Built, scale: float) -> tuple[TimeCalls, bool]:
        """Build the same program there; return what times it, and whether its bits are ours."""
        answer = self._peer.ask(do="build", name=built.of.name, dtype=built.of.dtype, scale=scale)
        if not Path(answer["imported"]).is_relative_to(self._path):
            raise RefusedError(f"It imports '{answer['imported']}', expected '{self._path}'.")
        return self._seconds, answer["digest"] == built.digest

    def use_threads(self, count: int) -> None:
        """Use `count` threads from now on."""
        self._peer.ask(do="threads", count=count)

    def _seconds(self, loops: int) -> float:
        return float(self._peer.ask(do="run", loops=loops)["seconds"])


def serve_calls(on: Place) -> None:
    """Build and time programs as another process asks."""
    made: dict[str, Any] = {}

    def answer(request: Mapping[str, Any]) -> dict[str, Any]:
        match request["do"]:
            case "build":
                made.clear()
                built = build(request["name"], request["dtype"], on, request["scale"])
                made["call"] = on.timed(built.call)
                return {"digest": built.digest, "imported": str(Path(ff.__file__).resolve())}
            case "threads":
                use_threads(request["count"])
                return {}
            case _:
                return {"seconds": made["call"](request["loops"])}

    with own_store(), stream(on):
        serve(answer)


# --- cold builds ----------------------------------------------------------------------------------


def cold(name: str, dtype: str, path: Path | None, on: Place) -> dict[str, float]:
    """Build a program in a new process with an empty store; the fastest of several."""
    python, settings = (sys.executable, {}) if path is None else interpreter(path)
    command = [python, str(MAIN.resolve()), f"--{on.name}", "--build", f"{name},{dtype}"]
    found = []
    for _ in range(BUILDS):
        done = subprocess.run(
            command, env=os.environ | settings, capture_output=True, text=True, check=True
        )
        found.append(json.loads(done.stdout.splitlines()[-1]))
    best: dict[str, float] = min(found, key=lambda each: each["processor_s"])
    return best


def build_once(name: str, dtype: str, on: Place) -> dict[str, float]:
    """Build a program that no store has, after another one; return seconds and bytes."""

    def first_call(name: str, dtype: str) -> tuple[float, float, int]:
        where = untuned.space(name, on.name, SMALL)
        of = untuned.described(name, dtype, where, on.memory)
        program = of.program.with_backend(on.backend)
        with own_store():
            begin, clock = _processor_seconds(), time.perf_counter()
            program(**of.arguments, offset_provider=of.tables)
            took = _processor_seconds() - begin, time.perf_counter() - clock
            trace = program.trace(until="codegen", offset_provider=of.tables)
            files = trace["codegen"].artifact.files().items()
            return *took, sum(len(text) for name, text in files if name.startswith("source"))

    first_call("showers", "float32" if dtype == "float64" else "float64")
    processor, wall, size = first_call(name, dtype)
    return {"processor_s": processor, "wall_s": wall, "source_bytes": size}


def _processor_seconds() -> float:
    """Return what this process and the compilers that it waited for have used."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
