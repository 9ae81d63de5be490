"""Compile CUDA or HIP with host code to a shared library, by the vendor's compiler.

It needs no GPU. Backends whose kernels come without host code use `kernels.py`, which needs no such
compiler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from ...runtime.calls.plan import ENTRY
from ...runtime.process import CompilerNotFoundError, classes
from ..gpu_target import GPU_TARGET, GpuTarget
from ..option_kinds import PAIRS, PATH, TEXT, TEXTS, option, optional
from ..vendors.vendor import Library
from .compiler import Compiler, find_compiler
from .stage import SEARCH_PATH, LibraryStage, labels_of
from .toolchain_protocol import Outcome, Toolchain


@classes.frozen
class VendorToolchain:
    """A vendor's compiler in a given environment; nvcc has a C++ compiler below it."""

    compiler: Compiler
    linking: tuple[str, ...]
    host: Compiler | None
    variables: tuple[tuple[str, str], ...] = classes.field(default=(), repr=False)
    logs: Path | None = None

    @property
    def identity(self) -> str:
        """One line for keys."""
        below = f"; with {self.host.identity}" if self.host else ""
        return f"{self.compiler.identity}{below}"

    def compile(self, source: str, flags: Sequence[str]) -> Outcome:
        """Compile one source text to a shared library."""
        from .command import CompilerKind, compile_source

        if self.host is not None:
            words = (*self.compiler.command, "-ccbin", self.host.command[0], *self.linking)
            # nvcc makes names of functions from that of the source, which has no folder
            kind = CompilerKind("program.cu", ("-Xcompiler", "-ffile-prefix-map={}=."))
        else:
            words, kind = (*self.compiler.command, *self.linking), CompilerKind()
        environment = {**dict(self.variables), "HIP_PLATFORM": "amd"}
        symbol = ENTRY if ENTRY in source else None
        return compile_source(source, (*words, *flags), environment, self.logs, symbol, kind)


@classes.frozen
class CompileLibrary(LibraryStage):
    """Compile the generated source by nvcc or hipcc; their identities are part of the key.

    Attributes:
        target: the GPU that decides whose compiler it is; the same as that of codegen.
        flags: added after those of `codegen`.
        cxx: the C++ compiler below nvcc.
        variables: the environment of the compilers, `Settings.compiler_variables`.
        directory: where logs of failures and identities of compilers are kept.

    """

    name: ClassVar[str] = "compile_library"

    target: GpuTarget = option(GPU_TARGET, factory=lambda: GpuTarget("sm_90"))
    flags: tuple[str, ...] = option(TEXTS, ())
    cxx: str | None = option(optional(TEXT), None, eq=False)
    variables: tuple[tuple[str, str], ...] = option(PAIRS, (), eq=False, shown=False)
    directory: Path | None = option(optional(PATH), None, eq=False)

    def environment(self) -> Mapping[str, str]:
        """Return the identities of the compilers and the variables that they read."""
        return {"compiler": self.toolchain().identity} | labels_of(self.variables)

    def toolchain(self) -> Toolchain:
        """Return the compiler with its environment.

        Raises:
            CompilerNotFoundError: if it is not installed.

        """
        logs = self.directory / "log" if self.directory else None
        path = dict(self.variables).get(SEARCH_PATH)
        library = self.target.vendor.library
        has_below = library.has_host_compiler
        below = find_compiler(self.cxx, path, self.directory) if has_below else None
        compiler = self._vendors(library, path)
        return VendorToolchain(compiler, library.linking, below, self.variables, logs)

    def _vendors(self, library: Library, path: str | None) -> Compiler:
        for each in library.compiler:
            try:
                return find_compiler(each, path, self.directory)
            except CompilerNotFoundError:
                continue
        raise CompilerNotFoundError(
            f"Backend 'dace_gpu' compiles with '{library.compiler[0]}', which is not installed.",
            hints=(library.install,),
        )
