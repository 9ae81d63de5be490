"""Run a C++ compiler on one source text, in a private directory."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ...cache.files import keep_note, read_file
from ...runtime.calls.elf import fault_in
from ...runtime.process import LAST_LINES, CompilationError, Folder, classes
from ..units import MACRO, count_units
from .build_folder import build_folder
from .headers import digests, headers_of
from .running import run_compilers
from .toolchain_protocol import Outcome

SOURCE, LIBRARY, HEADERS = "program.cpp", "program.so", "program.d"
# What words begin with that do nothing where nothing is linked.
_OF_LINKER: Final = ("-Wl,", "-l", "-L", "-shared", "-nodefaultlibs")
_LIMIT: Final = 1 << 32
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@classes.frozen
class CompilerKind:
    """What compilers differ in: the name of a source, and how they hide the folder of a build."""

    source: str = SOURCE
    hide: tuple[str, ...] = ("-ffile-prefix-map={}=.",)
    headers: str = "-MD"


CPLUSPLUS: Final = CompilerKind()


def compile_source(
    source: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    logs: Path | None = None,
    symbol: str | None = None,
    kind: CompilerKind = CPLUSPLUS,
    libraries: Sequence[str] = (),
) -> Outcome:
    """Compile `source` with `command`, to which input and output are added.

    A source in several translation units is compiled unit by unit, side by side, and linked. The
    directory is mapped to '.', so the bytes of the library do not depend on it. The library
    must be whole and export the function `symbol`, if one is given. The options `libraries` come
    after the source.

    Raises:
        CompilationError: with command, exit code, last lines, and the path of the whole log.

    """
    with build_folder() as folder:
        directory = folder.path
        try:
            _write(folder, kind.source, source.encode())
        except OSError as error:
            raise CompilationError(
                f"The source cannot be written to '{directory}': {error.strerror or error}.",
                hints=("Free some space, or name another folder in FIELDFORGE_LOCAL_DIR.",),
            ) from error
        steps = commands(command, count_units(source), directory, kind, libraries)
        began = time.time_ns()
        log = "".join(_run(step, source, folder, environment, logs) for step in steps)
        shown = _shown(steps[-1][0], directory)
        rules = [HEADERS] if len(steps) == 1 else map(rule_of, range(len(steps[0])))
        try:
            library = read_file(LIBRARY, _LIMIT, folder)
            headers = sorted({name for rule in rules for name in headers_of(_rule(folder, rule))})
        except (OSError, ValueError) as error:
            raise CompilationError(
                f"The compiler '{command[0]}' reported success but wrote no library.",
                command=shown, exit_code=0, log=log,
            ) from error  # fmt: skip
        problem = fault_in(library, symbol)
        if problem is not None:
            raise CompilationError(
                f"The compiler '{command[0]}' reported success but left an incomplete library: "
                f"{problem}",
                command=shown, exit_code=0, log=log,
                hints=("Check that the disk of FIELDFORGE_LOCAL_DIR has free space.",),
            )  # fmt: skip
        return Outcome(library, log, digests(headers, command, environment, began))


def commands(
    command: Sequence[str],
    units: int,
    directory: str,
    kind: CompilerKind = CPLUSPLUS,
    libraries: Sequence[str] = (),
) -> list[list[list[str]]]:
    """Return the steps of a build: commands that may run side by side.

    >>> for step in commands(["c++", "-O2", "-shared", "-lm"], 2, "/b"):
    ...     for words in step:
    ...         print(*words)
    c++ -O2 -ffile-prefix-map=/b=. -MD -MF unit0.d -c -DUNIT=0 -o unit0.o program.cpp
    c++ -O2 -ffile-prefix-map=/b=. -MD -MF unit1.d -c -DUNIT=1 -o unit1.o program.cpp
    c++ -O2 -shared -lm -ffile-prefix-map=/b=. -o program.so unit0.o unit1.o
    """
    hidden = [word.format(directory) for word in kind.hide]
    if units == 1:
        asks = [kind.headers, "-MF", HEADERS]
        return [[[*command, *hidden, *asks, "-o", LIBRARY, kind.source, *libraries]]]
    ours = [word for word in (*command, *libraries) if not word.startswith(_OF_LINKER)]
    compiled = [
        [*ours, *hidden, kind.headers, "-MF", rule_of(unit), "-c", f"-D{MACRO}={unit}",
         "-o", f"unit{unit}.o", kind.source]
        for unit in range(units)
    ]  # fmt: skip
    objects = [f"unit{unit}.o" for unit in range(units)]
    return [compiled, [[*command, *hidden, "-o", LIBRARY, *objects, *libraries]]]


def rule_of(unit: int) -> str:
    """Return the file to which the compiler writes the headers of a unit."""
    return f"unit{unit}.d"


def _run(
    step: Sequence[Sequence[str]],
    source: str,
    folder: Folder,
    environment: Mapping[str, str],
    logs: Path | None,
) -> str:
    """Run the commands of a step and return what they said."""
    try:
        done = run_compilers(step, folder, environment)
    except OSError as error:
        raise CompilationError(
            f"The compiler '{step[0][0]}' cannot be run: {error.strerror or error}.",
            command=step[0],
        ) from error
    said = [each.stdout.decode(errors="replace").replace(folder.path, ".") for each in done]
    code = done[-1].returncode
    if code != 0:
        shown = _shown(step[len(done) - 1], folder.path)
        where = f" in translation unit {len(done)} of {len(step)}" if len(step) > 1 else ""
        raise _failure(source, shown, code, said[-1], logs, where)
    return "".join(said)


def _shown(words: Sequence[str], directory: str) -> list[str]:
    return [word.replace(directory, "DIRECTORY") for word in words]


def _write(folder: Folder, name: str, content: bytes) -> None:
    handle = os.open(name, _CREATE, 0o600, dir_fd=folder.handle)
    with open(handle, "wb") as stream:
        stream.write(content)


def _rule(folder: Folder, name: str) -> str:
    """Return a rule for `make` that the compiler wrote, empty if there is none."""
    try:
        return read_file(name, _LIMIT, folder).decode(errors="surrogateescape")
    except (OSError, ValueError):
        return ""


def _failure(
    source: str, command: Sequence[str], code: int, log: str, logs: Path | None, where: str
) -> CompilationError:
    end = f"was ended by signal {_signal(-code)}" if code < 0 else f"failed with exit code {code}"
    kept = _keep(source, command, code, log, logs)
    lines = log.rstrip().splitlines()
    hints = []
    if kept is not None and len(lines) > LAST_LINES:
        hints.append(f"The last {LAST_LINES} of {len(lines)} lines are shown; all are in '{kept}'.")
    if -code == signal.SIGKILL:
        hints.append("The machine may have run out of memory; build fewer programs at a time.")
    return CompilationError(
        f"The compiler '{os.path.basename(command[0])}' {end}{where}.",
        command=command, exit_code=code, log=log, log_path=kept, hints=hints,
    )  # fmt: skip


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _keep(
    source: str, command: Sequence[str], code: int, log: str, logs: Path | None
) -> str | None:
    """Write command, log and source to a file named by their digest; return its path."""
    if logs is None:
        return None
    text = f"command: {' '.join(command)}\nexit code: {code}\n\n{log}\n--- {SOURCE}\n{source}"
    path = logs / f"compile-{hashlib.sha256(text.encode()).hexdigest()[:16]}.txt"
    keep_note(str(logs.parent), f"{logs.name}/{path.name}", text.encode())
    return str(path) if path.exists() else None
