"""Compile C++ to a shared library by calling the compiler directly."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from ...runtime.process import CompilerNotFoundError, classes
from .. import (
    PAIRS,
    PATH,
    PATHS,
    TEXT,
    TEXTS,
    Artifact,
    Compiled,
    Generated,
    Stage,
    option,
    optional,
)
from .compiler import Compiler, CppToolchain, find_compiler

if TYPE_CHECKING:  # imported where a compiler runs, see docs/decisions/0005
    from .toolchain_protocol import Outcome, Toolchain

SEARCH_PATH = "PATH"


class LibraryStage(Stage):
    """Compiles the generated source to a library by the compiler of `toolchain`."""

    needs: ClassVar[tuple[str, ...]] = ("generated",)
    provides: ClassVar[Mapping[str, type[Artifact]]] = {"compiled": Compiled}

    flags: tuple[str, ...]

    def run(self, *, generated: Generated) -> Mapping[str, Artifact]:  # type: ignore[override]
        """Run the compiler once."""
        toolchain = self.toolchain()
        flags = (*generated.flags, *self.flags)
        done = toolchain.compile(generated.source, flags)
        manifest = manifest_of(toolchain.identity, flags, generated.language, done)
        return {"compiled": Compiled(done.library, manifest, done.log)}

    def holds(self, outputs: Mapping[str, Mapping[str, bytes]]) -> bool:
        """Tell whether the headers behind the library, those of CUDA among them, are unchanged."""
        return same_headers(outputs["compiled"]["manifest.json"])

    def toolchain(self) -> Toolchain:
        """Return the compiler with its environment."""
        raise NotImplementedError


@classes.frozen
class Compile(LibraryStage):
    """Compile the generated source; the compiler's identity is part of the key.

    Attributes:
        flags: added after those of `codegen`.
        cxx: the compiler's name or path; None for the first of c++, g++, clang++.
        variables: the environment of the compiler, `Settings.compiler_variables`.
        directory: where logs of failures and identities of compilers are kept.
        pins: stores and packs whose pins give the key parts where there is no compiler.

    """

    name: ClassVar[str] = "compile"

    flags: tuple[str, ...] = option(TEXTS, ())
    # Locations do not count for the key; `environment` has the identity of the compiler there.
    cxx: str | None = option(optional(TEXT), None, eq=False)
    variables: tuple[tuple[str, str], ...] = option(PAIRS, (), eq=False, shown=False)
    directory: Path | None = option(optional(PATH), None, eq=False)
    pins: tuple[Path, ...] = option(PATHS, (), eq=False, shown=False)

    def environment(self) -> Mapping[str, str]:
        """Return the compiler's identity and the variables that it reads.

        Without a compiler, return the identity that a pack has pinned, which finds its results.
        """
        try:
            labels = {"compiler": self.toolchain().identity}
        except CompilerNotFoundError:
            from .pins import find_pin

            pin = find_pin(self.pins)
            if pin is None:
                raise
            return dict(pin.labels)
        return labels | labels_of(self.variables)

    def toolchain(self) -> Toolchain:
        """Return the compiler with its environment."""
        logs = self.directory / "log" if self.directory else None
        return CppToolchain(self.compiler(), self.variables, logs)

    def compiler(self) -> Compiler:
        """Return the compiler of the options."""
        return find_compiler(self.cxx, dict(self.variables).get(SEARCH_PATH), self.directory)


def manifest_of(identity: str, flags: Sequence[str], language: str, done: Outcome) -> str:
    """Describe a compilation: the compiler, its flags, and the headers that it read, as JSON."""
    manifest = {
        "compiler": identity,
        "flags": list(flags),
        "language": language,
        "bytes": len(done.library),
    }
    if done.headers:
        manifest["headers"] = dict(done.headers)
    return json.dumps(manifest, indent=1, sort_keys=True)


def same_headers(manifest: bytes) -> bool:
    """Tell whether the headers in a manifest are unchanged."""
    if b'"headers"' not in manifest:
        return True
    from .headers import still_hold

    return still_hold(manifest)


def labels_of(variables: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the parts of a key for the variables that a compiler reads; locations do not count.

    >>> labels_of((("PATH", "/bin"), ("CPATH", "/opt/include")))
    {'variable CPATH': '/opt/include'}
    """
    return {f"variable {name}": value for name, value in variables if name != SEARCH_PATH}
