"""`export`: write programs as a library with a C header and a Fortran module."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ...runtime.calls.plan import ENTRY
from ...runtime.process import CompilationError, Folder, OptionError, classes
from ...stages.compile.build_folder import build_folder
from ...stages.compile.running import run_compilers
from ...stages.units import MACRO, NAMESPACE, count_units
from ..backends.pipelines import cpu
from .fortran import module
from .header import header
from .program import USUAL, Exported, checked_library, exported
from .support.source import FUNCTIONS, support
from .wrapper import entry_name, wrapper

_LINKED: Final = ("-Wl,", "-l")
# The pool sleeps by a futex where there is one, and else by what C++ 20 has.
_STANDARD: Final = "-std=c++17" if sys.platform == "linux" else "-std=c++20"
# Threads of the pool sleep in the library after its last call.
_STAYS: Final = ("-Wl,-z,nodelete",) if sys.platform == "linux" else ()
_OPTIONS: Final = (_STANDARD, "-O2", "-fPIC", "-fvisibility=hidden", "-pthread")


@classes.frozen
class Library:
    """The files of an exported library.

    Attributes:
        name: its name.
        library: the shared library.
        header: the C header.
        module: the source of the Fortran module.
        programs: the names of the functions, without the name of the library.

    """

    name: str
    library: Path
    header: Path
    module: Path
    programs: tuple[str, ...]


def export(
    *programs: Any,
    to: str | Path,
    name: str = "exported",
    static: Mapping[str, Sequence[Any]] | None = None,
    offset_provider: Mapping[str, Any] | None = None,
    layouts: str | Sequence[str] = USUAL,
) -> Library:
    """Write programs as a library that C, C++ and Fortran call without Python.

    Args:
        programs: programs with a backend for CPUs ('cpu' if they have none), or set-ups, whose
            sizes, constants and variants are compiled in.
        to: the folder for `lib<name>.so`, `<name>.h` and `<name>.f90`; made if there is none.
        name: the name of the library, an identifier; C functions are `<name>_<program>`.
        static: for each static parameter the list of its values; the function chooses by value. A
            parameter with one value is compiled in and not given.
        offset_provider: neighbour tables; only their widths, and whether entries may be missing,
            are compiled in.
        layouts: which dimension of all fields has unit stride: the 'first' one (arrays of Fortran),
            the 'last' one (arrays of C), the 'usual' one of our constructors, or 'any'; a list
            compiles a variant for each, and the first that fits a call runs.

    Raises:
        OptionError: a program runs on no CPU, or two programs have one name.
        CompilationError: the compiler refuses.

    >>> import tempfile
    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def halved(u: Line) -> Line:
    ...     return u / 2.0
    >>> @ff.program
    ... def halve(u: Line, out: Line):
    ...     halved(u, out=out)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = ff.export(halve, to=folder, name="tiny")
    ...     made.library.name, made.header.name, made.module.name, made.programs
    ('libtiny.so', 'tiny.h', 'tiny.f90', ('halve',))

    """
    library = checked_library(name)
    wanted = (layouts,) if isinstance(layouts, str) else tuple(layouts)
    made = [exported(each, static or {}, offset_provider, wanted) for each in programs]
    _check_static(made, static or {})
    _check_names(made)
    folder = Path(to)
    folder.mkdir(parents=True, exist_ok=True)
    files = Library(
        library,
        folder / f"lib{library}.so",
        folder / f"{library}.h",
        folder / f"{library}.f90",
        tuple(each.name for each in made),
    )
    text = header(library, made)
    _write(files.library, _compiled(library, made, text))
    _write(files.header, text.encode())
    _write(files.module, module(library, made).encode())
    return files


def _check_static(programs: Sequence[Exported], static: Mapping[str, Sequence[Any]]) -> None:
    known = {leaf.partition(".")[0] for each in programs for leaf in each.variants[0].static}
    for name in static:
        if name not in known:
            raise OptionError(
                f"'static' names '{name}', which is no scalar parameter of these programs.",
                name=name,
                known={n for each in programs for n in each.variants[0].plan.parameters},
            )


def _check_names(programs: Sequence[Exported]) -> None:
    seen: set[str] = set()
    for each in programs:
        if each.name.lower() in seen:
            raise OptionError(
                f"Two programs are called '{each.name}'.",
                hints=["Fortran does not tell 'a' from 'A'; export them to two libraries."],
            )
        seen.add(each.name.lower())
    if not programs:
        raise OptionError("There is no program to export.")


def _compiled(library: str, programs: Sequence[Exported], text: str) -> bytes:
    """Compile every variant and the functions around them; return the library."""
    stage: Any = dict(cpu().nodes)["compile"]
    compiler = stage.compiler()
    environment = dict(stage.variables)
    with build_folder() as folder:
        base = Path(folder.path)
        commands, linked = [], dict.fromkeys(["-pthread"])
        for program in programs:
            for name, built in program.parts():
                entry = entry_name(library, program.name, name)
                (base / f"{entry}.cpp").write_text(built.generated.source)
                flags = [f for f in built.generated.flags if f != "-shared"]
                linked |= dict.fromkeys(f for f in flags if f.startswith(_LINKED))
                kept = [f for f in flags if not f.startswith(_LINKED)]
                names = [f"-D{ENTRY}={entry}", f"-D{NAMESPACE}={entry}_parts"]
                commands += [
                    [*kept, "-fvisibility=hidden", *names, f"-D{MACRO}={unit}", "-c",
                     f"{entry}.cpp", "-o", f"{entry}.{unit}.o"]
                    for unit in range(count_units(built.generated.source))
                ]  # fmt: skip
        (base / f"{library}.h").write_text(text)
        functions = [wrapper(library, program) for program in programs]
        common = FUNCTIONS.format(library=library)
        (base / "functions.cpp").write_text(
            "\n".join([f'#include "{library}.h"', support(), common, *functions])
        )
        commands.append([*_OPTIONS, "-c", "functions.cpp", "-o", "functions.o"])
        objects = [command[-1] for command in commands]
        _run([[*compiler.command, *words] for words in commands], folder, environment)
        link = ["-shared", "-o", "library.so", *objects, *linked, *_STAYS]
        link.append(f"-Wl,-soname,lib{library}.so")
        _run([[*compiler.command, *link]], folder, environment)
        return (base / "library.so").read_bytes()


def _run(commands: Sequence[Sequence[str]], folder: Folder, environment: Mapping[str, str]) -> None:
    """Run commands side by side; raise the error of the first that fails."""
    done = run_compilers(commands, folder, environment)[-1]
    if done.returncode != 0:
        raise CompilationError(
            f"The compiler '{os.path.basename(done.args[0])}' failed with exit code "
            f"{done.returncode}.",
            command=done.args, exit_code=done.returncode,
            log=done.stdout.decode(errors="replace"),
        )  # fmt: skip


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    draft = path.with_name(f".{path.name}-{os.getpid()}")
    draft.write_bytes(content)
    os.replace(draft, path)
