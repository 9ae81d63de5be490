"""Neighbour tables in compiled code: gathers, reductions, sparse fields, missing neighbours."""

from typing import Any

import numpy as np
import pytest

from fieldforge.runtime.process.errors import DomainError
from fieldforge.stages.ir.bounds import Const, Range
from fieldforge.stages.lower.graph import Graph

from .grids import (
    C2E,
    E2C,
    V2E,
    V2E_DIM,
    At,
    C,
    E,
    K,
    Native,
    V,
    make,
    random_table,
    table_of,
    units,
)
from .programs import REAL, whole

pytestmark = pytest.mark.needs_compiler
RNG = np.random.default_rng(11)
NC, NE, NV, NK = 40, 60, 25, 7
C2E_, E2C_, V2E_ = (
    random_table(C2E, NC, NE, RNG),
    random_table(E2C, NE, NC, RNG),
    random_table(V2E, NV, NE, RNG),
)
DTYPES = (
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64",
)  # fmt: skip

SOME = ("uint8", "int32", "float64")  # the other types run in `make test-all`


def numbers(dtype: str, *shape: int) -> np.ndarray[Any, Any]:
    if dtype.startswith("float"):
        return (RNG.standard_normal(shape) * 100).astype(dtype)
    limits = np.iinfo(dtype)
    return RNG.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)


def reduced(op: str, slots: list[Any], valid: np.ndarray[Any, Any], dtype: str) -> Any:
    """Combine slots in order as NumPy does."""
    limits = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
    first = {"sum": 0, "max": limits.min, "min": limits.max}[op]
    total = np.full(slots[0].shape, first, dtype)
    combine = {"sum": np.add, "max": np.maximum, "min": np.minimum}[op]
    for k, slot in enumerate(slots):
        with np.errstate(all="ignore"):
            total = np.where(valid[:, k, None], combine(total, slot), total)
    return total


@pytest.mark.parametrize(
    "dtype",
    [
        dtype if dtype in SOME else pytest.param(dtype, marks=pytest.mark.in_full)
        for dtype in DTYPES
    ],
)
@pytest.mark.parametrize("op", ["sum", "max", "min"])
def test_reductions_agree_bit_for_bit_with_numpy_in_every_type(op: str, dtype: str) -> None:
    graph = Graph()
    value = graph.reduce(op, graph.neighbours(graph.input("e", (E, K), dtype), V2E), V2E)
    fields = [("e", dtype, (E, K)), ("out", dtype, (V, K))]
    lowered = make(graph, fields, [("out", whole("out", (V, K)), value)])
    e, out = numbers(dtype, NE, NK), np.zeros((NV, NK), dtype)
    if dtype.startswith("float"):
        e[3, 2], e[5, 1], e[7] = np.nan, -0.0, np.inf

    Native(lowered, units(lowered, K))(e, out, V2E=table_of(V2E, V2E_))

    expected = reduced(op, [e[V2E_[:, k]] for k in range(6)], V2E_ >= 0, dtype)
    np.testing.assert_array_equal(out, expected)
    assert out.tobytes() == expected.astype(dtype).tobytes() or np.isnan(out).any()


def test_a_table_is_read_once_for_a_row_of_levels() -> None:
    graph = Graph()
    value = graph.gather(graph.input("e", (E, K), REAL), C2E, 2)
    fields = [("e", REAL, (E, K)), ("out", REAL, (C, K))]
    lowered = make(graph, fields, [("out", whole("out", (C, K)), value)])
    loops = Native(lowered, units(lowered, K), stream_from=0, prefetch=False).loops
    assert loops[loops.index("      parallel C") :] == (
        "      parallel C: start(out, C) .. stop(out, C)\n"
        '        %0 int32 load "table C2E"[0, 2]\n'
        "        vector K: start(out, K) .. stop(out, K)\n"
        "          %1 float64 load e[%0, 0]\n"
        "          %2 float64 store out %1\n"
    )


def two_steps(op: str = "sum") -> tuple[Graph, int]:
    graph = Graph()
    c = graph.input("c", (C, K), REAL)
    inner = graph.reduce(op, graph.neighbours(c, E2C), E2C)
    return graph, graph.reduce(op, graph.neighbours(graph.map("mul", (inner, inner)), V2E), V2E)


@pytest.mark.parametrize(
    ("options", "nests"),
    [
        ({"inline": ("%2", "%3")}, 1),
        ({"inline": ("%3",), "arrays": ("%2",)}, 2),
        ({"arrays": ("%2", "%3")}, 3),
    ],
)
def test_a_reduction_of_reductions_in_place_or_through_arrays(
    options: dict[str, Any], nests: int
) -> None:
    graph, value = two_steps()
    fields = [("c", REAL, (C, K)), ("out", REAL, (V, K))]
    lowered = make(graph, fields, [("out", whole("out", (V, K)), value)])
    c, out = numbers(REAL, NC, NK), np.zeros((NV, NK))
    runner = Native(lowered, units(lowered, K), parallel_from=1, **options)

    runner(c, out, E2C=table_of(E2C, E2C_), V2E=table_of(V2E, V2E_))

    inner = reduced("sum", [c[E2C_[:, k]] for k in range(2)], E2C_ >= 0, REAL)
    square = inner * inner
    expected = reduced("sum", [square[V2E_[:, k]] for k in range(6)], V2E_ >= 0, REAL)
    np.testing.assert_array_equal(out, expected)
    assert runner.loops.count("nest ") == nests


def test_an_array_of_neighbours_is_as_large_as_the_table_says() -> None:
    graph, value = two_steps()
    fields = [("c", REAL, (C, K)), ("out", REAL, (V, K))]
    box = (Range(V, Const(3), Const(5)), Range(K, Const(0), Const(2)))
    lowered = make(graph, fields, [("out", box, value)])
    runner = Native(lowered, arrays=("%3",))
    few = np.full((NV, 6), -1)
    few[3:5, 0] = 50, 52
    pair = np.full((NE, 2), -1)
    pair[50:53, 1] = 7, 9, 8
    c, out = numbers(REAL, 3, NK), np.zeros((NV, NK))

    runner(At(c, (7, 0)), out, E2C=table_of(E2C, pair), V2E=table_of(V2E, few))

    np.testing.assert_array_equal(out[3:5, :2], (c[[0, 1]] * c[[0, 1]])[:, :2])


@pytest.mark.parametrize("skip", [False, True])
def test_an_input_that_lacks_a_neighbour_is_refused_with_the_range(skip: bool) -> None:
    table, entries = (E2C, [[4, -1], [2, 3]]) if skip else (C2E, [[4, 2, 3], [2, 3, 3]])
    source, target = table.source, table.target
    graph = Graph()
    value = graph.reduce("sum", graph.neighbours(graph.input("u", (source,), REAL), table), table)
    fields = [("u", REAL, (source,)), ("out", REAL, (target,))]
    lowered = make(graph, fields, [("out", whole("out", (target,)), value)])
    runner, out = Native(lowered), np.zeros(2)
    provider = {table.name: table_of(table, entries)}

    runner(At(np.ones(3), (2,)), out, **provider)
    with pytest.raises(DomainError, match=f"along '{source.value}' the program reads 2:5, but 'u'"):
        runner(At(np.ones(2), (2,)), out, **provider)
    with pytest.raises(DomainError, match=f"Table '{table.name}' is too small"):
        runner(At(np.ones(3), (2,)), np.zeros(3), **provider)


def test_a_missing_neighbour_reads_nothing_from_outside() -> None:
    graph = Graph()
    value = graph.gather(graph.input("c", (C,), REAL), E2C, 0)
    fields = [("c", REAL, (C,)), ("out", REAL, (E,))]
    lowered = make(graph, fields, [("out", whole("out", (E,)), value)])
    memory = np.full(30, np.nan)
    memory[10:13] = 5.0
    out = np.zeros(4)

    entries = [[21, 20], [-1, 22], [20, 20], [-1, -1]]
    Native(lowered)(At(memory[10:13], (20,)), out, E2C=table_of(E2C, entries))

    np.testing.assert_array_equal(out, np.full(4, 5.0))


def test_a_field_that_is_gathered_is_updated_in_place_from_its_old_values() -> None:
    graph = Graph()
    e = graph.input("e", (E, K), REAL)
    mean = graph.reduce("sum", graph.neighbours(graph.gather(e, C2E, 0), E2C), E2C)
    value = graph.map("add", (mean, e))
    lowered = make(graph, [("e", REAL, (E, K))], [("e", whole("e", (E, K)), value)])
    e_ = numbers(REAL, NE, NK)
    old = e_.copy()

    runner = Native(lowered, units(lowered, K), parallel_from=1)
    runner(e_, C2E=table_of(C2E, C2E_), E2C=table_of(E2C, E2C_))

    inner = old[C2E_[:, 0]]
    slots = [inner[E2C_[:, k]] for k in range(2)]
    np.testing.assert_array_equal(e_, reduced("sum", slots, E2C_ >= 0, REAL) + old)


def test_an_output_may_be_the_memory_of_a_gathered_input() -> None:
    graph = Graph()
    c = graph.input("c", (C, K), REAL)
    around = graph.reduce("sum", graph.neighbours(graph.gather(c, E2C, 0), C2E), C2E)
    fields = [("c", REAL, (C, K)), ("out", REAL, (C, K))]
    lowered = make(graph, fields, [("out", whole("out", (C, K)), around)])
    c_, expected = numbers(REAL, NC, NK), np.zeros((NC, NK))
    runner = Native(lowered, units(lowered, K), parallel_from=1)
    whole_ = np.where(E2C_ < 0, 3, E2C_)
    tables = {"C2E": table_of(C2E, C2E_), "E2C": table_of(E2C, whole_)}

    runner(c_, expected, **tables)
    runner(c_, c_, **tables)

    np.testing.assert_array_equal(c_, expected)


def test_a_horizontal_displacement_is_moved_inside_the_input() -> None:
    graph = Graph()
    u = graph.input("u", (C, K), REAL)
    value = graph.displace(u, K, graph.input("by", (C, K), "int32"))
    fields = [("u", REAL, (C, K)), ("by", "int32", (C, K)), ("out", REAL, (C, K))]
    lowered = make(graph, fields, [("out", whole("out", (C, K)), value)])
    u_, by = numbers(REAL, 6, 9), RNG.integers(-12, 12, (6, 5)).astype("int32")
    out = np.zeros((6, 5))
    runner = Native(lowered, units(lowered, K))

    runner(At(u_, (0, -2)), by, out)
    with pytest.raises(DomainError, match="Field 'u' is too small: along 'K'"):
        runner(At(u_[:, :0], (0, -2)), by, out)

    place = np.clip(np.arange(5) + by, -2, 6) + 2
    np.testing.assert_array_equal(out, np.take_along_axis(u_, place, 1))


def test_a_sparse_field_of_another_origin_is_refused() -> None:
    graph = Graph()
    value = graph.local(graph.input("w", (V, V2E_DIM), REAL), V2E_DIM, 4)
    fields = [("w", REAL, (V, V2E_DIM)), ("out", REAL, (V,))]
    lowered = make(graph, fields, [("out", whole("out", (V,)), value)])
    out = np.zeros(2)
    with pytest.raises(DomainError, match="along 'V2E' the program reads 4:5, but 'w' covers 0:3"):
        Native(lowered)(np.zeros((2, 3)), out)
