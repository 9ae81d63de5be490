"""Costs of this node for predictions: `doctor --machine` measures some, `--model` fits all."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from ....runtime import _core
from ....runtime.calls.machine import machine_file, processor, read_machine, write_machine
from ....stages.codegen.plan.machine import class_of
from ...tuning.refit import COSTS, costs_of, errors_of, node, pairs_of, refitted
from ..printed import print_table

# A copy reads and writes a number: a level moves its line in, and both lines of the other one.
MOVED: Final = 1.5
MULTIPLIED: Final = 8  # products with a sum, by `machine_program.multiply`
SMALL: Final = (4, 256)  # rows and points of a plane in the first cache
SHORT: Final = (128, 8)  # the same number of points in short rows
Seconds = Callable[[Callable[[], object]], float]


def measured_costs(
    copies: Mapping[str, Sequence[float]], program: Any, fields: Any, seconds: Seconds
) -> dict[str, float]:
    """Return costs by name, from bytes a second by level and from two planes.

    `program(name)` returns a program, `fields(rows, points)` its arguments.
    """
    machine = class_of(processor())
    found: dict[str, float] = {}
    for link in machine.links:
        if link.name in copies:
            one, every = copies[link.name]
            found[f"{link.name}.one"] = MOVED * one
            if link.every:
                found[f"{link.name}.every"] = MOVED * every
    multiply = program("multiply").with_threads(1)
    square, narrow = fields(*SMALL), fields(*SHORT)
    differ = program("differ").with_threads(1)
    whole = seconds(lambda: multiply(*square))
    few, many = seconds(lambda: differ(*square)), seconds(lambda: differ(*narrow))
    strips = SMALL[0] * SMALL[1] / (machine.lanes // 8)
    found["operations"] = (whole - few) / (strips * MULTIPLIED)
    found["rows"] = (many - few) / (SHORT[0] - SMALL[0])
    every = _core.default_threads()
    if every > 1:
        both = program("differ").with_threads(every)
        found["barrier"] = seconds(lambda: both(*square)) - few / every
    return {name: cost for name, cost in found.items() if cost > 0}


def refit(paths: Sequence[Path], name: str | None, console: Console) -> None:
    """Fit the costs to plans that `python -m bench.regret --listings` kept, and keep them."""
    machine = node(name)
    pairs = list(pairs_of(kept_rows(paths), machine))
    if not pairs:
        raise click.UsageError("There is no pair of a listing and its seconds in these files.")
    found = refitted(pairs, machine)
    before = costs_of(machine)
    print_table(
        ("cost", "before", "now"),
        ((each, f"{before[each]:.3g}", f"{cost:.3g}") for each, cost in costs_of(found).items()),
        f"{machine.name}: {len(pairs)} plans",
    )
    for words, chosen in (("before", machine), ("now", found)):
        whole, inside = errors_of(pairs, chosen)
        console.print(f"error {words}: {whole:.2f}, beside other plans of a program {inside:.2f}")
    if name is None:
        document = read_machine(machine_file())
        write_machine(machine_file(), document | {COSTS: costs_of(found)})
        console.print(f"Kept in {machine_file()}.")


def kept_rows(paths: Sequence[Path]) -> Iterator[dict[str, Any]]:
    """Yield the rows of files of lines, compressed or not; a file is a program."""
    for path in paths:
        files = sorted(path.glob("*.jsonl*")) if path.is_dir() else [path]
        for file in files:
            opened = gzip.open if file.suffix == ".gz" else open
            with opened(file, "rt") as lines:
                for line in lines:
                    yield {"program": str(file)} | json.loads(line)
