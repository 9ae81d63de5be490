"""Write all nests of a program as kernels for GPUs, each with the arguments that it takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

import attrs

from ...ir.loops import Kernel, Store
from ..cpp.checks import NOTE, tested_stores
from ..cpp.checks import functions as test_functions
from ..cpp.kernel import WITHIN
from ..cpp.names import Names, WriterOptions, stored_type
from ..cpp.operations import TYPES
from ..integers import integers
from ..soft_reads import Clamping
from .grid import single
from .nest import write_kernel
from .preludes import Platform, entry_of, prelude, whole_grid
from .spellings import on_device

# The names of what kernels take: pointers, slots of the arena, integers, scalars.
_NAMES: Final = re.compile(r"\b(p|slot|n|x)(\d+)\b")
_KINDS: Final = {"p": "pointer", "slot": "slot", "n": "int", "x": "scalar"}


@attrs.frozen
class Written:
    """One kernel: its name in the module, and its arguments as (kind, place) in their order."""

    name: str
    arguments: tuple[tuple[str, int], ...]


def write_gpu(
    kernel: Kernel,
    options: WriterOptions,
    platform: Platform,
    clamping: Clamping | None = None,
) -> tuple[str, tuple[Written, ...]]:
    """Return the source of a program, and its kernels, one for each nest.

    With `clamping`, a version of each that clamps indices follows all of them.
    """
    names = Names(kernel, integers(kernel), options)
    if options.checked:
        names.tests = tested_stores(kernel)
    versions = [(names, "k")]
    if clamping is not None and not options.checked:
        clamped = Names(kernel, (*integers(kernel), *clamping.integers), options)
        clamped.clamped, clamped.functions = clamping.ends, names.functions
        versions.append((clamped, "c"))
    texts: list[str] = []
    found: list[Written] = []
    for each, letter in versions:
        for text, written in _version(each, letter, platform):
            texts.append(text)
            found.append(written)
    functions = [text for _, text in sorted(names.functions.items())]
    tests = [on_device(line) for line in test_functions(names) if line != NOTE]
    tests += [on_device(WITHIN)] if len(versions) > 1 else []
    source = "\n".join([prelude(platform, "".join(texts)), *tests, *functions, "", *texts, ""])
    return source, tuple(found)


def _version(names: Names, letter: str, platform: Platform) -> Iterator[tuple[str, Written]]:
    """Write each nest as a kernel."""
    for number, nest in enumerate(names.kernel.nests):
        name = f"{letter}{number}"
        lines = list(write_kernel(names, single(nest) if names.clamped else nest))
        arguments = _arguments(lines)
        if any((nest.statement, each.buffer) in names.tests for each in _stores(nest.body)):
            arguments += (("status", 0),)
        takes = [_parameter(names, kind, place) for kind, place in arguments]
        threads = 1
        for size in nest.block:
            threads *= size
        head = ", ".join(f"{type_} {name}" for type_, name in takes)
        texts = [f"KERNEL __launch_bounds__({threads}) {name}({head}) {{  // nest {number}"]
        texts += [*lines, "}"]
        if platform == "host":
            texts.append(whole_grid(name, tuple(type_ for type_, _ in takes)))
        yield "\n".join(texts), Written(entry_of(name, platform), arguments)


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
