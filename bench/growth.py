"""Measure the growth with the problem: eight times the mesh, four times the operators."""

from __future__ import annotations

import linecache
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from cases import mesh, velocity
from cases.case import Case
from native import use_threads
from rich.console import Console
from timing import Effort, in_turns, timed

import fieldforge as ff
from fieldforge import Dims, Field, float64

I, J = ff.Dimension("I"), ff.Dimension("J")
# Of 192,000 edges x 80 levels: a field of edges has 123 MB and 983 MB.
SMALL, LARGE = 1.0, 8.0
FEW, MANY = 500, 2000
THREADS = 2


def measure(console: Console) -> list[dict[str, Any]]:
    """Return a row for each program on two meshes, and for two chains of operators."""
    return [*_meshes(console), *_chains(console)]


def _meshes(console: Console) -> Iterator[dict[str, Any]]:
    use_threads(THREADS)
    for make in (mesh.nabla2, mesh.nabla4, mesh.gradient, velocity.velocity_tendency):
        took = {}
        for scale in (SMALL, LARGE):
            case = make("float64", scale)
            console.print(f"{case.name}, {case.size}")
            call = timed(_bound(case))
            found = in_turns({"ours": call}, Effort(rounds=8), lambda *_: None)
            took[scale] = min(found["ours"].get_values())
            del case, call  # a gigabyte a field
        yield _row(f"{make.__name__}, {LARGE / SMALL:g} times the mesh", took[SMALL], took[LARGE])


def _bound(case: Case) -> Any:
    program: Any = case.program
    program = program.with_backend(ff.cpu)
    return partial(program, **case.arguments, offset_provider=case.tables)


def _chains(console: Console) -> Iterator[dict[str, Any]]:
    """Build chains of operators: parse, lower and codegen, which are our part of the build."""
    took = {}
    for count in (FEW, MANY):
        console.print(f"a chain of {count} operators")
        program = _chain(count).with_backend(ff.cpu)
        begin = time.perf_counter()
        program.trace(until="codegen")
        took[count] = time.perf_counter() - begin
    yield _row(f"{MANY // FEW} times the operators, to C++", took[FEW], took[MANY])


def _chain(count: int) -> Any:
    """Return a program whose operator has so many steps, with a shift in every fiftieth."""
    steps = [
        f"    f{n} = f{n - 1}{'(I + 1)' if n % 50 == 0 else ''} * 0.5 + b"
        for n in range(1, count + 1)
    ]
    plane = "Field[Dims[I, J], float64]"
    source = "\n".join(
        [
            "@ff.field_operator",
            f"def chain(a: {plane}, b: {plane}) -> {plane}:",
            "    f0 = a",
            *steps,
            f"    return f{count}",
            "@ff.program",
            f"def run(a: {plane}, b: {plane}, out: {plane}):",
            "    chain(a, b, out=out)",
        ]
    )
    name = f"<a chain of {count}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = {"I": I, "J": J, "Dims": Dims, "Field": Field, "float64": float64, "ff": ff}
    exec(compile(source, name, "exec"), names)
    return names["run"]


def _row(what: str, less: float, more: float) -> dict[str, Any]:
    return {"what": what, "ms": 1e3 * less, "of the larger, ms": 1e3 * more, "ratio": more / less}


if __name__ == "__main__":
    for row in measure(Console()):
        print(row)
