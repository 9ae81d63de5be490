"""Programs on a GPU beside gt4py's GPU backends: the same fields, the same values, times by events.

    make bench-gpu PARTS=peer
    python bench/gpu_peer.py [FILE [CASES]]

With the names of some cases, as in 'nabla2,velocity tendency', it measures those and keeps the
other rows of the file, which it writes after each row. The peer runs in an environment of its own
(`PEER_VENV`), which needs CuPy, nvcc and CMake besides gt4py. Each of its backends has a process,
so that they build at the same time.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import gpu_cases as made
from peer import on_gpu
from peer.client import Peer, RefusedError, described

from fieldforge.runtime import gpu
from fieldforge.workflows.backends.ready_made import BACKENDS

SHAPE, ACROSS, LEVELS = (512, 512, 80), 384, 80
# Each as it is, and told that horizontal dimensions have unit stride, as models on meshes do.
HORIZONTAL = "GT4PY_UNSTRUCTURED_HORIZONTAL_HAS_UNIT_STRIDE"
PEERS = tuple((name, unit) for name in ("gtfn_gpu", "dace_gpu") for unit in (False, True))
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


def measure(folder: Path, names: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each case and each backend."""
    chosen = {name: CASES[name](True) for name in names}
    beside = []
    for name, case in chosen.items():
        place = folder / name
        place.mkdir()
        what = described(case, place)
        peers = [peer for peer in PEERS if peer[1] or name not in LARGE]
        beside += [Beside(peer, name, what, folder) for peer in peers]
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


def main() -> None:
    """Print a row for each case and backend, and keep them all."""
    device = gpu.Device(0)
    default = Path(__file__).parent / "results" / device.name.replace(" ", "-").lower()
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else default / "gpu_peer.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    names = sys.argv[2].split(",") if len(sys.argv) > 2 else list(CASES)
    rows = json.loads(place.read_text()) if len(sys.argv) > 2 and place.exists() else []
    with tempfile.TemporaryDirectory(prefix="fieldforge-peer-") as scratch:
        for one in measure(Path(scratch), names):
            print(json.dumps(one), flush=True)
            same = [each for each in rows if (each["case"], each["by"]) == (one["case"], one["by"])]
            rows = [each for each in rows if each not in same] + [one]
            place.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
