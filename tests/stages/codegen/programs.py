"""Programs for tests of the code generator, and a way to run them without the native core."""

import ctypes
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fieldforge.runtime.calls.plan import ENTRY, Code
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.process.settings import current
from fieldforge.stages import Lowered, Target, Variant
from fieldforge.stages.bind.plans import plan_of
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.compile.stage import Compile
from fieldforge.stages.ir import dataflow
from fieldforge.stages.ir.bounds import DomainSymbol, Range, Ranges
from fieldforge.stages.lower.boxes.infer_boxes import infer_boxes
from fieldforge.stages.lower.graph import Graph

I, J, K = Dimension("I"), Dimension("J"), Dimension("K", DimensionKind.VERTICAL)
REAL = "float64"
TARGET = Target(isa="x86-64-v3", cores=2)
FLAGS: tuple[str, ...] = ()  # of the compiler, after those of generated code; tests patch them
Field = tuple[str, str, tuple[Dimension, ...] | None]

BINARY: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "floordiv": lambda a, b: a // b if b else 0,
    "mod": lambda a, b: a % b if b else 0,
}


def whole(name: str, dims: Sequence[Dimension]) -> Ranges:
    return tuple(
        Range(d, DomainSymbol("start", name, d), DomainSymbol("stop", name, d)) for d in dims
    )


def flow(
    name: str,
    graph: Graph,
    fields: Sequence[Field],
    statements: Sequence[Sequence[tuple[str, Ranges, int]]],
    tables: Sequence[dataflow.Table] = (),
) -> dataflow.Dataflow:
    leaves = tuple(
        dataflow.Leaf(field, (i,), "scalar" if dims is None else "field", dtype, dims or ())
        for i, (field, dtype, dims) in enumerate(fields)
    )
    return dataflow.Dataflow(
        name=name,
        parameters=tuple(leaf.name for leaf in leaves),
        leaves=leaves,
        values=tuple(graph.values),
        statements=tuple(
            dataflow.Statement(tuple(dataflow.Store(*store) for store in stores))
            for stores in statements
        ),
        tables=tuple(tables),
    )


def make_program(
    name: str, graph: Graph, fields: Sequence[Field], *statements: Sequence[tuple[str, Ranges, int]]
) -> Lowered:
    return infer_boxes(flow(name, graph, fields, statements))


def laplacian(graph: Graph, value: int) -> int:
    around = [graph.shift(value, d, n) for d in (I, J) for n in (1, -1)]
    total = around[0]
    for other in around[1:]:
        total = graph.map("add", (total, other))
    return graph.map("sub", (graph.map("mul", (graph.literal(REAL, "4.0"), value)), total))


def laplacians(count: int) -> Lowered:
    """Return a chain of stencils on a plane; `u` is read `count` points beyond `out`."""
    graph, dims = Graph(), (I, J)
    value = graph.input("u", dims, REAL)
    for _ in range(count):
        value = laplacian(graph, value)
    fields: list[Field] = [("u", REAL, dims), ("out", REAL, dims)]
    return make_program("chain", graph, fields, [("out", whole("out", dims), value)])


def all_unit(lowered: Lowered, dim: Dimension) -> Variant:
    leaves = lowered.program.leaves
    return Variant(unit=tuple((leaf.name, dim.value) for leaf in leaves if dim in leaf.dims))


def evaluate(code: Code, arguments: Sequence[Any], origins: Sequence[Any], ints: list[int]) -> int:
    """Execute an integer program of a plan as the native core does."""
    stack: list[int] = []
    for word in code:
        argument = arguments[word.argument] if word.argument < len(arguments) else None
        match word.op:
            case "const":
                stack.append(word.value)
            case "int":
                stack.append(ints[word.value])
            case "scalar":
                stack.append(int(argument))
            case "start":
                stack.append(origins[word.argument][word.axis])
            case "stop":
                stack.append(origins[word.argument][word.axis] + argument.shape[word.axis])
            case "stride":
                stack.append(argument.strides[word.axis] // argument.itemsize)
            case _:
                right, left = stack.pop(), stack.pop()
                stack.append(BINARY[word.op](left, right))
    (result,) = stack
    return result


class Runner:
    """A program compiled by the real stages and called through ctypes."""

    def __init__(self, lowered: Lowered, variant: Variant | None = None, **options: Any) -> None:
        options.setdefault("target", Target.host())
        results = Codegen(**options).run(lowered=lowered, variant=variant or Variant())
        self.loops = results["generated"].loops
        self.plan = plan_of(results["interface"])
        stage = Compile(flags=FLAGS, variables=current().compiler_variables)
        library = stage.run(generated=results["generated"])["compiled"].library
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory, "program.so")
            path.write_bytes(library)
            self.entry = getattr(ctypes.CDLL(str(path)), ENTRY)

    def __call__(self, *arguments: Any, origins: Sequence[tuple[int, ...]] | None = None) -> None:
        """Run on arrays and numbers; the arena starts as NaN, so that what is not written shows."""
        origins = origins or [(0,) * getattr(a, "ndim", 0) for a in arguments]
        ints: list[int] = []
        for code in self.plan.ints:
            ints.append(evaluate(code, arguments, origins, ints))
        pointers, scalars = [], b""
        for value, origin, argument in zip(arguments, origins, self.plan.arguments, strict=True):
            if argument.kind == "field":
                ahead = sum(s * n for s, n in zip(value.strides, origin, strict=True))
                pointers.append(value.ctypes.data - ahead)
            else:
                scalars += np.asarray(value, argument.dtype).tobytes().ljust(8, b"\0")
        size = evaluate(self.plan.workspace, arguments, origins, ints)
        arena = np.full(size + 64, 0xFF, np.uint8)
        aligned = -(-arena.ctypes.data // 64) * 64
        code = self.entry(
            (ctypes.c_void_p * max(1, len(pointers)))(*pointers),
            (ctypes.c_int64 * max(1, len(ints)))(*ints),
            ctypes.c_char_p(scalars),
            ctypes.c_void_p(aligned),
            None,
        )
        assert code == 0
