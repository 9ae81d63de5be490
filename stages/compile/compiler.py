"""The C++ compiler: how it is found, and its identity for keys."""

from __future__ import annotations

import json
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ...cache.files import keep_note, read_note
from ...cache.sealed import seal, unseal
from ...runtime.calls.plan import ENTRY
from ...runtime.process import CompilerNotFoundError, classes
from ...runtime.process.sha256 import sha256

if TYPE_CHECKING:  # imported where a compiler runs, see docs/decisions/0005
    from .toolchain_protocol import Outcome

CANDIDATES: Final = ("c++", "g++", "clang++")
MEMORY: Final = "compilers"  # identities by path, size, time and inode
# The programs that GCC's driver runs, and the files that it links into every library.
PROGRAMS: Final = ("cc1plus", "as", "ld")
OF_HIPCC: Final = ("clang", "ld.lld")  # which is a script
PARTS: Final = ("crti.o", "crtbeginS.o", "libgcc.a", "libc.so.6", "libm.so.6", "libstdc++.so.6")
_KIND: Final = "fieldforge-compilers-2"
_LIMIT: Final = 1 << 20
_C_ONLY: Final = ("-fno-exceptions", "-nodefaultlibs", "-lm", "-lgcc", "-lc")
_OF_CPP: Final = (  # a header of C++, or what its library does without one
    r"#\s*include\s*(?!<\w+\.h>)|\b(new|delete|throw|try|typeid|dynamic_cast|virtual|__cxa_\w+)\b"
)
_RUNTIMES: Final = ("-fopenmp", "-fsanitize=")  # options that link libraries of their own


@classes.frozen
class Compiler:
    """A C++ compiler: its command, and everything that tells it from another one.

    `digests` are those of the driver, of the programs that it runs (`cc1plus`, `as`, `ld`) and of
    the files that it links into every library, as far as it names them.
    """

    command: tuple[str, ...]
    path: str
    version: str
    digests: tuple[tuple[str, str], ...]

    @property
    def identity(self) -> str:
        """One line for keys; where the compiler is installed does not count."""
        parts = [f"{name} {digest[:16]}" for name, digest in self.digests]
        return "; ".join([self.version, *self.command[1:], *parts])


@classes.frozen
class CppToolchain:
    """A C++ compiler in a given environment.

    Attributes:
        compiler: its command and identity.
        variables: its environment.
        logs: the folder where sources and logs of failures are kept, if any.

    """

    compiler: Compiler
    variables: tuple[tuple[str, str], ...] = classes.field(default=(), repr=False)
    logs: Path | None = None

    @property
    def identity(self) -> str:
        """One line for keys."""
        return self.compiler.identity

    def command(self, flags: Sequence[str]) -> tuple[str, ...]:
        """Return the words of a run, up to input and output."""
        return (*self.compiler.command, "-pipe", *flags)

    def compile(self, source: str, flags: Sequence[str]) -> Outcome:
        """Compile one source text to a shared library."""
        from .command import compile_source

        symbol = ENTRY if ENTRY in source else None
        command = self.command(flags)
        environment = dict(self.variables)
        linked = _libraries(source, flags)
        return compile_source(source, command, environment, self.logs, symbol, libraries=linked)


def _libraries(source: str, flags: Sequence[str]) -> tuple[str, ...]:
    """Name the libraries to link in place of the usual ones, none if those are needed.

    Our code calls functions of C only. To read the symbols of the C++ library takes the linker as
    long as a fifth of a small build.
    """
    links_runtime = any(flag.startswith(_RUNTIMES) and flag != "-fopenmp-simd" for flag in flags)
    if sys.platform != "linux" or links_runtime or re.search(_OF_CPP, source):
        return ()
    return _C_ONLY


_seen: Final[dict[str, Any]] = {}  # what this process found, as its folders remember it
_known: Final[list[dict[Any, Compiler]]] = []  # of the blocks that `same_compilers` opened


@contextmanager
def same_compilers() -> Iterator[None]:
    """Take compilers to stay the same in this block: each is looked at once, not once a build."""
    mine: dict[Any, Compiler] = {}
    _known.append(mine)
    try:
        yield
    finally:
        _known[:] = [each for each in _known if each is not mine]


def find_compiler(
    cxx: str | None, search_path: str | None, remember: Path | None = None
) -> Compiler:
    """Return the compiler named by `cxx`, or the first found; inside `same_compilers` a known one.

    The arguments and errors are those of `look_for_compiler`.
    """
    blocks = _known[-1:]
    if not blocks:
        return look_for_compiler(cxx, search_path, remember)
    known, key = blocks[0], (cxx, search_path, remember)
    found = known.get(key)
    if found is None:
        found = known[key] = look_for_compiler(cxx, search_path, remember)
    return found


def look_for_compiler(
    cxx: str | None, search_path: str | None, remember: Path | None = None
) -> Compiler:
    """Return the compiler named by `cxx` (a name or path, options may follow), or the first found.

    `remember` is a directory where identities are kept, so that a warm start runs
    no program and reads no compiler.

    Raises:
        CompilerNotFoundError: if there is none.

    """
    words = cxx.split() if cxx else []
    for name in words[:1] or CANDIDATES:
        found = _which(name, search_path)
        if found is not None:
            return _identify(found, tuple(words[1:]), search_path, remember)
    if words:
        tried = f"'{words[0]}', the one that was asked for, is not on the path"
    else:
        names = ", ".join(f"'{name}'" for name in CANDIDATES)
        tried = f"none of {names} is on the path"
    raise CompilerNotFoundError(
        f"No C++ compiler was found: {tried}.",
        hints=(
            "Install one: 'apt install g++', 'dnf install gcc-c++' or 'conda install -c "
            "conda-forge gxx'; or name yours in the environment variable FIELDFORGE_CXX.",
        ),
    )


def _which(name: str, search_path: str | None) -> str | None:
    """Return the program that a shell would run; search no folders for a name with a slash."""
    folders = os.get_exec_path() if search_path is None else search_path.split(os.pathsep)
    if os.path.dirname(name):
        folders = [""]
    elif search_path == "":
        folders = []
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return None


def _identify(
    found: str, options: tuple[str, ...], search_path: str | None, remember: Path | None
) -> Compiler:
    memory = _read(remember)
    entry = memory.get(found)
    if entry is None or not _holds(entry, found, search_path):
        entry = _facts(found, search_path)
        _write(remember, {**memory, found: entry})
    digests = tuple((name, digest) for name, _, digest in entry["files"])
    return Compiler((found, *options), entry["path"], entry["version"], digests)


def _facts(found: str, search_path: str | None) -> dict[str, Any]:
    """Return what this process knows of a compiler that has not changed, else examine it."""
    entry = _seen.get(found)
    if entry is None or not _holds(entry, found, search_path):
        entry = _seen[found] = _examine(found, search_path)
    return entry


def _examine(found: str, search_path: str | None) -> dict[str, Any]:
    """Ask the compiler for its version and its programs, and digest their files."""
    version = _version(_ask(found, "--version"))
    programs = (*PROGRAMS, *OF_HIPCC) if os.path.basename(found) == "hipcc" else PROGRAMS
    questions = [*(f"prog-name={name}" for name in programs), *(f"file-name={p}" for p in PARTS)]
    named = [_ask(found, f"-print-{question}").strip() for question in questions]
    return {
        "version": version,
        "path": _real(found),
        "named": named,
        "files": [_row(*file) for file in _files(found, named, search_path)],
    }


def _version(said: str) -> str:
    """Return the first line; of a compiler that names no number there, such as nvcc, the last."""
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [""]
    return lines[0] if any(c.isdigit() for c in lines[0]) else lines[-1]


def _row(file: str, stamp: list[int]) -> list[Any]:
    """Describe a file; one that cannot be read is known by size and time alone."""
    try:
        digest = _digest(file)
    except OSError:
        digest = sha256(repr(stamp).encode())
    return [os.path.basename(_real(file)), [file, *stamp], digest]


def _files(
    found: str, named: Sequence[str], search_path: str | None
) -> list[tuple[str, list[int]]]:
    """Return the files behind the names that a driver gave, each once, with their stamps.

    The search path resolves bare names. Links stay unresolved: the stamp is that of their target,
    and a warm start checks nothing else.
    """
    paths = [name if os.path.isabs(name) else _which(name, search_path) for name in named]
    files: dict[tuple[int, int], tuple[str, list[int]]] = {}
    for path in (found, *paths):
        status = _status(path)
        if path and status and stat.S_ISREG(status.st_mode):
            stamp = [status.st_size, status.st_mtime_ns, status.st_ino]
            files.setdefault((status.st_dev, status.st_ino), (path, stamp))
    return list(files.values())


def _status(path: str | None) -> os.stat_result | None:
    try:
        return os.stat(path) if path else None
    except OSError:
        return None


def _real(path: str) -> str:
    """Follow links; keep the path itself if a link cannot be read."""
    try:
        return os.path.realpath(path)
    except OSError:
        return path


def _ask(command: str, question: str) -> str:
    import subprocess

    try:
        done = subprocess.run(
            [command, question], capture_output=True, text=True, errors="replace", check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "HIP_PLATFORM": "amd"},  # hipcc speaks for nvcc where it finds one
        )  # fmt: skip
    except OSError as error:
        raise CompilerNotFoundError(
            f"The compiler '{command}' cannot be run: {error.strerror or error}."
        ) from error
    if done.returncode != 0 and question == "--version":
        raise CompilerNotFoundError(
            f"The compiler '{command}' does not run: '{command} --version' gave exit code "
            f"{done.returncode}.",
            hints=(done.stderr.strip().partition("\n")[0],) if done.stderr.strip() else (),
        )
    return done.stdout


def _digest(file: str) -> str:
    import hashlib  # a warm start digests no compiler

    with open(file, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _holds(entry: Any, found: str, search_path: str | None) -> bool:
    """Tell whether a remembered identity is complete and its files are unchanged."""
    try:
        rows: Sequence[Any] = entry["files"]
        stamps = [[file, *stamp] for file, stamp in _files(found, entry["named"], search_path)]
        return (
            isinstance(entry["version"], str)
            and isinstance(entry["path"], str)
            and [stamp for _, stamp, _ in rows] == stamps
            and all(isinstance(part, str) for name, _, digest in rows for part in (name, digest))
        )
    except (KeyError, IndexError, TypeError, ValueError, OSError):
        return False


def _read(directory: Path | None) -> dict[str, Any]:
    """Return the remembered identities; nothing if the file is damaged."""
    if directory is None:
        return {}
    try:
        memory = json.loads(unseal(_KIND, read_note(str(directory / MEMORY), _LIMIT)))
    except (OSError, ValueError):
        return {}
    return memory if isinstance(memory, dict) else {}


def _write(directory: Path | None, memory: dict[str, Any]) -> None:
    """Remember identities for the next process; ignore a folder that cannot be written."""
    if directory is not None:
        text = json.dumps(memory, indent=1, sort_keys=True)
        keep_note(str(directory), MEMORY, seal(_KIND, text))
