"""The plain kernels `kernels/untuned_*.cu`: what their first lines say, compiled, bound to fields.

A file has the kernels of a program in the order in which they run. Names of arguments are those of
the program; others are arrays between kernels. One text serves CPUs and GPUs, see `untuned.h`.
"""

from __future__ import annotations

import ctypes
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import attrs
import numpy as np
from native import KERNELS, compiled

import fieldforge as ff

FIRST = re.compile(r"^(MESH|FLAT|GRID|COLUMNS)\((\w+), ((?:[^()]|\([^()]*\))*)\)", re.MULTILINE)
ARGUMENT = re.compile(r"\b(IN|OUT|TABLE|NUMBER) (\w+)")
THREADS = (128, 256)  # of a block on a GPU
REALS = {"float64": "double", "float32": "float"}

Call = Callable[[], None]


class Memory(Protocol):
    """Where fields lie."""

    allocator: Any

    def random(self) -> Callable[[Sequence[int], str], Any]:
        """Return what draws numbers between 0 and 1, the same ones in each process."""

    def view(self, made: Any) -> Any:
        """Return a field's memory as a NumPy or CuPy array."""

    def copied(self, data: Any) -> Any:
        """Return a contiguous array of this memory."""

    def address(self, view: Any) -> int:
        """Return the address of an array's first element."""


class Described(Protocol):
    """What is read of a program with its arguments."""

    name: str
    dtype: str
    space: Any
    arguments: Mapping[str, Any]
    fields: Mapping[str, Any]


@attrs.frozen
class Kernel:
    """A kernel as its first line describes it; `more` is its location and level, or its margins."""

    form: str
    name: str
    more: tuple[str, ...]
    arguments: tuple[tuple[str, str], ...]  # kind and name


def kernels(name: str) -> list[Kernel]:
    """Return the kernels of a program in their order.

    >>> [kernel.name for kernel in kernels("momentum")]
    ['cells', 'vertices', 'edges']
    """
    return list(_read((KERNELS / f"untuned_{name}.cu").read_text()))


def _read(text: str) -> Iterator[Kernel]:
    for form, name, rest in FIRST.findall(text):
        head = ARGUMENT.split(rest, maxsplit=1)[0]
        yield Kernel(form, name, tuple(re.findall(r"-?\w+", head)), tuple(ARGUMENT.findall(rest)))


# --- arguments ------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class Bound:
    """Addresses by name, and the arrays that keep them alive; strides in elements."""

    addresses: Mapping[str, int]
    row: int
    plane: int
    kept: Sequence[Any]


def bound(of: Described, memory: Memory) -> Bound:
    """Give each name an address; tables and weights of neighbours are copied."""
    fields = {name: field for name, field in of.fields.items() if not _is_sparse(field)}
    own, made = (
        dict(_copies(of, memory)),
        {name: memory.view(each) for name, each in fields.items()},
    )
    whole = max(made, key=lambda name: made[name].ndim)
    row, plane = (*_strides(fields[whole], made[whole]), 0, 0)[:2]
    for name, view in made.items():
        if _strides(fields[name], view) != (row, plane)[: view.ndim - 1]:
            raise ValueError(f"'{name}' has other strides than '{whole}'.")
    addresses = {name: memory.address(copy) for name, copy in own.items()}
    addresses |= {name: _first(fields[name], view, memory) for name, view in made.items()}
    for name, location in between(kernels(of.name), {*addresses, *of.arguments}).items():
        if location in LOCATIONS:
            count = of.space.points[ff.Dimension(location)] * max(row, 1)
            own[name] = memory.copied(np.zeros(count, of.dtype))
            addresses[name] = memory.address(own[name])
        else:
            domain, kind = fields[whole].domain, np.dtype(of.dtype).type
            own[name] = ff.zeros(domain, kind, allocator=memory.allocator)
            addresses[name] = _first(own[name], memory.view(own[name]), memory)
    return Bound(addresses, row, plane, (*own.values(), *of.fields.values()))


LOCATIONS = ("Cell", "Edge", "Vertex")


def between(of: Sequence[Kernel], known: set[str]) -> dict[str, str]:
    """Return the arrays that only kernels know, by where they are written."""
    written = {name: each.more[:1] for each in of for kind, name in each.arguments if kind == "OUT"}
    return {name: (at or ("",))[0] for name, at in written.items() if name not in known}


def _is_sparse(field: Any) -> bool:
    return bool(field.domain.dims[-1].kind.value == "local")


def _strides(field: Any, view: Any) -> tuple[int, ...]:
    """Return the strides of all dimensions but the contiguous one, which is K on meshes."""
    steps = tuple(stride // view.itemsize for stride in view.strides)
    is_mesh = len(steps) == 2 and field.domain.dims[-1].kind.value == "vertical"
    return steps[:1] if is_mesh else steps[1:]


def _first(field: Any, view: Any, memory: Memory) -> int:
    starts = [int(own.start) for own in field.domain.ranges]
    return memory.address(view) - sum(a * s for a, s in zip(starts, view.strides, strict=True))


def _copies(of: Described, memory: Memory) -> Iterator[tuple[str, Any]]:
    """Yield tables without missing neighbours, and weights that are zero for those."""
    tables = of.space.tables
    for name, table in tables.items():
        yield name, memory.copied(np.where(table < 0, table[:, :1], table).astype(np.int32))
    for name, field in of.fields.items():
        if _is_sparse(field):
            is_missing = tables[field.domain.dims[-1].value] < 0
            yield name, memory.copied(np.where(is_missing, 0, field.asnumpy()))


def _integers(kernel: Kernel, of: Described, held: Bound) -> list[int]:
    """Return bounds and strides."""
    levels = of.space.points[ff.Dimension("K", ff.DimensionKind.VERTICAL)]
    if kernel.form in ("MESH", "FLAT"):
        location, *first = kernel.more
        points = of.space.points[ff.Dimension(location)]
        return [points, *map(int, first), levels, held.row] if first else [points]
    low_i, high_i, low_j, high_j = map(int, kernel.more) if kernel.more else (0,) * 4
    across = of.space.across
    bounds = [low_i, across + high_i, low_j, across + high_j, 0, levels]
    return [*bounds, held.row, held.plane]


def _words(kernel: Kernel, of: Described, held: Bound) -> tuple[list[int], list[float], list[int]]:
    """Return addresses, numbers and integers, which a kernel takes in another order."""
    addresses = [held.addresses[name] for kind, name in kernel.arguments if kind != "NUMBER"]
    numbers = [float(of.arguments[name]) for kind, name in kernel.arguments if kind == "NUMBER"]
    return addresses, numbers, _integers(kernel, of, held)


def _in_order(kernel: Kernel, addresses: Sequence[Any], numbers: Sequence[Any]) -> list[Any]:
    pointers, reals = iter(addresses), iter(numbers)
    return [next(reals if kind == "NUMBER" else pointers) for kind, _ in kernel.arguments]


# --- calls ----------------------------------------------------------------------------------------


def on_cpu(of: Described, memory: Memory) -> Mapping[str, Call]:
    """Return a call that runs all kernels in OpenMP's threads."""
    flags = ("-fno-math-errno", f"-DREAL={REALS[of.dtype]}", f'-DKERNELS="untuned_{of.name}.cu"')
    library = compiled("untuned", *flags)
    real = ctypes.c_double if of.dtype == "float64" else ctypes.c_float
    held, steps = bound(of, memory), []
    for kernel in kernels(of.name):
        addresses, numbers, integers = _words(kernel, of, held)
        given = _in_order(kernel, map(ctypes.c_void_p, addresses), map(real, numbers))
        steps.append((library[kernel.name], (*given, *map(ctypes.c_int, integers))))

    def run(_: Bound = held) -> None:
        for function, words in steps:
            function(*words)

    return {"loops": run}


def on_gpu(of: Described, memory: Memory) -> Mapping[str, Call]:
    """Return a call for each number of threads a block has."""
    module = loaded_on_gpu(("untuned.h", f"untuned_{of.name}.cu"), of.dtype)
    held = bound(of, memory)

    def call(threads: int) -> Call:
        launches = [_launch(module, kernel, of, held, threads) for kernel in kernels(of.name)]

        def run(_: Bound = held) -> None:
            for launch in launches:
                launch()

        return run

    return {f"{threads} threads": call(threads) for threads in THREADS}


def loaded_on_gpu(names: Sequence[str], dtype: str) -> Any:
    """Compile files of kernels as one text for the GPU that this process sees, and load them."""
    from fieldforge.runtime import gpu

    real, text = REALS[dtype], "".join((KERNELS / name).read_text() for name in names)
    if gpu.platform() == "null":  # whose compiler looks for kernels before the preprocessor has run
        command = ["c++", "-E", "-P", "-x", "c++", "-D__CUDACC__", f"-DREAL={real}", "-"]
        text = subprocess.run(
            command, input=text, text=True, capture_output=True, check=True
        ).stdout
    return gpu.Module.load(gpu.compile_kernels(text, options=("--std=c++17", f"-DREAL={real}")))


def _launch(module: Any, kernel: Kernel, of: Described, held: Bound, threads: int) -> Call:
    addresses, numbers, integers = _words(kernel, of, held)
    letter = "d" if of.dtype == "float64" else "f"
    letters = _in_order(kernel, "P" * len(addresses), letter * len(numbers))
    grid, block = _shape(kernel.form, integers, threads)
    types = "".join(letters) + "i" * len(integers)
    prepared = module.kernel(kernel.name).prepare(types, grid=grid, block=block)
    call: Call = prepared.bind(*_in_order(kernel, addresses, numbers), *integers)
    return call


def _shape(
    form: str, integers: Sequence[int], threads: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return grid and block: contiguous points along x."""
    if form == "FLAT":
        return (-(-integers[0] // threads),), (threads,)
    if form == "MESH":
        points, first, last, _ = integers
        block = (last - first, max(1, threads // (last - first)))
        return (-(-points // block[1]),), block
    i0, i1, j0, j1, k0, k1, *_ = integers
    block = (32, threads // 32) if form == "GRID" else (threads, 1)
    grid = (-(-(i1 - i0) // block[0]), -(-(j1 - j0) // block[1]))
    return (*grid, k1 - k0) if form == "GRID" else grid, block
