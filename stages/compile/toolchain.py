"""What a compiler is to the stage `compile`: an identity for keys, and source to bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import attrs


@attrs.frozen
class Outcome:
    """What a successful run gave: the library, what the compiler said, and the headers it read.

    `library` is what the loader takes: a shared library for a CPU, a cubin or a code object for a
    GPU. `headers` are the files that it read beside the source, with their digests.
    """

    library: bytes = attrs.field(repr=False)
    log: str
    headers: Mapping[str, str] = attrs.field(factory=dict)


class Toolchain(Protocol):
    """A compiler for one language: C++ to a shared library, CUDA or HIP to device code."""

    @property
    def identity(self) -> str:
        """One line that tells the compiler from another one; where it is installed does not count.

        It is part of the key of every library.
        """

    def compile(self, source: str, flags: Sequence[str]) -> Outcome:
        """Compile one source text.

        Raises:
            CompilationError: with what the compiler said.

        """
