"""Start the peer's worker, hand it a case, ask it to run."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from cases.case import Case

from fieldforge.runtime.fields import neighbour_table
from fieldforge.runtime.fields.field import Field

from .gave_up import GaveUpError

ROOT = Path(__file__).parent.parent.parent
PYTHON = Path(os.environ.get("PEER_VENV", ROOT / ".venv-peer"), "bin", "python")
WORKER = Path(__file__).with_name("worker.py")

# DaCe's code allocates and frees its temporaries in every call. These keep what was freed in
# the process, so that no page is asked of the system, cleared and faulted in again.
KEPT = {
    "MALLOC_TRIM_THRESHOLD_": str(1 << 40),
    "MALLOC_MMAP_THRESHOLD_": str(1 << 40),
    "MALLOC_TOP_PAD_": str(1 << 28),
}


class RefusedError(GaveUpError):
    """The peer could not do it; the text is its reason."""


class Peer:
    """One worker process; `kept` tunes its malloc and leaves out Python's assertions.

    `settings` are more of its environment. Builds are kept in `folder`, so that a second worker
    given the same one finds them. `worker` is a Python, a script and its arguments.
    """

    def __init__(
        self,
        folder: Path,
        threads: int,
        *,
        kept: bool = False,
        settings: Mapping[str, str] = types.MappingProxyType({}),
        worker: Sequence[str] = (str(PYTHON), str(WORKER)),
    ) -> None:
        python, *rest = worker
        if not Path(python).exists():
            raise RefusedError("There is no environment for it; `make bench` makes one.")
        self.folder = folder
        env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        env |= {"OMP_NUM_THREADS": str(threads), "PATH": f"{Path(python).parent}:{env['PATH']}"}
        env |= {"GT4PY_BUILD_CACHE_LIFETIME": "persistent", "GT4PY_BUILD_CACHE_DIR": str(folder)}
        command = [python, *(["-O"] if kept else []), *rest]
        self._log = Path(folder, f"worker-{id(self)}.log")
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                cwd=folder,
                env=env | (KEPT if kept else {}) | settings,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,  # Ctrl-C is for us; the worker and its compilers go with us
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._process.wait()

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def ask(self, patience: float = 900.0, **request: Any) -> dict[str, Any]:
        """Send a request and wait for its answer, at most `patience` seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        alarm = threading.Timer(patience, self._end)
        alarm.start()
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            alarm.cancel()
        if not line:
            code = self._process.wait()
            last = self._log.read_text().strip().splitlines()[-1:] or [""]
            raise RefusedError(f"The process ended with {code}. {last[0]}".strip())
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise RefusedError(answer["refused"])
        return answer

    def build(
        self, name: str, described: dict[str, Any], backend: str, layout: str
    ) -> tuple[float, dict[str, np.ndarray]]:
        """Build the case `described` under `name`; return its seconds and outputs."""
        request = described | {"backend": backend, "layout": layout}
        answer = self.ask(do="build", name=name, folder=str(self.folder), **request)
        outputs = {key: np.load(path) for key, path in answer["outputs"].items()}
        return answer["built"], outputs

    def seconds(self, name: str, times: int) -> float:
        """Run a built case `times` times; return the total seconds."""
        return float(self.ask(do="run", name=name, times=times)["seconds"])

    def temporary_bytes(self, name: str) -> int:
        """Say by how much memory grew at the peak of one call."""
        return int(self.ask(do="memory", name=name)["bytes"])


def described(case: Case, folder: Path) -> dict[str, Any]:
    """Describe a case, with its arrays as files in `folder`."""
    function = case.program.__definition__.function  # type: ignore[attr-defined]
    if not function.__module__.startswith("fieldforge.examples."):
        raise RefusedError(f"'{function.__name__}' is not in fieldforge.examples.")
    return {
        "module": function.__module__,
        "program": function.__name__,
        "dtype": case.dtype,
        "outputs": list(case.outputs),
        "arguments": {
            name: _argument(value, folder / name) for name, value in case.arguments.items()
        },
        "tables": {name: _table(value, folder / name) for name, value in case.tables.items()},
    }


def _argument(value: Any, path: Path) -> dict[str, Any]:
    if isinstance(value, tuple):
        elements = [_argument(part, Path(f"{path}-{n}")) for n, part in enumerate(value)]
        return {"elements": elements}
    if isinstance(value, Field):
        return _saved(value, path)
    kind = {bool: "bool", int: "int32", float: "float64"}.get(type(value))
    return {"scalar": np.asarray(value).item(), "dtype": kind or np.asarray(value).dtype.name}


def _table(value: Any, path: Path) -> dict[str, Any]:
    if isinstance(value, neighbour_table.Connectivity):
        more = {"codomain": _dimension(value.codomain), "skip_value": value.skip_value}
        return _saved(value, path) | more
    return {"dimension": _dimension(value)}


def _saved(value: Any, path: Path) -> dict[str, Any]:
    np.save(path.with_suffix(".npy"), np.ascontiguousarray(value.asnumpy()))
    box = [[*_dimension(dim), unit.start, unit.stop] for dim, unit in value.domain]
    return {
        "file": str(path.with_suffix(".npy")),
        "domain": [[[name, kind], start, stop] for name, kind, start, stop in box],
    }


def _dimension(dim: Any) -> list[str]:
    return [dim.value, str(dim.kind)]
