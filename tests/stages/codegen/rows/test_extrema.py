import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.language import operations
from fieldforge.stages import Generated, Lowered, Target
from fieldforge.stages.codegen.cpu.stage import Codegen
from fieldforge.stages.lower.graph import Graph

from ..programs import REAL, I, J, Runner, all_unit, make_program, whole

Plane = ff.Field[ff.Dims[I, J], ff.float64]


@ff.field_operator
def of_four(a: Plane, b: Plane, c: Plane, d: Plane) -> tuple[Plane, Plane]:
    top = ff.maximum(ff.maximum(a, b), ff.maximum(c, d))
    return top, ff.minimum(ff.minimum(a, b), ff.minimum(c, d))


@ff.program
def largest_and_smallest(a: Plane, b: Plane, c: Plane, d: Plane, largest: Plane, smallest: Plane):
    of_four(a, b, c, d, out=(largest, smallest))


@ff.field_operator
def of_six(a: Plane, b: Plane, c: Plane, d: Plane, e: Plane, f: Plane) -> tuple[Plane, Plane]:
    top = ff.maximum(ff.maximum(ff.maximum(a, b), ff.maximum(c, d)), ff.maximum(e, f))
    return top, ff.minimum(ff.minimum(ff.minimum(a, b), ff.minimum(c, d)), ff.minimum(e, f))


@ff.program
def of_more(
    a: Plane, b: Plane, c: Plane, d: Plane, e: Plane, f: Plane, largest: Plane, smallest: Plane
):
    of_six(a, b, c, d, e, f, out=(largest, smallest))


def largest_of_five() -> Lowered:
    """Return the largest of five points of the larger of two fields, a tree of maxima."""
    graph, dims = Graph(), (I, J)
    larger = graph.map("maximum", [graph.input(name, dims, REAL) for name in ("u", "w")])
    pairs = [graph.map("maximum", [graph.shift(larger, dim, n) for n in (1, -1)]) for dim in (I, J)]
    top = graph.map("maximum", [graph.map("maximum", pairs), larger])
    fields = [(name, REAL, dims) for name in ("u", "w", "out")]
    return make_program("largest", graph, fields, [("out", whole("out", dims), top)])


def generated(lowered: Lowered) -> Generated:
    outputs = Codegen(target=Target(isa="x86-64-v3")).run(
        lowered=lowered, variant=all_unit(lowered, I)
    )
    result = outputs["generated"]
    assert isinstance(result, Generated)
    return result


@pytest.mark.needs_compiler
def test_loops_of_nested_extrema_are_vectorised(tmp_path: Path) -> None:
    version = subprocess.run(["c++", "-dumpversion"], capture_output=True, text=True, check=True)
    about = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True)
    if "Free Software Foundation" not in about.stdout or os.uname().machine != "x86_64":
        pytest.skip("the report is one of GCC for x86-64")
    if int(version.stdout.partition(".")[0]) < 12:
        pytest.skip("GCC vectorises nested extrema from version 12 on")
    made = generated(largest_of_five())
    path = tmp_path / "largest.cpp"
    path.write_text(made.source)
    command = ["c++", *made.flags, "-fopt-info-vec-optimized", str(path), "-o", f"{tmp_path}/o"]
    report = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    loops = {int(line) for line in re.findall(r"largest.cpp:(\d+):\d+:.* loop vectorized", report)}
    marked = [n for n, line in enumerate(made.source.splitlines(), 1) if "pragma omp simd" in line]
    assert marked
    assert all(loops & {line + 1, line + 2} for line in marked)


def spread(backend):
    """Return the program of the largest and the smallest of four fields."""
    return largest_and_smallest.with_backend(backend)


def spread_of_six(backend):
    """Return the program of the largest and the smallest of six fields."""
    return of_more.with_backend(backend)


def test_a_tree_of_extrema_is_tested_for_nan_once() -> None:
    text = spread(ff.cpu).trace(until="codegen")["codegen"].text
    assert "number_f64(__builtin_isunordered(" in text
    assert "a != a" not in text


def test_a_gpu_tests_larger_trees_once() -> None:
    assert "unordered(" not in spread(ff.gpu_host).trace(until="codegen")["codegen"].text
    text = spread_of_six(ff.gpu_host).trace(until="codegen")["codegen"].text
    assert "number_f64(unordered(" in text
    assert "isunordered" not in text
    assert "WHOLE" not in text


@pytest.mark.needs_compiler
@pytest.mark.parametrize("odd", [np.nan, -np.nan, np.inf, -np.inf, -0.0])
@pytest.mark.parametrize("backend", [ff.cpu, ff.gpu_host], ids=["cpu", "gpu-host"])
def test_large_trees_of_extrema_have_the_values_of_python(backend, odd: float) -> None:
    given = np.random.default_rng(3).normal(size=(6, 5, 37))
    for place, field in enumerate(given):
        field[place % 5 :: 5, place :: place + 2] = odd
        field[:, -3:] = 0.0
    found = []
    for each in (None, backend):
        fields = [ff.as_field((I, J), field, allocator=backend.allocator) for field in given]
        results = [ff.zeros(fields[0].domain, allocator=backend.allocator) for _ in range(2)]
        spread_of_six(each)(*fields, *results)
        found.append([result.asnumpy() for result in results])
    np.testing.assert_array_equal(*found)
    numbered = ~np.isnan(found[0])
    np.testing.assert_array_equal(*(np.signbit(each)[numbered] for each in found))


@pytest.mark.needs_compiler
@pytest.mark.parametrize("odd", [np.nan, -np.nan, np.inf, -np.inf, -0.0])
def test_trees_of_extrema_have_the_values_of_extrema_one_by_one(odd: float) -> None:
    numbers = np.random.default_rng(3)
    given = numbers.normal(size=(4, 5, 37))
    for place, field in enumerate(given):
        field[place::5, place :: place + 2] = odd
        field[:, -3:] = 0.0
    fields = [ff.as_field((I, J), field, allocator=ff.cpu) for field in given]
    results = [ff.zeros(fields[0].domain, allocator=ff.cpu) for _ in range(2)]
    spread(ff.cpu)(*fields, *results)
    for result, op in zip(results, ("maximum", "minimum"), strict=True):
        halves = [operations.apply(op, *pair) for pair in (given[:2], given[2:])]
        expected = operations.apply(op, *halves)
        np.testing.assert_array_equal(result.asnumpy(), expected)
        numbered = ~np.isnan(expected)
        signs = [np.signbit(each)[numbered] for each in (result.asnumpy(), expected)]
        np.testing.assert_array_equal(*signs)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("op", ["minimum", "maximum"])
@pytest.mark.parametrize("number", ["0.0", "-0.0", "-1.5", "inf", "nan"])
def test_extrema_with_a_number_have_the_values_of_the_language(op: str, number: str) -> None:
    graph = Graph()
    u, bound = graph.input("u", (I,), REAL), graph.literal(REAL, number)
    fields = [(name, REAL, (I,)) for name in ("u", "left", "right")]
    lowered = make_program(
        "bounded",
        graph,
        fields,
        [("left", whole("left", (I,)), graph.map(op, (u, bound)))],
        [("right", whole("right", (I,)), graph.map(op, (bound, u)))],
    )
    given = np.array([0.0, -0.0, 1.0, -1.5, -2.0, np.inf, -np.inf, np.nan])
    left, right = np.zeros_like(given), np.zeros_like(given)
    Runner(lowered, all_unit(lowered, I))(given, left, right)
    for result, operands in ((left, (given, float(number))), (right, (float(number), given))):
        expected = operations.apply(op, *(np.broadcast_to(each, given.shape) for each in operands))
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(np.signbit(result)[:-1], np.signbit(expected)[:-1])
