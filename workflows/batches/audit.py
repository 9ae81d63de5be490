"""Audit determinism: lower programs under several hash seeds, import orders and paths.

A stage whose output differs between processes makes every rank and every start build again.
"""

from __future__ import annotations

import difflib
import importlib
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from ...cache.functions import PACKAGE  # the name of this module may be '__main__'
from ...cache.memory import Memory
from ...runtime.process import FieldforgeError, classes, environment_with
from ..engine.engine import Engine, using
from ..variants.tables import Table, kinds_of
from .addresses import find
from .orders import orders_of, with_some_backend

Texts: TypeAlias = list[tuple[str, str, str]]  # stage and port, digest, text

MODULES: Final = (
    "stages.lower.build", "stages.codegen.schedule.schedule", "stages.parse.trees",
    "stages.bind.plans", "stages.codegen.cpu.text.kernel", "stages.ir.loops.kernel",
    "stages.lower.passes", "stages.ir.syntax",
)  # fmt: skip
_MOST_LINES: Final = 60


class AuditError(FieldforgeError):
    """A process of the audit failed."""


@classes.frozen
class Divergence:
    """The first stage whose result differs between two processes, as a diff of its texts."""

    program: str
    stage: str
    diff: str

    def __str__(self) -> str:
        return f"{self.program}: stage '{self.stage}' differs between processes.\n{self.diff}"


def audit(
    addresses: Sequence[str],
    *,
    runs: int = 2,
    libraries: bool = False,
    tables: Sequence[Sequence[Table]] = (),
) -> tuple[Divergence, ...]:
    """Lower programs, named as 'module:program' or 'file.py:program', in several processes.

    Each process has its own hash seed, import order, working directory, temporary folder, and path
    to the program's file. With `libraries`, the audit also compiles and compares the libraries.
    `tables` has the neighbour tables of each program; without, no program may read any.
    """
    known = tables or [()] * len(addresses)
    with tempfile.TemporaryDirectory(prefix="fieldforge-audit-") as folder:
        found = [_run(addresses, known, seed, libraries, Path(folder)) for seed in range(runs)]
    different = []
    for number, address in enumerate(addresses):
        for other in found[1:]:
            first = _first(address, found[0][number], other[number])
            if first is not None:
                different.append(first)
                break
    return tuple(different)


def _first(address: str, old: Texts, new: Texts) -> Divergence | None:
    for (stage, digest, text), (_, other, other_text) in zip(old, new, strict=True):
        if digest != other:
            rows = difflib.unified_diff(
                text.splitlines(),
                other_text.splitlines(),
                "one process",
                "another",
                lineterm="",
                n=2,
            )
            shown = list(rows)[:_MOST_LINES]
            return Divergence(
                address, stage, "\n".join(shown) or "The texts are equal; only the bytes differ."
            )
    return None


def _run(
    addresses: Sequence[str],
    tables: Sequence[Sequence[Table]],
    seed: int,
    libraries: bool,
    folder: Path,
) -> list[Texts]:
    own = folder / f"run{seed}"
    (own / "tmp").mkdir(parents=True)
    here = [os.getcwd() if part == "" else part for part in sys.path]
    given = {
        "addresses": [_moved(address, own) for address in addresses],
        "tables": tables, "seed": seed, "libraries": libraries, "path": here,
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-P", "-m", f"{PACKAGE}.workflows.batches.audit", json.dumps(given)],
        cwd=own, capture_output=True, text=True, check=False,
        env=environment_with(PYTHONHASHSEED=str(seed + 1), TMPDIR=str(own / "tmp")),
    )  # fmt: skip
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or ["It said nothing."]
        raise AuditError(f"A process of the audit failed: {lines[-1]}", hints=lines[-4:-1])
    found: list[Texts] = json.loads(done.stdout.splitlines()[-1])
    return found


def _moved(address: str, folder: Path) -> str:
    """Return the address by another path to the same file."""
    where, _, name = address.rpartition(":")
    if not where.endswith(".py"):
        return address
    file = Path(where).resolve()
    link = folder / f"sources-{file.parent.name}"
    if not link.exists():
        link.symlink_to(file.parent)
    return f"{link / file.name}:{name}"


def _answer(given: Mapping[str, Any]) -> list[Texts]:
    sys.path[:] = given["path"]
    order = list(MODULES)
    random.Random(given["seed"]).shuffle(order)
    for name in order:
        importlib.import_module(f"{PACKAGE}.{name}")
    with using(Engine(Memory())) as engine:
        return [
            _texts(find(address), tables, given["libraries"], engine)
            for address, tables in zip(given["addresses"], given["tables"], strict=True)
        ]


def _texts(program: Any, tables: Sequence[Table], libraries: bool, engine: Engine) -> Texts:
    found: Texts = []
    for order in orders_of(with_some_backend(program), kinds_of(tables) or None):
        flow = order.flow
        until = [step.name for step in flow.plan if step.stage.cache != "never"
                 and (libraries or step.stage.name != "compile")]  # fmt: skip
        results = engine.run(flow, order.inputs, until=until, deep=False, load=False)
        for result in (results[name] for name in until):
            for port, handle in result.outputs.items():
                if port != "spans":  # spans are source positions and enter no key
                    found.append((result.name, handle.digest or "", str(handle.get().text)))
    return found


if __name__ == "__main__":
    print(json.dumps(_answer(json.loads(sys.argv[1]))))  # noqa: T201
