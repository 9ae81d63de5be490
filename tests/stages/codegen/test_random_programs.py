"""Random programs over tables, levels, regions and scans: compiled code against the oracle."""

import random
from typing import Any

import numpy as np
import pytest

from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.ir.dataflow import Body, Bound, Const, DomainSymbol, ScalarSymbol, Side, add
from fieldforge.stages.lower.graph import Graph

from ...selection import runs_all
from .grids import (
    C2E,
    E2C,
    V2E,
    At,
    C,
    Dimension,
    E,
    K,
    Native,
    V,
    make,
    random_table,
    table_of,
    units,
)
from .oracle import Oracle
from .programs import Field, whole

pytestmark = pytest.mark.needs_compiler
SIZES = {C: 9, E: 14, V: 8}
LEVELS = 6
HALO = 22
FROM = {C: C2E, E: E2C, V: V2E}
Dims = tuple[Dimension, ...]


class Drawing:
    """Draws well-typed values; every input has levels enough for any chain of shifts."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.has_levels = seed % 4 == 3  # whether values are taken at one level
        self.graph = Graph()
        self.dtype = self.random.choice(["float64", "float64", "float32", "int32", "int8"])
        self.fields: dict[str, Field] = {}

    def program(self) -> Lowered:
        dims = (self.random.choice([C, E, V]), K)
        box, depth = whole("out", dims), self.random.choice([2, 3, 4, 5])
        names = ["out", "more"][: self.random.choice([1, 1, 2])]
        stores = [(name, box, self.value(dims, depth)) for name in names]
        fields: list[Field] = [*self.fields.values(), *((n, self.dtype, dims) for n in names)]
        fields += [("n", "int32", None), ("m", "int32", None)]
        return make(self.graph, fields, stores)

    def value(self, dims: Dims, depth: int, levels: bool = True) -> int:
        """Draw a value; `levels` says that it is not shifted, so that it may be a scan."""
        if depth <= 0:
            return self.leaf(dims)
        columns = [dim for dim in dims if dim is not K]
        kinds = [self.leaf] + [self.arithmetic] * 4 + [self.choice, self.region]
        kinds += [self.neighbour] * (3 * bool(columns))
        if K in dims:
            kinds += [self.shift, self.displaced] + [self.scan] * levels
            kinds += [self.level] * (2 * self.has_levels)
        return self.random.choice(kinds)(dims, depth, levels)

    def leaf(self, dims: Dims, _: int = 0, __: bool = True) -> int:
        if self.random.random() < 0.1:
            return self.graph.literal(self.dtype, str(self.random.randrange(4)))
        some = [dims, dims, dims[:1], dims[-1:]]
        return self.input(self.random.choice(some))

    def input(self, dims: Dims) -> int:
        name = "_".join(["in", *(dim.value for dim in dims), str(self.random.randrange(2))])
        self.fields[name] = (name, self.dtype, dims)
        return self.graph.input(name, dims, self.dtype)

    def arithmetic(self, dims: Dims, depth: int, levels: bool) -> int:
        op = self.random.choice(["add", "sub", "mul", "maximum", "minimum"])
        return self.graph.map(op, [self.value(dims, depth - 1, levels) for _ in range(2)])

    def choice(self, dims: Dims, depth: int, levels: bool) -> int:
        mask = self.graph.map("lt", [self.value(dims, depth - 1, levels) for _ in range(2)])
        branches = [self.value(dims, depth - 1, levels) for _ in range(2)]
        return self.graph.map("select", (mask, *branches))

    def shift(self, dims: Dims, depth: int, _: bool) -> int:
        offset = self.random.choice([-2, -1, 1, 2])
        return self.graph.shift(self.value(dims, depth - 1, levels=False), K, offset)

    def level(self, dims: Dims, depth: int, _: bool) -> int:
        at = Const(self.random.randrange(LEVELS))
        if self.random.random() < 0.5:
            at = add(DomainSymbol("stop", "out", K), -1 - self.random.randrange(2))
        return self.graph.level(self.value(dims, depth - 1), K, at)

    def displaced(self, dims: Dims, depth: int, _: bool) -> int:
        few = self.graph.map("minimum", (self.input(dims), self.graph.literal(self.dtype, "2")))
        arg = self.graph.map("add", (self.input(dims), self.value(dims, depth - 2, levels=False)))
        return self.graph.displace(arg, K, self.graph.map("cast", (few,), "int32"))

    def neighbour(self, dims: Dims, depth: int, levels: bool) -> int:
        (column,) = (dim for dim in dims if dim is not K)
        table, graph = FROM[column], self.graph
        source = tuple(table.source if dim is column else dim for dim in dims)
        arg = self.value(source, depth - 1, levels)
        if table.source not in graph[arg].dims:
            return arg
        if self.random.random() < 0.4:
            return graph.gather(arg, table, self.random.randrange(table.width))
        around = graph.neighbours(arg, table)
        if self.random.random() < 0.5:
            around = graph.map("mul", (around, self.input((column, table.local))))
        elif self.random.random() < 0.5:
            around = graph.map("sub", (around, self.value(dims, depth - 2, levels)))
        if self.random.random() < 0.15:
            return graph.local(around, table.local, self.random.randrange(table.width))
        return graph.reduce(self.random.choice(["sum", "sum", "max", "min"]), around, table)

    def region(self, dims: Dims, depth: int, levels: bool) -> int:
        dim = self.random.choice([dims[0], dims[-1], dims[-1]])
        start, stop = self.random.choice([(1, 0), (0, 1), (1, 1)])
        first = self.bound() if start else None
        box = [Side(dim, first, self.bound() if stop else None)]
        if first is not None and self.random.random() < 0.3:
            box = [Side(dim, first, add(first, 1))]
        if dim is K and dims[0] is not K and self.random.random() < 0.2:
            box.append(Side(dims[0], Const(self.random.randrange(9)), None))
        branches = [self.value(dims, depth - 1, levels) for _ in range(2)]
        return self.graph.region((tuple(box),), *branches)

    def bound(self) -> Bound:
        some = [Const(self.random.randrange(-1, LEVELS + 1)), DomainSymbol("stop", "out", K)]
        scalar = ScalarSymbol(self.random.choice("nm"))
        return add(self.random.choice([*some, scalar, scalar]), -self.random.randrange(3))

    def scan(self, dims: Dims, depth: int, levels: bool) -> int:
        body, graph = Graph(), self.graph
        args = tuple(self.value(dims, depth - 1, levels) for _ in range(self.random.choice([1, 2])))
        count = self.random.choice([1, 2, 3])
        leaves = [body.scalar(f"s{i}", self.dtype) for i in range(count)]
        leaves += [body.scalar(f"a{i}", self.dtype) for i in range(len(args))]
        results = tuple(
            body.map(
                self.random.choice(["add", "sub", "maximum", "mul"]),
                [self.random.choice(leaves) for _ in range(2)],
            )
            for _ in range(count)
        )
        init = tuple(self.first(dims, depth, i) for i in range(count))
        ends = DomainSymbol("start", "out", K), DomainSymbol("stop", "out", K)
        walked = graph.scan(
            Body(tuple(body.values), results), init, args, K, self.random.random() < 0.5, ends
        )
        return self.random.choice(walked)

    def first(self, dims: Dims, depth: int, number: int) -> int:
        """Draw a first state: a number, or a plane."""
        if self.has_levels and self.random.random() < 0.6:
            return self.level(dims, depth - 1, True)
        return self.graph.literal(self.dtype, str(number))


def arguments(lowered: Lowered, rng: np.random.Generator) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for leaf in lowered.program.leaves:
        if leaf.kind == "scalar":
            found[leaf.name] = int(rng.integers(-1, LEVELS + 2))
            continue
        halo = 0 if leaf.name in ("out", "more") else HALO
        extents = {**SIZES, K: LEVELS + 2 * halo}
        shape = [extents.get(dim, 6) for dim in leaf.dims]
        array = np.round(rng.standard_normal(shape) * 3, 2)
        if not leaf.dtype.startswith("float"):
            array = rng.integers(-4, 5, shape)
        starts = tuple(-halo if dim is K else 0 for dim in leaf.dims)
        found[leaf.name] = At(array.astype(leaf.dtype), starts)
    return found


def laid_out(at: At, dims: Dims, unit: Dimension | None) -> At:
    """Copy an array so that one dimension is contiguous, or none."""
    if unit is None:
        return At(np.repeat(at.array, 2, axis=0)[::2], at.starts)
    if unit not in dims:
        return At(at.array.copy(), at.starts)
    axis = dims.index(unit)
    last = np.moveaxis(at.array, axis, -1).copy()
    return At(np.moveaxis(last, -1, axis), at.starts)


class Case:
    """One program, what it is given, and what it must give."""

    def __init__(self, seed: int) -> None:
        self.seed, drawing, rng = seed, Drawing(seed), np.random.default_rng(seed)
        self.lowered = drawing.program()
        dims = {leaf.name: leaf.dims for leaf in self.lowered.program.leaves}
        unit = drawing.random.choice([K, K, None, dims["out"][0]])
        self.variant = units(self.lowered, unit)
        self.given = arguments(self.lowered, rng)
        self.tables = {
            table.name: random_table(table, SIZES[table.target], SIZES[table.source], rng)
            for table in (C2E, E2C, V2E)
        }
        self.ours = {
            name: laid_out(value, dims[name], unit) if isinstance(value, At) else value
            for name, value in self.given.items()
        }

    def check(self, native: Native) -> None:
        """Run it both ways; what the language leaves undefined is not compared."""
        given, ours, tables = self.given, self.ours, self.tables
        oracle = Oracle(self.lowered.program, given, tables)
        oracle.run()

        native(*ours.values(), **{t.name: table_of(t, tables[t.name]) for t in (C2E, E2C, V2E)})

        for name in ("out", "more"):
            if name in given:
                for target, index in oracle.undefined:
                    if target == name:
                        ours[name].array[index] = given[name].array[index] = 0
                np.testing.assert_array_equal(
                    ours[name].array, given[name].array, err_msg=f"seed {self.seed}"
                )


@pytest.mark.parametrize("seed", range(24))
def test_random_programs_agree_bit_for_bit_with_the_oracle(seed: int) -> None:
    case = Case(seed)
    case.check(Native(case.lowered, case.variant, parallel_from=1))


LOTS = tuple(
    pytest.param(first, marks=() if first % 192 == 24 else pytest.mark.in_full)
    for first in range(24, 400, 16)
)


@pytest.mark.parametrize("first", LOTS)
def test_many_random_programs_agree_bit_for_bit_with_the_oracle(
    first: int, request: pytest.FixtureRequest
) -> None:
    """Sixteen programs at once, one lot of them optimised; `make test-all`: all."""
    cases = [Case(seed) for seed in range(first, min(first + 16, 400))]
    is_whole = runs_all(request.config) or first == 24
    flags = () if is_whole else ("-O0",)  # a third of the time of -O1, a sixth of that of -O3
    programs = [(case.lowered, case.variant) for case in cases]
    for case, native in zip(cases, Native.together(programs, *flags, parallel_from=1), strict=True):
        case.check(native)
