"""A process of one tool: prepares programs and runs them when it is told to.

Reads one JSON object a line from standard input and answers one a line, as the peer's worker does.

    {"do": "build", "name": tool, "program": p, ...}  -> {"built": s, "outputs": {field: file}}
    {"do": "run", "name": tool, "times": t, "threads": n}  -> {"seconds": s}   or {"refused": why}
"""

from __future__ import annotations

import ctypes
import importlib
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path[0] = str(ROOT)  # not this folder
from peer.serving import serve  # noqa: E402
from peer.undisturbed import undisturbed  # noqa: E402

MODULES = {"Numba": "in_numba", "JAX": "in_jax", "pystencils": "in_pystencils"}

Call = Callable[[], object]


class NotWrittenError(Exception):
    """A tool has no variant of this program."""


def build(request: dict[str, Any]) -> tuple[Call, dict[str, Any]]:
    """Prepare the variants of a program and keep the fastest."""
    import numpy as np

    begin = time.perf_counter()
    module = importlib.import_module(f"others.{MODULES[request['name']]}")
    refused: list[str] = []
    found: list[tuple[float, str, Call, Any]] = []
    if request["program"] not in module.PROGRAMS:
        raise NotWrittenError(f"There is no variant of it for {request['name']}.")
    for name, (call, outputs) in module.prepared(request["program"], request).items():
        try:
            found.append((_least(call), name, call, outputs))
        except Exception as error:  # a variant of several
            refused.append(f"{name}: {type(error).__name__}: {error}")
    if not found:
        raise RuntimeError("; ".join(refused))
    _, name, call, outputs = min(found, key=lambda each: each[0])
    call()
    files = {}
    for field, array in outputs().items():
        files[field] = str(Path(request["folder"], f"{request['name']}-{field}.npy"))
        np.save(files[field], np.asarray(array))
    built = time.perf_counter() - begin
    return call, {"built": built, "outputs": files, "variant": name}


def _least(call: Call) -> float:
    times = []
    for _ in range(4):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def run(call: Call, tool: str, times: int, threads: int) -> dict[str, Any]:
    """Time `times` calls on some threads after one that is not timed."""
    if tool == "Numba":
        importlib.import_module("numba").set_num_threads(threads)
    elif tool == "pystencils":
        ctypes.CDLL("libgomp.so.1").omp_set_num_threads(threads)
    call()
    with undisturbed():
        begin = time.perf_counter()
        for _ in range(times):
            call()
        return {"seconds": time.perf_counter() - begin}


def main() -> None:
    """Answer until the input ends."""
    calls: dict[str, Call] = {}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        name = request["name"]
        if request["do"] == "build":
            calls[name], built = build(request)
            return built
        return run(calls[name], name, request["times"], request["threads"])

    serve(answer)


if __name__ == "__main__":
    threads = int(os.environ["OMP_NUM_THREADS"])
    if len(sys.argv) > 1:  # a tool without a setting for its threads
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    main()
