"""Count the instructions of a call with callgrind, and hold them against the counts on file.

    python bench/count.py            compare; fails where a call takes 25 % more than before
    python bench/count.py --write    keep the counts of today in bench/call_counts.json

Unlike times, counts do not depend on what else the machine does. Everything from the vectorcall on
is counted: our core, the interpreter's functions that it calls, and a C function for x86-64-v3
that does nothing. They are kept for each minor version of Python, which has a share in them.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

FILE = Path(__file__).parent / "call_counts.json"
HEADER = Path("/usr/include/valgrind/callgrind.h")
LIMIT = 1.25
TIMES = 200


def counts() -> dict[str, float]:
    """Return instructions a call, by kind of call: build here, count in a process of valgrind's."""
    with tempfile.TemporaryDirectory(prefix="fieldforge-count-") as scratch:
        folder = Path(scratch)
        prepare(folder)
        out = folder / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--quiet"]
        command += [f"--callgrind-out-file={out}", sys.executable, __file__, "--inside", scratch]
        env = {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
        if done.returncode != 0:
            raise click.ClickException(f"callgrind failed:\n{done.stderr[-2000:]}")
        return dict(_read(folder))


def prepare(folder: Path) -> None:
    """Fill the store of the process under valgrind, so that it compiles nothing."""
    import gpu_counts
    import nanobind_calls

    from fieldforge.runtime.calls.refusals import reject  # noqa: F401  (fail here, not under valgrind)

    home = sysconfig.get_path("include")
    source = Path(__file__).parent / "counting.c"
    command = ["cc", "-O2", "-shared", "-fPIC", f"-I{home}", str(source)]
    subprocess.run([*command, "-o", str(folder / "counting.so")], check=True)
    empty = folder / "nothing.cpp"
    empty.write_text(nanobind_calls.ENTRY)
    command = ["c++", "-O3", "-march=x86-64-v3", "-shared", "-fPIC", str(empty)]
    subprocess.run([*command, "-o", str(folder / "nothing.so")], check=True)
    gpu_counts.prepare(folder)
    plans = _plans(folder)
    (folder / "plans.json").write_bytes(plans)


def _plans(folder: Path) -> bytes:
    from call_programs import COUNTS, write_module

    import fieldforge as ff
    from fieldforge.cache.disk import Disk
    from fieldforge.stages.ir import codec

    module = write_module(folder, "fieldforge", "ff.cpu")
    programs = (getattr(module, f"fields_{count}") for count in COUNTS)
    with ff.using(ff.Engine(Disk(folder / "store"))):  # not the user's
        plans = tuple(each.trace(until="bind")["bind"].artifact.plan for each in programs)
    found: bytes = codec.encode(plans)
    return found


def count_inside(folder: Path) -> None:
    """Make the calls; runs under valgrind."""
    library = ctypes.PyDLL(str(folder / "counting.so"))
    library.count.restype = ctypes.py_object
    library.count.argtypes = [ctypes.py_object] * 3 + [ctypes.c_long, ctypes.c_char_p]
    import gpu_counts

    for label, call, values, keywords in (*_calls(folder), *gpu_counts.calls()):
        library.count(call, values, keywords, TIMES, label.encode())


def _calls(folder: Path) -> Iterator[tuple[str, Any, tuple[Any, ...], tuple[str, ...]]]:
    from call_programs import COUNTS, arguments

    import fieldforge as ff
    from fieldforge.runtime import _core
    from fieldforge.runtime.calls.refusals import reject
    from fieldforge.stages.ir import codec

    nothing = _core.Library(str(folder / "nothing.so"))
    address = nothing.symbol("entry")
    assert address is not None
    dim = ff.Dimension("I")
    for count, plan in zip(COUNTS, codec.decode((folder / "plans.json").read_bytes()), strict=True):
        given = arguments([ff.zeros({dim: 1}) for _ in range(count)])
        values, names = tuple(given.values()), tuple(map(sys.intern, given))
        entry = _core.Entry(plan, address, nothing)
        for kind, static in (("", ()), (", static", [(count, 1.0, lambda _: False)])):
            program = _core.Program("p", plan.parameters, lambda *_: None, reject)
            program.add(entry, static)
            yield f"{count} fields by position{kind}", program, values, ()
            yield f"{count} fields by keyword{kind}", program, values, names
        if count == 15:
            bound = _core.BoundCall("p", program, program, plan.parameters, given, None, reject)
            yield "15 fields, bound", bound, (), ()
            with ff.record() as step:
                for _ in range(100):
                    program(*values)
            yield "step of 100 programs", step, (), ()


def _read(folder: Path) -> Iterator[tuple[str, float]]:
    for path in sorted(folder.glob("callgrind.out.*"), key=lambda path: int(path.suffix[1:])):
        text = path.read_text()
        label = text.partition("desc: Trigger: Client Request: ")[2].partition("\n")[0]
        total = text.partition("\nsummary: ")[2].partition("\n")[0]
        if label and total:
            yield label, round(int(total) / TIMES, 1)


def compare(now: dict[str, float], before: dict[str, float]) -> list[str]:
    """Return the counts that exceed the earlier ones by more than the limit, and those missing."""
    worse = [
        f"{label}: {now[label]:.0f} instructions, {before[label]:.0f} on file"
        for label in before
        if label in now and now[label] > LIMIT * before[label]
    ]
    return worse + [f"{label}: not counted" for label in before if label not in now]


@click.command()
@click.option("--write", is_flag=True, help="Keep the counts of today.")
@click.option("--inside", type=click.Path(path_type=Path), hidden=True)
def main(write: bool, inside: Path | None) -> None:
    """Compare the instructions of calls with those on file."""
    if inside is not None:
        count_inside(inside)
        return
    if shutil.which("valgrind") is None or not HEADER.exists():
        click.echo("The instructions of calls are not counted: valgrind is not installed.")
        return
    found, version = counts(), ".".join(platform.python_version_tuple()[:2])
    kept: dict[str, dict[str, float]] = json.loads(FILE.read_text()) if FILE.exists() else {}
    for label, value in found.items():
        click.echo(f"{label:38} {value:9.1f} instructions")
    if write:
        FILE.write_text(json.dumps({**kept, version: found}, indent=1) + "\n")
        return
    if version not in kept:
        click.echo(f"There are no counts for Python {version}; keep these with --write.")
        return
    worse = compare(found, kept[version])
    if worse:
        raise click.ClickException(
            "Calls take more than 25 % more than before:\n" + "\n".join(worse)
        )
    click.echo(f"None takes more than {LIMIT:.2f} times what is on file.")


if __name__ == "__main__":
    main()
