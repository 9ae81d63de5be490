"""What `explain --sizes` tells: the predicted seconds of a program and of what was not chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

import click

from ....runtime.fields import Connectivity
from ....stages.codegen.plan.machine import CLASSES
from ....stages.codegen.plan.sizes import Sizes, alike
from ....stages.ir.loops.reader import read
from ....stages.target import CpuTarget
from ...entries.entry_point import EntryPoint
from ...tuning.ranking import alternatives, told
from ...tuning.refit import GPUS, locality, node
from ..arguments import backend_of

CODEGEN: Final = "codegen"
_SIZE: Final = re.compile(r"\s*(\w+)\s*=\s*(\d+)\s*")


def predictions(entry: EntryPoint, words: str, machine: str | None) -> str:
    """Return a line for the plan of a program, and one for each decision with another choice."""
    given = extents(words)
    backend = backend_of(entry)
    if machine is not None and machine not in CLASSES:
        raise click.UsageError(f"There is no class '{machine}'; there are {', '.join(CLASSES)}.")
    kind = node(machine or (None if isinstance(backend.target, CpuTarget) else GPUS))

    def generate(options: Mapping[str, Any]) -> tuple[str, str]:
        named = {f"{CODEGEN}.{name}": value for name, value in options.items()}
        chosen = entry.with_backend(backend.with_options(**named)) if options else entry
        step = chosen.trace(until=CODEGEN)[CODEGEN]
        return step.text, step.loops

    sizes = sizes_of_loops(generate({})[1], given, entry._tables(None) or {})
    stage = dict(backend.workflow.nodes)[CODEGEN]
    return told(*alternatives(generate, stage, sizes, kind), kind.name)


def extents(words: str) -> dict[str, int]:
    """Return the extents of dimensions by name.

    >>> extents("I=128, K=80")
    {'I': 128, 'K': 80}
    """
    found = {}
    for part in words.split(","):
        match = _SIZE.fullmatch(part)
        if match is None:
            raise click.UsageError(
                f"'--sizes' takes extents of dimensions such as 'I=128,J=128,K=80', got '{part}'."
            )
        found[match[1]] = int(match[2])
    return found


def sizes_of_loops(loops: str, given: Mapping[str, int], tables: Mapping[str, Any]) -> Sizes:
    """Return sizes in which all fields have the same extents, and tables are near if not known."""
    kernel = read(loops)
    dims = {dim.value for buffer in kernel.buffers for dim in buffer.dims}
    unknown = [name for name in given if name not in dims]
    if unknown:
        raise click.UsageError(
            f"'{kernel.name}' has no dimension '{unknown[0]}'; it has {', '.join(sorted(dims))}."
        )
    known = {
        name: locality(table.asnumpy())
        for name, table in tables.items()
        if isinstance(table, Connectivity)
    }
    return alike(kernel, given, known)
