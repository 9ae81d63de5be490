"""Write all nests of a program as kernels for GPUs, each with the arguments that it takes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import attrs

from ...ir.loops import Kernel, Store
from ..cpp.checks import NOTE, tested_stores
from ..cpp.checks import functions as test_functions
from ..cpp.names import Names, WriterOptions, stored_type
from ..cpp.operations import TYPES
from ..integers import integers
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
    kernel: Kernel, options: WriterOptions, platform: Platform
) -> tuple[str, tuple[Written, ...]]:
    """Return the source of a program, and its kernels, one for each nest."""
    names = Names(kernel, integers(kernel), options)
    if options.checked:
        names.tests = tested_stores(kernel)
    texts, found, grids = [], [], []
    for number, nest in enumerate(kernel.nests):
        lines = list(write_kernel(names, nest))
        arguments = _arguments(lines)
        if any((nest.statement, each.buffer) in names.tests for each in _stores(nest.body)):
            arguments += (("status", 0),)
        takes = [_parameter(names, kind, place) for kind, place in arguments]
        threads = 1
        for size in nest.block:
            threads *= size
        head = ", ".join(f"{type_} {name}" for type_, name in takes)
        texts += [f"KERNEL __launch_bounds__({threads}) k{number}({head}) {{  // nest {number}"]
        texts += [*lines, "}"]
        found.append(Written(entry_of(f"k{number}", platform), arguments))
        if platform == "host":
            grids.append(whole_grid(f"k{number}", tuple(type_ for type_, _ in takes)))
    functions = [text for _, text in sorted(names.functions.items())]
    tests = [on_device(line) for line in test_functions(names) if line != NOTE]
    source = "\n".join([prelude(platform), *tests, *functions, "", *texts, *grids, ""])
    return source, tuple(found)


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
