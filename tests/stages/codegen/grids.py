"""Programs over neighbour tables, levels and regions for tests, and the native call of them."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from fieldforge.runtime import _core
from fieldforge.runtime._core import FieldView
from fieldforge.runtime.calls.loader import load_library
from fieldforge.runtime.calls.plan import ENTRY
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.fields.neighbour_table import Connectivity
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.domain import Domain
from fieldforge.runtime.process.settings import current
from fieldforge.stages import Lowered, Target, Variant
from fieldforge.stages.bind.plans import plan_of
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.ir import dataflow
from fieldforge.stages.ir.bounds import Ranges
from fieldforge.stages.lower.graph import Graph

from . import programs
from .programs import Field, I, J, K, all_unit, flow

C, E, V = Dimension("C"), Dimension("E"), Dimension("V")
C2E_DIM, E2C_DIM, V2E_DIM = (Dimension(name, DimensionKind.LOCAL) for name in ("C2E", "E2C", "V2E"))
C2E = dataflow.Table("C2E", E, C, C2E_DIM, 3, False)
E2C = dataflow.Table("E2C", C, E, E2C_DIM, 2, True)
V2E = dataflow.Table("V2E", E, V, V2E_DIM, 6, True)
TABLES = {table.name: table for table in (C2E, E2C, V2E)}


def make(
    graph: Graph, fields: Sequence[Field], *statements: Sequence[tuple[str, Ranges, int]]
) -> Lowered:
    """Make a program without inferred boxes, which the code generator finds itself."""
    names = dict.fromkeys(value.table for value in graph.values if hasattr(value, "table"))
    return Lowered(flow("p", graph, fields, statements, [TABLES[name] for name in names]))


def table_of(table: dataflow.Table, entries: Any, start: int = 0) -> Connectivity:
    array = np.asarray(entries, np.int32)
    domain = Domain((table.target, (start, start + len(array))), (table.local, table.width))
    return Connectivity(array, domain, table.source, -1 if table.skip else None)


def random_table(
    table: dataflow.Table, rows: int, sources: int, rng: np.random.Generator
) -> np.ndarray[Any, Any]:
    entries = rng.integers(0, sources, (rows, table.width)).astype(np.int32)
    if table.skip:
        entries[rng.random(entries.shape) < 0.3] = -1
    return entries


@attrs.frozen
class At:
    """An array with the indices of its first element."""

    array: Any
    starts: tuple[int, ...]


class Native:
    """A program compiled by the real stages and called through the native core."""

    def __init__(self, lowered: Lowered, variant: Variant | None = None, **options: Any) -> None:
        self._write(lowered, variant or Variant(), options)
        library = _compiled(self.generated, programs.FLAGS)
        with tempfile.TemporaryDirectory() as directory:
            self._take(load_library(library, Path(directory)).entry(self.plan))

    @classmethod
    def together(
        cls, several: Sequence[tuple[Lowered, Variant]], *flags: str, **options: Any
    ) -> list[Native]:
        """Compile programs by one run of the compiler, each in a namespace of its own."""
        made = [cls.__new__(cls) for _ in several]
        for each, (lowered, variant) in zip(made, several, strict=True):
            each._write(lowered, variant, options)
        texts = [each.source.replace(ENTRY, f"entry{i}") for i, each in enumerate(made)]
        source = "".join(f"namespace n{i} {{\n{text}\n}}\n" for i, text in enumerate(texts))
        asked = dict.fromkeys(flag for each in made for flag in each.generated.flags)
        generated = attrs.evolve(made[0].generated, source=source, flags=tuple(asked))
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "programs.so")
            path.write_bytes(_compiled(generated, flags))
            library = _core.Library(str(path))  # stays loaded when the file is gone
        for i, each in enumerate(made):
            address = library.symbol(f"entry{i}")
            assert address is not None
            each._take(_core.Entry(each.plan, address, library))
        return made

    def _write(self, lowered: Lowered, variant: Variant, options: dict[str, Any]) -> None:
        options = {"target": Target.host(), **options}
        results = Codegen(**options).run(lowered=lowered, variant=variant)
        self.generated = results["generated"]
        self.source = self.generated.source
        self.loops = self.generated.loops
        self.plan = plan_of(results["interface"])
        self.leaves = lowered.program.leaves

    def _take(self, entry: Any) -> None:
        self.program = _core.Program("p", self.plan.parameters, self._miss, reject)
        self.program.add(entry)

    def _miss(self, *_: Any) -> None:
        raise LookupError("the arguments do not fit the variant")

    def __call__(self, *arguments: Any, **tables: Connectivity) -> None:
        views = []
        for leaf, argument in zip(self.leaves, arguments, strict=True):
            if leaf.kind == "field":
                at = argument if isinstance(argument, At) else At(argument, (0,) * argument.ndim)
                views.append(FieldView(at.array, leaf.dims, at.starts))
            else:
                views.append(np.dtype(leaf.dtype).type(argument))
        self.program(*views, offset_provider=tables)


def _compiled(generated: Any, flags: Sequence[str]) -> bytes:
    stage = Compile(flags=flags, variables=current().compiler_variables)
    return stage.run(generated=generated)["compiled"].library


def units(lowered: Lowered, dim: Dimension | None) -> Variant:
    """Return the variant in which `dim` has unit stride in every field that has it."""
    return Variant() if dim is None else all_unit(lowered, dim)


__all__ = [
    "C2E", "C2E_DIM", "E2C", "E2C_DIM", "V2E", "V2E_DIM", "At", "C", "Dimension", "E", "I", "J",
    "K", "Native", "V", "make", "random_table", "table_of", "units",
]  # fmt: skip
