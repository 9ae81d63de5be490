"""What this house knows of a maker of GPUs, as one value; its module is the only one to say it.

A vendor's kernels are text of one form with names of its own dialect: `dialect` defines them. The
host is a vendor, too: it runs the threads of a grid in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeAlias

from ...runtime.process import DeviceType, classes

KIB = 1024
MIB = 1024 * KIB
Usage: TypeAlias = dict[str, Any]


@classes.frozen
class Gpu:
    """One architecture, as the best known product with it: memory in bytes, rates per second."""

    names: tuple[str, ...]  # of its family, and of products with it
    multiprocessors: int
    wavefront: int
    registers: int  # of 32 bits, of one multiprocessor
    shared_memory: int
    block_memory: int
    max_threads: int
    l2: int
    bandwidth: float
    float32_rate: float
    float64_rate: float
    most_blocks: int = 32  # on one multiprocessor


@classes.frozen
class Library:
    """How host code and kernels in one source become a shared library.

    Attributes:
        headers: what the source includes.
        names: definitions of the names that the text of such a source uses.
        flags: of the compiler.
        arch_flag: the flag for one architecture.
        compiler: the name of the compiler, and where its packages put it.
        install: a hint where it is missing.
        linking: flags that keep the library loaded, and leave names of temporary files out of it.
        has_host_compiler: whether the compiler has a C++ compiler below it.

    """

    headers: str
    names: str
    flags: tuple[str, ...] = ()
    arch_flag: Callable[[str], str] = str
    compiler: tuple[str, ...] = ()
    install: str = ""
    linking: tuple[str, ...] = ()
    has_host_compiler: bool = False


@classes.frozen
class Vendor:
    """A maker of GPUs.

    Attributes:
        name: in options and messages.
        platform: that of the GPU runtime which launches the kernels.
        language: of the generated source.
        device: the kind of device that holds the fields; None where the target tells.
        prefix: what the names of its architectures begin with.
        gpus: the architectures that are known, by name.
        dialect: returns what stands before kernels that ask for these, see `dialect.py`.
        flags: for the compiler that compiles kernels in process. None changes a value: products
            and sums stay apart, quotients and roots are rounded right.
        library: for backends whose kernels come with host code.
        copies_apart: whether copies to shared memory go on beside other work, by architecture.
        taken: yields each kernel's name, architecture, and its registers, spills and memory, from
            the log of the compiler and the modules by architecture.
        reserved: bytes of shared memory that each block costs besides its own.
        entry: returns the name by which a module has a kernel.
        after: returns what follows a kernel with that name and those types of arguments.

    """

    name: str
    platform: str
    language: str
    device: DeviceType | None
    prefix: str
    gpus: Mapping[str, Gpu] = classes.field(repr=False)
    dialect: Callable[[Collection[str]], str] = classes.field(repr=False)
    flags: tuple[str, ...]
    library: Library = classes.field(repr=False)
    copies_apart: Callable[[str], bool] = classes.field(repr=False)
    taken: Callable[[str, Mapping[str, bytes]], Iterator[tuple[str, str, Usage]]] = classes.field(
        repr=False
    )
    reserved: int = 0
    entry: Callable[[str], str] = str
    after: Callable[[str, tuple[str, ...]], str] | None = None

    @property
    def in_turn(self) -> bool:
        """Whether threads run in turn on the host, by a function of each kernel."""
        return self.after is not None


def never(_: str) -> bool:
    """Say no for every architecture."""
    return False
