"""Random programs of sums over neighbours, in patches of random sizes: bits as nest by nest.

`RANDOM_PATCHES=100:400 pytest tests/stages/codegen/gpu/test_random_patches.py` runs other seeds.
"""

import importlib.util
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import icosahedral as mesh_of
from fieldforge.examples.icosahedral import K
from fieldforge.stages.sizes import Patches
from fieldforge.workflows.backends.backend import BACKENDS

from ....selection import not_optimised

MESH = mesh_of.icosahedral(4, 0)
TABLES = MESH.connectivities()
COUNTS = {"Edge": MESH.edges, "Cell": MESH.cells, "Vertex": MESH.vertices}
# From where to where a table leads, and its neighbours.
WAYS = {
    "V2E": ("Vertex", "Edge", 6), "E2V": ("Edge", "Vertex", 2), "C2E": ("Cell", "Edge", 3),
    "E2C": ("Edge", "Cell", 2), "V2C": ("Vertex", "Cell", 6), "C2V": ("Cell", "Vertex", 3),
}  # fmt: skip
FIRST, _, LAST = os.environ.get("RANDOM_PATCHES", "0:6").partition(":")
LEVELS = 10  # an even number: rows are aligned


class Writer:
    """One random program as text, with the fields that it takes."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.fields: dict[str, tuple[str, ...]] = {}
        self.lines: list[str] = []
        self.values: list[tuple[str, str]] = []  # and their dimensions
        self.sums: list[tuple[str, str]] = []  # of which value, by which table
        for dim in COUNTS:
            self.values.append((self.field(dim, "K"), dim))
        for _ in range(self.random.randint(2, 5)):
            self.stage()
        dims = self.random.sample(list(COUNTS), self.random.randint(1, 2))
        self.outputs = {f"out_{dim.lower()}": self.output(dim) for dim in dims}

    def field(self, *dims: str) -> str:
        name = f"f{len(self.fields)}"
        self.fields[name] = dims
        return name

    def value(self, dim: str) -> str:
        """Return an expression at an element, mostly of what was computed last."""
        found = [name for name, own in self.values if own == dim][-2:]
        name = self.random.choice(found)
        if name.startswith("f") and self.random.random() < 0.3:
            return f"({name} + 0.5 * {name}(K + 1))"
        return name

    def gathered(self, table: str) -> str:
        """Return a sum over neighbours, or one of them."""
        _, target, width = WAYS[table]
        value = self.value(target)
        if width == 2 and self.random.random() < 0.4:
            slots = self.random.sample(range(2), 2)
            return f"({value}({table}[{slots[0]}]) - 0.25 * {value}({table}[{slots[1]}]))"
        if "(" not in value:
            self.sums.append((value, table))
        return self.sum(value, table)

    def sum(self, value: str, table: str) -> str:
        weights = self.field(WAYS[table][0], f"{table}Dim")
        return f"neighbor_sum({value}({table}) * {weights}, axis={table}Dim)"

    def stage(self) -> None:
        table = self.random.choice(list(WAYS))
        dim, name = WAYS[table][0], f"v{len(self.lines)}"
        text = self.gathered(table)
        if self.random.random() < 0.5:
            text = f"{text} * {self.value(dim)} + {self.field(dim, 'K')}"
        if self.random.random() < 0.2:
            text = f"where({self.value(dim)} > 0.9, {text}, {self.value(dim)})"
        self.lines.append(f"    {name} = {text}")
        self.values.append((name, dim))

    def output(self, dim: str) -> str:
        tables = [name for name, (source, _, _) in WAYS.items() if source == dim]
        again = [(value, table) for value, table in self.sums if table in tables]
        if again and self.random.random() < 0.7:  # what a nest before it reads, too
            value, table = self.random.choice(again)
            other = self.gathered(self.random.choice(tables))
            return f"{self.sum(f'({value} * {value})', table)} + {other}"
        return f"{self.gathered(self.random.choice(tables))} + {self.value(dim)}"

    def text(self) -> str:
        def typed(dims: tuple[str, ...]) -> str:
            return f"ff.Field[ff.Dims[{', '.join(dims)}], ff.float64]"

        given = ", ".join(f"{name}: {typed(dims)}" for name, dims in self.fields.items())
        outs = {name: name.removeprefix("out_").title() for name in self.outputs}
        takes = ", ".join(f"{name}: {typed((dim, 'K'))}" for name, dim in outs.items())
        result = ", ".join(typed((dim, "K")) for dim in outs.values())
        many = len(outs) > 1
        box = ", ".join(f"{{{d}: (a_{d}, b_{d}), K: (0, {LEVELS - 2})}}" for d in outs.values())
        ends = ", ".join(f"a_{d}: ff.int32, b_{d}: ff.int32" for d in outs.values())
        target = ", ".join(self.outputs)
        names = ", ".join(self.fields)
        values = ", ".join(self.outputs.values())
        return "\n".join(
            [
                "import fieldforge as ff",
                "from fieldforge import neighbor_sum, where",
                "from fieldforge.examples.icosahedral import *",
                *(f"from fieldforge.examples.icosahedral import {t}, {t}Dim" for t in WAYS),
                "from fieldforge.examples.icosahedral import Cell, Edge, K, Vertex",
                "@ff.field_operator",
                f"def computed({given}) -> {f'tuple[{result}]' if many else result}:",
                *self.lines,
                f"    return {values}",
                "@ff.program",
                f"def run({given}, {takes}, {ends}):",
                f"    computed({names}, out={f'({target})' if many else target},",
                f"        domain={f'({box})' if many else box})",
            ]
        )


def program_of(text: str, folder: Path) -> Any:
    file = folder / "random_mesh.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location("random_mesh", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.run


@pytest.mark.parametrize("seed", range(int(FIRST), int(LAST)))
def test_random_programs_have_the_bits_of_their_nests_one_by_one(seed: int, tmp_path: Path) -> None:
    made = Writer(seed)
    program = program_of(made.text(), tmp_path)
    rng = np.random.default_rng(seed)
    sizes = COUNTS | {f"{name}Dim": width for name, (_, _, width) in WAYS.items()} | {"K": LEVELS}
    arguments: dict[str, Any] = {}
    for name, dims in made.fields.items():
        domain = {getattr(mesh_of, dim) if dim != "K" else K: sizes[dim] for dim in dims}
        arguments[name] = ff.as_field(domain, rng.uniform(0.5, 1.5, tuple(domain.values())))
    for name in made.outputs:
        dim = name.removeprefix("out_").title()
        arguments[name] = ff.zeros({getattr(mesh_of, dim): COUNTS[dim], K: LEVELS})
        start = made.random.choice([0, 0, 5])
        arguments |= {f"a_{dim}": start, f"b_{dim}": COUNTS[dim] - made.random.choice([0, 0, 3])}
    if made.random.random() < 0.3:  # an output in the memory of an input
        name = next(iter(made.outputs))
        dim = name.removeprefix("out_").title()
        arguments[name] = arguments[
            next(field for field, dims in made.fields.items() if dims == (dim, "K"))
        ]
    before = {name: np.array(arguments[name].asnumpy()) for name in made.outputs}
    provider = {name: TABLES[name] for name in WAYS}
    size = made.random.choice(
        [
            Patches(),
            Patches(10),
            Patches(40, levels=4, points=2, threads=64),
            Patches(25, levels=8, points=4, threads=32, blocks=2),
        ]
    )

    def results(backend: Any) -> list[np.ndarray]:
        for name, values in before.items():
            arguments[name].ndarray[...] = values
        program.with_backend(backend)(**arguments, offset_provider=provider)
        return [np.array(arguments[name].asnumpy()) for name in made.outputs]

    portions = made.random.choice(
        [
            Patches(elements, portion=portion, least_bytes=1)
            for elements, portion in ((64, 64), (96, 24), (1000, 40))
        ]
    )
    cpu = not_optimised(BACKENDS["cpu"])
    expected = results(cpu.with_options(patches=False))
    for backend in (
        BACKENDS["gpu-host"].with_options(patches=size),
        cpu.with_options(patches=portions),
    ):
        for one, other in zip(results(backend), expected, strict=True):
            assert np.array_equal(one, other), made.text()
