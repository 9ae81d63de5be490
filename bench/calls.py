"""Measure the cost of calls in nanoseconds: ours with an empty C function, and the rivals'.

Rows are programs of 1, 5, 15 and 30 fields with three numbers, called by position, by keyword and
with a dictionary; the same with a number compiled in. Beside our call stand an empty nanobind
function of the same arguments, nanobind handing arrays to the same C entry, and gt4py's; our call
with NumPy's arrays in the place of fields, too. An operator is called directly in rows of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import nanobind_calls
from call_programs import COUNTS, HOWS, arguments, nanoseconds, repeated, write_module
from peer.client import PYTHON
from rich.console import Console

import fieldforge as ff
from fieldforge.runtime import _core
from fieldforge.runtime.calls.refusals import reject

ROUNDS = 15
SEQUENCE = 100
OURS, POINT, OURS_ARRAYS = "ours", "ours, one point", "ours, arrays"
EMPTY, ARRAYS = "nanobind, nothing", "nanobind, arrays"
GT4PY, OPTIMISED = "gt4py", "gt4py -O"

Rounds = dict[str, Callable[[], None]]


def measure(console: Console) -> list[dict[str, Any]]:
    """Return a row for each kind of call; times are the least of several rounds, in turns."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        with console.status("compiling"):
            module = write_module(folder, "fieldforge", "ff.cpu")
            peers = nanobind_calls.build(folder)
            entry = compiled_nothing(folder)
        with console.status("calling"):
            rows = [
                *(_in_turns(label, rounds) for label, rounds in _programs(module, peers, entry)),
                *(_in_turns(label, rounds) for label, rounds in _operators(module, entry)),
                *(_in_turns(label, rounds) for label, rounds in _prepared(module, entry)),
            ]
        with console.status("calling gt4py"):
            _add_gt4py(rows, folder)
    return [_shown(row) for row in rows]


def compiled_nothing(folder: Path, isa: str = "x86-64-v3") -> Callable[[Any], Any]:
    """Return a function from a native program to one with the same plan and an empty C function."""
    source, path = folder / "nothing.cpp", folder / "nothing.so"
    source.write_text(nanobind_calls.ENTRY)
    command = ["c++", "-O3", f"-march={isa}", "-shared", "-fPIC", str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    library = _core.Library(str(path))
    address = library.symbol("entry")
    assert address is not None

    def emptied(program: Any, values: Any = (), otherwise: Any = None) -> _core.Program:
        made = _core.Program("p", program.parameters, lambda *_: None, reject, otherwise)
        made.add(_core.Entry(program.entries[0].plan, address, library), values)
        return made

    return emptied


def _programs(
    module: ModuleType, peers: ModuleType, emptied: Callable[..., Any]
) -> Iterator[tuple[str, Rounds]]:
    for count in COUNTS:
        fields = [ff.zeros({module.I: 1}) for _ in range(count)]
        given = arguments(fields)
        arrays = arguments([field.ndarray for field in fields])
        for kind in ("fields", "static"):
            program = getattr(module, f"{kind}_{count}")
            program(**given)
            static = [(count, 1.0, lambda _: False)] if kind == "static" else ()
            for how in HOWS if kind == "fields" else HOWS[:2]:
                rounds = {
                    OURS: repeated(emptied(program, static), given, how, {}),
                    POINT: repeated(program, given, how, {}),
                }
                if kind == "fields":
                    rounds |= {
                        OURS_ARRAYS: repeated(emptied(program), arrays, how, {}),
                        EMPTY: repeated(getattr(peers, f"nothing_{count}"), given, how, {}),
                        ARRAYS: repeated(getattr(peers, f"arrays_{count}"), arrays, how, {}),
                    }
                yield f"{kind}_{count} {how}", rounds


def _operators(module: ModuleType, emptied: Callable[..., Any]) -> Iterator[tuple[str, Rounds]]:
    """Direct calls of an operator of one field and one number, with `out=` by name."""
    operator = module.first.with_backend(ff.cpu)
    given = {"a": ff.zeros({module.I: 1}), "x": 1.0, "out": ff.zeros({module.I: 1})}
    arrays = {**given, "a": given["a"].ndarray, "out": given["out"].ndarray}
    operator(**given)
    empty = emptied(operator, (), print)  # what any other call than these would be made by
    yield (
        "operator keyword",
        {
            OURS: repeated(empty, given, "keyword", {}),
            POINT: repeated(operator, given, "keyword", {}),
            OURS_ARRAYS: repeated(empty, arrays, "keyword", {}),
        },
    )


def _prepared(module: ModuleType, emptied: Callable[..., Any]) -> Iterator[tuple[str, Rounds]]:
    """Calls that were prepared: bound arguments, and a recorded sequence."""
    fields = [ff.zeros({module.I: 1}) for _ in range(15)]
    given = arguments(fields)
    program = emptied(module.fields_15)
    names = module.fields_15.parameters
    bound = _core.BoundCall("p", program, program, names, given, None, reject)
    yield "bound 15", {OURS: repeated(bound, {}, "nothing", {})}
    with ff.record(out=fields[-1]) as step:
        for _ in range(SEQUENCE):
            program(**given)
    yield f"step of {SEQUENCE}", {OURS: repeated(step, {}, "nothing", {})}
    other = {"out": ff.zeros({module.I: 1})}
    yield f"step of {SEQUENCE}, slot given", {OURS: repeated(step, other, "keyword", {})}


def _in_turns(label: str, rounds: Rounds) -> dict[str, Any]:
    times: dict[str, list[float]] = {name: [] for name in rounds}
    for call in rounds.values():
        call()
    for _ in range(ROUNDS):
        for name, call in rounds.items():
            times[name].append(nanoseconds(call, 0.005))
    return {"call": label, **{name: min(found) for name, found in times.items()}}


def _add_gt4py(rows: list[dict[str, Any]], folder: Path) -> None:
    """Add the peer's times where its environment is there (`make bench` makes it)."""
    for name, flags in ((GT4PY, []), (OPTIMISED, ["-O"])):
        with contextlib.suppress(OSError):
            script = str(Path(__file__).parent / "peer" / "calls.py")
            done = subprocess.run(
                [str(PYTHON), *flags, script, str(folder)],
                capture_output=True, text=True, check=False,
                env={**os.environ, "GT4PY_BUILD_CACHE_DIR": str(folder), "OMP_NUM_THREADS": "1"},
            )  # fmt: skip
            lines = done.stdout.splitlines()
            found = json.loads(lines[-1]) if done.returncode == 0 and lines else {}
            for row in rows:
                if row["call"] in found:
                    row[name] = found[row["call"]]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    columns = (OURS, POINT, OURS_ARRAYS, EMPTY, ARRAYS, GT4PY, OPTIMISED)
    return {"call": row["call"], **{name: row.get(name, "") for name in columns}}
