"""Write the parts of a program as kernels for GPUs, each with the arguments that it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import attrs

from ....ir.bounds import Bound
from ....ir.loops.flat import flat
from ....ir.loops.gpu import Columns, Long, Patches, marks_of
from ....ir.loops.kernel import Kernel
from ....ir.loops.nest import Nest, Store
from ....ir.loops.traverse import nests_of
from ....ir.strides import Stride
from ....vendors.vendor import Vendor
from ...cpu.text.kernel import WITHIN
from ...rows.checks import NOTE, tested_stores
from ...rows.checks import functions as test_functions
from ...rows.names import Names, WriterOptions, stored_type
from ...rows.operations import TYPES
from ...soft_reads import Clamping
from ..kernels import Part, clamping_version, parts
from .columns import write_columns
from .nest import write_nest
from .patches import write_patches
from .spellings import on_device

# The names of what kernels take: pointers, slots of the arena, integers, scalars.
_NAMES: Final = re.compile(r"\b(p|slot|n|x)(\d+)\b")
_KINDS: Final = {"p": "pointer", "slot": "slot", "n": "int", "x": "scalar"}


@attrs.frozen
class Written:
    """The kernel of a part: its name in the module, its arguments as (kind, place) in their order.

    `version` is -1, or whether its loads clamp indices. `types` are those of the arguments.
    """

    name: str
    arguments: tuple[tuple[str, int], ...]
    part: Part
    version: int = -1
    types: tuple[str, ...] = ()


def write_gpu(
    kernel: Kernel,
    ints: Sequence[Bound | Stride],
    options: WriterOptions,
    vendor: Vendor,
    clamping: Clamping | None = None,
) -> tuple[str, tuple[Written, ...]]:
    """Return the source of a program, and its kernels.

    A call passes the integers `ints`. With `clamping`, a version of each that clamps indices
    follows all of them.
    """
    names = Names(kernel, ints, options)
    if options.checked:
        names.tests = tested_stores(flat(kernel))
    versions = [(names, "k", kernel)]
    if clamping is not None and not options.checked:
        clamped = Names(kernel, (*ints, *clamping.integers), options)
        clamped.clamped, clamped.functions = clamping.ends, names.functions
        versions.append((clamped, "c", clamping_version(kernel)))
    texts: list[str] = []
    found: list[Written] = []
    for version, (each, letter, tree) in enumerate(versions):
        for text, written in write_version(each, parts(tree), letter, vendor):
            texts.append(text)
            number = version if len(versions) > 1 else -1
            found.append(attrs.evolve(written, version=number))
    functions = [text for _, text in sorted(names.functions.items())]
    tests = [on_device(line) for line in test_functions(names) if line != NOTE]
    tests += [on_device(WITHIN)] if len(versions) > 1 else []
    source = "\n".join([vendor.dialect("".join(texts)), *tests, *functions, "", *texts, ""])
    return source, tuple(found)


def write_version(
    names: Names, parts: Iterable[Part], letter: str, vendor: Vendor
) -> Iterator[tuple[str, Written]]:
    """Write each part of a kernel, and what it takes."""
    for part in parts:
        kind, bounds, said, lines = _written(names, part)
        name = f"{letter}{kind}{part.nests[0]}"
        arguments = _arguments(lines)
        if any((nest.group, row.buffer) in names.tests for nest, row in _stores(part)):
            arguments += (("status", 0),)
        takes = [_parameter(names, kind, place) for kind, place in arguments]
        types = tuple(type_ for type_, _ in takes)
        head = ", ".join(map(" ".join, takes))
        texts = [f"KERNEL __launch_bounds__({bounds}) {name}({head}) {{  // {said}", *lines, "}"]
        if vendor.after is not None:
            texts.append(vendor.after(name, types))
        yield "\n".join(texts), Written(vendor.entry(name), arguments, part, types=types)


def _written(names: Names, part: Part) -> tuple[str, str, str, list[str]]:
    """Return the letter of a part, its threads and blocks, what it does, and its lines."""
    node, first = part.node, part.nests[0]
    match node:
        case Patches():
            said = f"a patch of nests {', '.join(map(str, part.nests))}"
            return "p", _bounds(node.threads, node.blocks), said, list(write_patches(names, node))
        case Columns(threads=threads, blocks=blocks, load=load):
            said = f"nests {first} to {part.nests[-1]}"
            letter = "b" if isinstance(load, Long) else "s"
            return letter, f"{threads}, {blocks}", said, list(write_columns(names, node))
    marks = marks_of(node)
    bounds = _bounds(math.prod(marks.block), marks.blocks)
    return "", bounds, f"nest {first}", list(write_nest(names, node))


def _bounds(threads: int, blocks: int) -> str:
    return f"{threads}, {blocks}" if blocks > 1 else str(threads)


def _stores(part: Part) -> Iterator[tuple[Nest, Store]]:
    return (
        (nest, row) for nest in nests_of(part.node) for row in nest.body if isinstance(row, Store)
    )


def _arguments(lines: Sequence[str]) -> tuple[tuple[str, int], ...]:
    found = {(name, int(number)) for line in lines for name, number in _NAMES.findall(line)}
    order = list(_KINDS)
    ordered = sorted(found, key=lambda each: (order.index(each[0]), each[1]))
    return tuple((_KINDS[name], place) for name, place in ordered)


def _parameter(names: Names, kind: str, place: int) -> tuple[str, str]:
    """Return type and name of a parameter."""
    if kind == "pointer":
        name = f"p{place}"
        buffer = next(each for each, own in names.buffers.items() if own == name)
        return f"{stored_type(names.by_name[buffer])}*", name
    if kind == "scalar":
        return TYPES[names.kernel.scalars[place][1]][0], f"x{place}"
    return {"slot": ("char*", f"slot{place}"), "status": ("s32*", "first")}.get(
        kind, ("s64", f"n{place}")
    )
