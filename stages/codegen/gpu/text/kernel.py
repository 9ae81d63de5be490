"""Write all nests of a program as kernels for GPUs, each with the arguments that it takes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from ....ir.bounds import Bound
from ....ir.flat_kernel import Kernel
from ....ir.nest_groups import Together
from ....ir.nests import Store
from ....ir.strides import Stride
from ....vendors.vendor import Vendor
from ...rows.checks import NOTE, tested_stores
from ...rows.checks import functions as test_functions
from ...rows.names import Names, WriterOptions, stored_type
from ...rows.operations import TYPES
from ...rows.scope import WITHIN
from ...soft_reads import Clamping
from .grid import single
from .nest import write_kernel
from .patches import write_patches
from .spellings import on_device
from .together import write_together

# The names of what kernels take: pointers, slots of the arena, integers, scalars.
_NAMES: Final = re.compile(r"\b(p|slot|n|x)(\d+)\b")
_KINDS: Final = {"p": "pointer", "slot": "slot", "n": "int", "x": "scalar"}


@attrs.frozen
class Written:
    """One kernel: its name in the module, and its arguments as (kind, place) in their order.

    It is nest `first` of the program, or several from that one on. `version` is -1, or whether its
    loads clamp indices. `types` are those of the arguments in the text.
    """

    name: str
    arguments: tuple[tuple[str, int], ...]
    first: int
    version: int = -1
    types: tuple[str, ...] = ()


def write_gpu(
    kernel: Kernel,
    ints: Sequence[Bound | Stride],
    options: WriterOptions,
    vendor: Vendor,
    clamping: Clamping | None = None,
) -> tuple[str, tuple[Written, ...]]:
    """Return the source of a program, and its kernels, one for each nest.

    A call passes the integers `ints`. With `clamping`, a version of each that clamps indices
    follows all of them.
    """
    names = Names(kernel, ints, options)
    if options.checked:
        names.tests = tested_stores(kernel)
    versions = [(names, "k")]
    if clamping is not None and not options.checked:
        clamped = Names(kernel, (*ints, *clamping.integers), options)
        clamped.clamped, clamped.functions = clamping.ends, names.functions
        versions.append((clamped, "c"))
    texts: list[str] = []
    found: list[Written] = []
    for version, (each, letter) in enumerate(versions):
        for text, written in write_version(each, letter, vendor):
            texts.append(text)
            number = version if len(versions) > 1 else -1
            found.append(attrs.evolve(written, version=number))
    functions = [text for _, text in sorted(names.functions.items())]
    tests = [on_device(line) for line in test_functions(names) if line != NOTE]
    tests += [on_device(WITHIN)] if len(versions) > 1 else []
    source = "\n".join([vendor.dialect("".join(texts)), *tests, *functions, "", *texts, ""])
    return source, tuple(found)


def write_version(names: Names, letter: str, vendor: Vendor) -> Iterator[tuple[str, Written]]:
    """Write each nest as a kernel, and scans that are one kernel before the first of them."""
    together = {scans.first: scans for scans in names.kernel.together}
    patches = {each.first: each for each in names.kernel.patches}
    for number, nest in enumerate(names.kernel.nests):
        if number in patches:
            each = patches[number]
            said = f"a patch of nests {', '.join(map(str, each.members))}"
            blocks = 1 if names.clamped else each.blocks
            lines = list(write_patches(names, each))
            text = _Text(f"{letter}p{number}", each.threads, said, lines, blocks)
            yield _written(names, text, number, vendor)
        if number in together and not (names.clamped and together[number].tiles):
            scans = together[number]
            said = f"nests {scans.first} to {scans.stop - 1}"
            lines = list(write_together(names, scans))
            text = _Text(f"{letter}s{number}", scans.threads, said, lines, scans.blocks)
            yield _written(names, text, number, vendor, scans)
            if scans.blocked:
                lines = list(write_together(names, scans, blocked=True))
                size, blocks = scans.blocked.threads, scans.blocks
                text = _Text(f"{letter}b{number}", size, said, lines, blocks)
                yield _written(names, text, number, vendor, scans)
        if any(each.blocked and each.first <= number < each.stop for each in together.values()):
            continue
        own = single(nest) if names.clamped else nest
        if any(scans.first <= number < scans.stop for scans in together.values()):
            own = attrs.evolve(own, ahead=own.ahead // 2)  # addresses of arrays need registers too
        lines = list(write_kernel(names, own))
        blocks = 1 if names.clamped else own.blocks
        text = _Text(f"{letter}{number}", math.prod(nest.block), f"nest {number}", lines, blocks)
        yield _written(names, text, number, vendor)


@attrs.frozen
class _Text:
    name: str
    threads: int
    said: str
    lines: Sequence[str]
    blocks: int


def _written(
    names: Names, text: _Text, number: int, vendor: Vendor, scans: Together | None = None
) -> tuple[str, Written]:
    arguments = _arguments(text.lines)
    nest = names.kernel.nests[number]
    if any((nest.statement, each.buffer) in names.tests for each in _stores(nest.body)):
        arguments += (("status", 0),)
    takes = [_parameter(names, kind, place) for kind, place in arguments]
    head = ", ".join(f"{type_} {name}" for type_, name in takes)
    several = f", {text.blocks}" if scans or text.blocks > 1 else ""
    bounds = f"__launch_bounds__({text.threads}{several})"
    texts = [f"KERNEL {bounds} {text.name}({head}) {{  // {text.said}", *text.lines, "}"]
    types = tuple(type_ for type_, _ in takes)
    if vendor.after is not None:
        texts.append(vendor.after(text.name, types))
    return "\n".join(texts), Written(vendor.entry(text.name), arguments, number, types=types)


def _stores(body: Sequence[object]) -> list[Store]:
    return [row for row in body if isinstance(row, Store)]


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
