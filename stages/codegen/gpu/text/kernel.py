"""Write the parts of a program as kernels for GPUs, each with the arguments that it takes.

The boxes of a statement are one kernel: some blocks have one nest, and some another. The inner nest
has the first columns of the grid; its blocks know their places as those of a kernel of its own do.
The blocks of the rims follow, counted in one row: variables with the names that CUDA and HIP have
for them say where such a block is in the grid of its nest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops import (
    Bound,
    Column,
    Kernel,
    Nest,
    Store,
    Stride,
    bodies,
)
from ....ir.loops.gpu import Columns, KernelGroup, Long, Patches, marks_of
from ....vendors.dialect import BLOCK
from ....vendors.vendor import Vendor
from ...rows import (
    NOTE,
    TYPES,
    WITHIN,
    Passed,
    Scope,
    WriterOptions,
    functions as test_functions,
    places_of,
    stored_type,
    tested_stores,
)
from ...soft_reads import Clamping
from ..kernels import (
    Boxes,
    KernelPart,
    clamping_version,
    in_one_launch,
    parts,
    with_narrow_offsets,
)
from .columns import write_columns
from .grid import axes_of, first_text, is_flat
from .lines import braced, indented
from .nest import write_nest
from .patches import write_patches
from .spellings import dialect_of, on_device


@classes.frozen
class Written:
    """The kernel of a part: its name in the module, its arguments as (kind, place) in their order.

    `version` is -1, or whether its loads clamp indices. `types` are those of the arguments.
    """

    name: str
    arguments: tuple[tuple[str, int], ...]
    part: KernelPart
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
    follows all of them, or stands alone in code for calls that read beyond fields.
    """
    scope = Scope(
        kernel,
        places_of(ints),
        options,
        dialect_of(options),
        tests=tested_stores(kernel) if options.checked else {},
    )
    versions = [(scope, "k", kernel)]
    if clamping is not None and clamping.ends and not options.checked:
        places = places_of((*ints, *clamping.integers))
        clamped = classes.evolve(scope, places=places, clamped=clamping.ends)
        versions = [*versions, (clamped, "c", clamping_version(kernel))][clamping.flag < 0 :]
    texts: list[str] = []
    found: list[Written] = []
    for version, (each, letter, tree) in enumerate(versions):
        found_parts = parts(tree) if options.checked else in_one_launch(tree, parts(tree))
        if not (each.clamped or each.tests):
            found_parts = with_narrow_offsets(tree, found_parts)
        for text, written in write_version(each, found_parts, letter, vendor):
            texts.append(text)
            found.append(classes.evolve(written, version=version if len(versions) > 1 else -1))
    functions = [on_device(text) for _, text in sorted(scope.uses.functions.items())]
    tests = [on_device(line) for line in test_functions(scope) if line != NOTE]
    tests += [on_device(WITHIN)] if versions[-1][0].clamped else []
    source = "\n".join([vendor.dialect(scope.uses.names), *tests, *functions, "", *texts, ""])
    return source, tuple(found)


def write_version(
    scope: Scope, parts: Iterable[KernelPart], letter: str, vendor: Vendor
) -> Iterator[tuple[str, Written]]:
    """Write each part of a kernel, and what it takes; `scope` uses the functions that they call."""
    for part in parts:
        indices = {loop.range.dim: f"o{place}" for place, (_, loop) in enumerate(part.around)}
        own = classes.evolve(scope.apart(), around=indices, narrow=part.narrow)
        kind, bounds, said, lines = _written(own, part)
        name = f"{letter}{kind}{part.nests[0]}"
        scope.uses.add(own.uses)
        arguments = own.uses.arguments + tuple(("index", place) for place in range(len(indices)))
        rows = ((group, row) for group, rows in bodies(part.node) for row in rows)
        stored = {(group, row.buffer) for group, row in rows if isinstance(row, Store)}
        arguments += (("status", 0),) if stored & scope.tests.keys() else ()
        takes = [_parameter(scope, each, alone=isinstance(part.node, Column)) for each in arguments]
        types = tuple(type_ for type_, _ in takes)
        head = ", ".join(map(" ".join, takes))
        texts = [f"KERNEL __launch_bounds__({bounds}) {name}({head}) {{  // {said}", *lines, "}"]
        if vendor.after is not None:
            texts.append(vendor.after(name, types))
        yield "\n".join(texts), Written(vendor.entry(name), arguments, part, types=types)


def _written(scope: Scope, part: KernelPart) -> tuple[str, str, str, list[str]]:
    """Return the letter of a part, its threads and blocks, what it does, and its lines."""
    node, first = part.node, part.nests[0]
    if isinstance(node, KernelGroup):
        scope.ask(BLOCK)
    match node:
        case Patches():
            said = f"a patch of nests {', '.join(map(str, part.nests))}"
            blocks = 1 if scope.clamped else node.blocks
            return "p", _bounds(node.threads, blocks), said, list(write_patches(scope, node))
        case Columns(threads=threads, blocks=blocks, load=load):
            said = f"nests {first} to {part.nests[-1]}"
            letter = "b" if isinstance(load, Long) else "s"
            return letter, f"{threads}, {blocks}", said, list(write_columns(scope, node))
        case KernelGroup():
            raise TypeError(f"The writer for GPUs does not know '{type(node).__name__}'.")
        case Boxes():
            said = f"nests {', '.join(map(str, part.nests))}"
            blocks = min(marks_of(nest).blocks for nest in (node.inner, *node.rims))
            bounds = _bounds(math.prod(marks_of(part.first).block), blocks)
            return "", bounds, said, list(write_boxes(scope, node))
    marks = marks_of(part.first)
    bounds = _bounds(math.prod(marks.block), marks.blocks)
    return "n" * bool(part.narrow), bounds, f"nest {first}", list(write_nest(scope, node))


def _bounds(threads: int, blocks: int) -> str:
    return f"{threads}, {blocks}" if blocks > 1 else str(threads)


def _parameter(scope: Scope, argument: Passed, *, alone: bool) -> tuple[str, str]:
    """Return type and name of a parameter.

    The buffers of a column stand `alone`: where it would read what it stores by another argument,
    calls take a copy.
    """
    kind, place = argument
    if kind == "pointer":
        name = f"p{place}"
        buffer = next(each for each, own in scope.buffers.items() if own == name)
        return f"{stored_type(scope.by_name[buffer])}*{' __restrict__' if alone else ''}", name
    if kind == "scalar":
        return TYPES[scope.kernel.scalars[place][1]][0], f"x{place}"
    return {
        "slot": ("char*", f"slot{place}"), "status": ("s32*", "first"),
        "index": ("s64", f"o{place}"), "int": ("s64", f"n{place}"),
    }[kind]  # fmt: skip


_BLOCKS: Final = "struct Blocks { u32 x, y, z; };"


def write_boxes(scope: Scope, boxes: Boxes) -> Iterator[str]:
    """Write the statements of one thread."""
    scope.uses.functions["Blocks"] = _BLOCKS
    yield f"  const u32 columns = u32({_counts(scope, boxes.inner)[0]});"
    yield from indented(braced("if (blockIdx.x < columns)", write_nest(scope, boxes.inner)))
    row = "(blockIdx.x - columns) * gridDim.y + blockIdx.y"
    yield from ("  else {", f"  u32 block = ({row}) * gridDim.z + blockIdx.z;")
    for nest in boxes.rims:
        yield from indented(_rim(scope, nest))
    yield f"  }}{'}' * len(boxes.rims)}"


def _rim(scope: Scope, nest: Nest) -> Iterator[str]:
    """Write a nest for the next blocks, and begin what blocks after them have."""
    counts = (*_counts(scope, nest), "1", "1")[:3]
    place = "block % grid.x, block / grid.x % grid.y, block / grid.x / grid.y"
    grid = (f"const Blocks gridDim = grid, blockIdx = {{{place}}};",)
    yield f"const Blocks grid = {{{', '.join(f'u32({count})' for count in counts)}}};"
    yield "const u32 blocks = grid.x * grid.y * grid.z;"
    yield from braced("if (block < blocks)", grid, write_nest(scope, nest))
    yield from ("else {", "block -= blocks;")


def _counts(scope: Scope, nest: Nest) -> list[str]:
    """Return how many blocks the grid of a nest has along each axis, as its launch computes it."""
    counts = list[str]()
    for axis in axes_of(nest):
        start, stop = first_text(scope, nest, axis), scope.bound(nest.loops[axis.level].range.stop)
        size = axis.points if is_flat(nest) else axis.points * axis.threads
        counts.append(_share(f"{stop} - {start}", size, f"{start} < {stop}"))
    if is_flat(nest):
        counts = [_share(f"({' * '.join(counts)})", marks_of(nest).block[0])]
    guards = (scope.ends(each) for each in scope.kernel.groups[nest.group].box
              if each not in nest.box)  # fmt: skip
    tests = " && ".join(f"{start} < {stop}" for start, stop in guards)
    return [f"({tests} ? {counts[0]} : 0)", *counts[1:]] if tests else counts


def _share(count: str, size: int, test: str = "") -> str:
    """Return how many blocks of some size a number of points takes; none unless the test holds."""
    blocks = f"({count} + {size - 1}) / {size}" if size > 1 else f"({count})"
    return f"({test} ? {blocks} : 0)" if test else f"({blocks})"
