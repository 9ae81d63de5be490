"""Write the parts of a program as kernels for GPUs, each with the arguments that it takes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from .....runtime.process import classes
from ....ir.loops import Bound, Column, Kernel, Store, Stride, bodies
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
from ..kernels import Boxes, KernelPart, clamping_version, in_one_launch, parts
from ..narrow_offsets import with_narrow_offsets
from .boxes import write_boxes
from .columns import write_columns
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
            number = version if len(versions) > 1 else -1
            found.append(classes.evolve(written, version=number))
    functions = [text for _, text in sorted(scope.uses.functions.items())]
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
        alone = isinstance(part.node, Column)
        takes = [_parameter(scope, argument, alone=alone) for argument in arguments]
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
    if isinstance(node, Boxes):
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
