"""The peer's process: builds programs with gt4py and runs them when it is told to.

Reads one JSON object a line from standard input and answers one a line (`serving.py`). Arrays come
and go as files.

    {"do": "build", "name": n, ...}        -> {"built": seconds, "outputs": {field: file}}
    {"do": "run", "name": n, "times": t}   -> {"seconds": s}
    {"do": "run_on_gpu", "name": n, "times": t}   -> {"device": s, "host": s}
    {"do": "memory", "name": n}            -> {"bytes": b}     or, to any of them, {"refused": why}
"""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import alias
import numpy as np
import on_gpu
from peak import peak_growth
from serving import serve
from undisturbed import undisturbed

Call = Callable[[], object]


def build(request: dict[str, Any]) -> tuple[Call, dict[str, Any]]:
    """Import the program, make its fields and call it once; the first call builds."""
    backend = _backend(request["backend"])
    program = _program(request).with_backend(backend)
    allocator = np if request["layout"] == "C order" else backend
    arguments = {name: _argument(given, allocator) for name, given in request["arguments"].items()}
    tables = {name: _table(given, backend) for name, given in request["tables"].items()}

    def call() -> object:
        return program(**arguments, offset_provider=tables)

    begin = time.perf_counter()
    call()
    built = time.perf_counter() - begin
    outputs = {}
    for name in request["outputs"]:
        for at, leaf in enumerate(_leaves(arguments[name])):
            path = Path(request["folder"], f"{request['name']}-{name}-{at}.npy")
            np.save(path, leaf.asnumpy())
            outputs[f"{name}-{at}"] = str(path)
    return call, {"built": built, "outputs": outputs}


def run(call: Call, times: int) -> dict[str, Any]:
    """Time `times` calls after one that is not timed."""
    call()
    with undisturbed():
        begin = time.perf_counter()
        for _ in range(times):
            call()
        return {"seconds": time.perf_counter() - begin}


def _backend(name: str) -> Any:
    import gt4py.next as gtx

    if name.startswith("gtfn"):
        return getattr(gtx, name)
    from gt4py.next.program_processors.runners import dace

    return getattr(dace, f"run_{name}")


def _program(request: dict[str, Any]) -> Any:
    with contextlib.suppress(ModuleNotFoundError):
        precision = importlib.import_module("fieldforge.examples.precision")
        precision.wpfloat = np.dtype(request["dtype"]).type
    name = request["module"].removesuffix(f"_{request['dtype']}")  # ours, loaded once more for it
    return getattr(importlib.import_module(name), request["program"])


def _argument(given: dict[str, Any], allocator: Any) -> Any:
    import gt4py.next as gtx

    if "elements" in given:
        return tuple(_argument(element, allocator) for element in given["elements"])
    if "scalar" in given:
        return np.dtype(given["dtype"]).type(given["scalar"])
    data = np.load(given["file"], mmap_mode="r")
    return gtx.as_field(_domain(given), data, allocator=allocator)


def _table(given: dict[str, Any], backend: Any) -> Any:
    import gt4py.next as gtx

    if "dimension" in given:
        return _dimension(given["dimension"])
    data = np.load(given["file"])
    codomain = _dimension(given["codomain"])
    skip = given["skip_value"]
    return gtx.as_connectivity(_domain(given), codomain, data, skip_value=skip, allocator=backend)


def _domain(given: dict[str, Any]) -> dict[Any, tuple[int, int]]:
    return {_dimension(dim): (start, stop) for dim, start, stop in given["domain"]}


def _dimension(given: list[str]) -> Any:
    import gt4py.next as gtx

    return gtx.Dimension(given[0], kind=gtx.common.DimensionKind(given[1]))


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, tuple):
        return [leaf for element in value for leaf in _leaves(element)]
    return [value]


def main() -> None:
    """Answer until the input ends."""
    alias.install(Path("examples").absolute())
    calls: dict[str, Call] = {}

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        name = request["name"]
        if request["do"] == "build":
            calls[name], built = build(request)
            return built
        if request["do"] == "run":
            return run(calls[name], request["times"])
        if request["do"] == "run_on_gpu":
            return on_gpu.measure(calls[name], request["times"])
        return {"bytes": peak_growth(calls[name])}

    serve(answer)


if __name__ == "__main__":
    main()
