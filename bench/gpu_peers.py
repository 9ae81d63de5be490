"""The programs of `gpu_cases.py` by others on the same numbers, for `gpu_programs.py`.

CuPy and JAX run in this process; JAX gets contiguous arrays in the order of the layout that is
measured, on meshes levels only. gt4py runs in an environment of its own (`PEER_VENV`), which needs
CuPy, nvcc and CMake besides gt4py; each of its backends has a process, so that they build at the
same time.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import gpu_cases as made
import numpy as np
from gpu_arrays import PROGRAMS
from peer import on_gpu
from peer.client import Peer, RefusedError, described

from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the card is shared with ours
ROUNDS, CALLS = 8, 5
NEAR = {"float64": 1e-9, "float32": 1e-2}  # of the largest number: peers may contract and reorder
SWITCHED = 1e-6  # of all points may be far off, where a rounded comparison falls the other way


def peers(case: Any, levels: bool) -> Iterator[tuple[str, float]]:
    """Yield the seconds of a call by each peer that has the program; each must find our numbers."""
    written = PROGRAMS.get(case.name)
    if written is None:
        return
    make, *outputs = written
    for name, of in (("CuPy", _cupy), ("JAX", _jax)):
        is_foreign = name == "JAX" and case.tables and not levels
        if is_foreign or importlib.util.find_spec(name.lower()) is None:
            continue
        call, wait, numbers = of(make, case, levels)
        found = call()
        for one, theirs in zip(outputs, found if len(outputs) > 1 else [found], strict=True):
            ours = case.arguments[one].asnumpy()
            is_far = np.abs(numbers(theirs) - ours) > NEAR[case.dtype] * np.abs(ours).max()
            assert is_far.mean() <= SWITCHED, (name, one)
        yield name, _seconds(call, wait)


def _seconds(call: Callable[[], Any], wait: Callable[[Any], None]) -> float:
    """Return the least time of a call, of several that follow each other."""
    wait(call())
    found = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            last = call()
        wait(last)
        found.append((time.perf_counter() - began) / CALLS)
    return min(found)


def _arrays(case: Any, levels: bool) -> dict[str, Any]:
    """Return the fields as arrays of CuPy: the levels first, unless they are contiguous."""
    found = {}
    for name, value in case.arguments.items():
        view = getattr(value, "ndarray", None)
        if view is None:
            found[name] = value
        else:
            found[name] = view if levels or case.tables else view.transpose(2, 1, 0)
    tables = {name: table.ndarray for name, table in case.tables.items()}
    return found | tables


def _cupy(make: Any, case: Any, levels: bool) -> tuple[Any, Any, Any]:
    import cupy

    program = make(cupy, None, levels)
    given = _arrays(case, levels)

    def call() -> Any:
        return program(**given)

    def back(found: Any) -> Any:
        return cupy.asnumpy(found if levels or case.tables else found.transpose(2, 1, 0))

    return call, lambda _: cupy.cuda.Device().synchronize(), back


def _jax(make: Any, case: Any, levels: bool) -> tuple[Any, Any, Any]:
    import cupy
    import jax

    jax.config.update("jax_enable_x64", True)
    program = jax.jit(make(jax.numpy, jax.lax, levels))
    given = {
        name: jax.dlpack.from_dlpack(cupy.array(value, order="C", copy=True))
        if hasattr(value, "shape") and value.shape
        else value
        for name, value in _arrays(case, levels).items()
    }

    def call() -> Any:
        return program(**given)

    def back(found: Any) -> Any:
        numbers = np.asarray(found)
        return numbers if levels or case.tables else numbers.transpose(2, 1, 0)

    return call, jax.block_until_ready, back


SHAPE, ACROSS, LEVELS = (512, 512, 80), 384, 80
# Each as it is, and told that horizontal dimensions have unit stride, as models on meshes do.
HORIZONTAL = "GT4PY_UNSTRUCTURED_HORIZONTAL_HAS_UNIT_STRIDE"
GT4PY = tuple((name, unit) for name in ("gtfn_gpu", "dace_gpu") for unit in (False, True))
TIMES = 20
ALLOWED = 1e-12  # relative: contraction and another order of sums

CASES: Mapping[str, Callable[[bool], Any]] = {
    "diffusion": lambda _: made.diffusion("float64", False, SHAPE),
    "tridiagonal": lambda _: made.tridiagonal("float64", False, SHAPE),
    "nabla2": lambda levels: made.nabla2("float64", levels, ACROSS, LEVELS),
    "velocity tendency": lambda levels: made.velocity_tendency("float64", levels, ACROSS, LEVELS),
    "ICON-like": lambda levels: made.dynamics("float64", levels, ACROSS, LEVELS),
}
ON_MESHES = ("nabla2", "velocity tendency", "ICON-like")  # in both of our layouts
LARGE = ("velocity tendency", "ICON-like")  # by peers that know of the unit stride only


class Beside:
    """A backend of the peer, from the start of its process until its times are taken."""

    def __init__(
        self, peer: tuple[str, bool], name: str, described: Mapping[str, Any], folder: Path
    ) -> None:
        self.backend, is_unit = peer
        self.name, self.by = name, self.backend + (", unit stride" if is_unit else "")
        self._settings = {HORIZONTAL: "1" if is_unit else "0"}
        self._described = dict(described)
        self._folder = folder / f"{self.backend}-{is_unit}-{name}"
        self._folder.mkdir()
        self._peer: Peer | None = None

    def build(self) -> tuple[float, Mapping[str, np.ndarray]] | str:
        """Return the seconds of the build and what it computes, or why there is nothing."""
        try:
            self._peer = Peer(self._folder, 1, kept=True, settings=self._settings).__enter__()
            return self._peer.build(self.name, self._described, self.backend, "its own")
        except RefusedError as error:
            return str(error)

    def times(self) -> Mapping[str, float]:
        """Return the times of a call on the device and on the host."""
        assert self._peer is not None
        return self._peer.ask(do="run_on_gpu", name=self.name, times=TIMES)

    def end(self) -> None:
        """End the process."""
        if self._peer is not None:
            self._peer.__exit__()


def ours(case: Any) -> tuple[Mapping[str, float], Mapping[str, np.ndarray]]:
    """Time a case by our backend and return what it computes."""
    import cupy

    program = case.program.with_backend(BACKENDS["gpu"])
    began = time.perf_counter()
    program(**case.arguments, offset_provider=case.tables)
    built = time.perf_counter() - began
    values = {name: np.array(case.arguments[name].asnumpy()) for name in case.outputs}
    stream = cupy.cuda.Stream(non_blocking=True)
    with gpu.Stream.from_object(stream):
        found = on_gpu.measure(
            lambda: program(**case.arguments, offset_provider=case.tables), TIMES, stream
        )
    return {**found, "built": built}, values


def differences(mine: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray]) -> float:
    """Return the largest difference of any output, by the largest value of that output."""
    found = 0.0
    for name, values in mine.items():
        other = theirs[f"{name}-0"]
        found = max(found, float(np.abs(values - other).max() / np.abs(values).max()))
    return found


def beside_gt4py(names: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each case by us and by each backend of gt4py."""
    with tempfile.TemporaryDirectory(prefix="fieldforge-peer-") as scratch:
        yield from _beside_gt4py(Path(scratch), names or list(CASES))


def _beside_gt4py(folder: Path, names: Collection[str]) -> Iterator[dict[str, Any]]:
    chosen = {name: CASES[name](True) for name in names}
    beside = []
    for name, case in chosen.items():
        place = folder / name
        place.mkdir()
        what = described(case, place)
        backends = [each for each in GT4PY if each[1] or name not in LARGE]
        beside += [Beside(each, name, what, folder) for each in backends]
    with ThreadPoolExecutor(len(beside)) as pool:
        built = list(pool.map(Beside.build, beside))  # they build at once and are timed in turn
    for name, case in chosen.items():
        found, values = ours(case)
        layout = ", levels contiguous" if name in ON_MESHES else ""
        yield row(name, f"fieldforge{layout}", found, None)
        for peer, answer in zip(beside, built, strict=True):
            if peer.name != name:
                continue
            if isinstance(answer, str):
                yield {"case": name, "by": peer.by, "refused": answer}
                continue
            seconds, theirs = answer
            apart = differences(values, theirs)
            yield row(name, peer.by, {**peer.times(), "built": seconds}, apart)
            peer.end()
    for name in names:
        if name in ON_MESHES:
            yield row(name, "fieldforge", ours(CASES[name](False))[0], None)


def row(name: str, by: str, found: Mapping[str, float], apart: float | None) -> dict[str, Any]:
    """Return what is kept of one measurement; times in milliseconds and microseconds."""
    return {
        "case": name, "by": by, "ms": 1e3 * found["device"], "returns_us": 1e6 * found["host"],
        "first_call_s": found["built"], "differs_by": apart,
        "agrees": apart is None or apart <= ALLOWED,
    }  # fmt: skip
