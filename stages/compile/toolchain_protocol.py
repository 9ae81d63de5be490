"""The protocol of compilers for the stage `compile`: an identity for keys, and a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ...runtime.process import classes


@classes.frozen
class Outcome:
    """The result of a successful run: the library, the compiler's log, and the headers.

    `library` is the file for the loader: a shared library for a CPU, a cubin or a code object for a
    GPU. `headers` are the files that it read beside the source, with their digests.
    """

    library: bytes = classes.field(repr=False)
    log: str
    headers: Mapping[str, str] = classes.field(factory=dict)


class Toolchain(Protocol):
    """A compiler for one language: C++ to a shared library, CUDA or HIP to device code."""

    @property
    def identity(self) -> str:
        """One line that identifies the compiler; its location does not count.

        It is part of the key of every library.
        """

    def compile(self, source: str, flags: Sequence[str]) -> Outcome:
        """Compile one source text.

        Raises:
            CompilationError: with the compiler's log.

        """
