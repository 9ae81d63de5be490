from typing import Any

import numpy as np
import pytest

from fieldforge.runtime.language import operations
from fieldforge.runtime.language.operations import BY_NAME
from fieldforge.stages.artifacts import Lowered
from fieldforge.stages.codegen.rows.operations import literal
from fieldforge.stages.ir import dataflow
from fieldforge.stages.lower.graph import Graph

from ..programs import I, Runner, all_unit, make_program, whole

pytestmark = pytest.mark.needs_compiler

INTEGERS = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float32", "float64")
TARGETS = ("bool", *INTEGERS, *FLOATS)
Case = tuple[str, str, tuple[str, ...]]


def values(name: str) -> np.ndarray[Any, Any]:
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind == "f":
        special = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.7, -3.7, 7.0, -7.0, 0.1, 127.5]
        special += [np.inf, -np.inf, np.nan, 1e10, -1e10, float(np.finfo(dtype).max) / 2]
        special += [
            2147483647.5,
            -2147483648.5,
            9.3e18,
            -9.3e18,
            255.9,
            float(np.finfo(dtype).tiny) / 4,
        ]
        return np.concatenate([special, np.random.default_rng(0).normal(size=9) * 10]).astype(dtype)
    bounds = np.iinfo(dtype)
    wanted = [0, 1, 2, 3, 5, 7, -1, -2, -3, -7, 63, 64, 100]
    wanted += [bounds.min, bounds.min + 1, bounds.max - 1, bounds.max]
    return np.unique(np.array([n for n in wanted if bounds.min <= n <= bounds.max], dtype))


def cases(dtype: str) -> list[Case]:
    found: list[Case] = []
    for op, row in BY_NAME.items():
        targets = TARGETS if row.gives == "target" else ["bool" if row.gives == "bool" else dtype]
        operands = ("bool", dtype, dtype) if op == "select" else (dtype,) * row.arity
        if dtype in row.takes:
            found += [(op, target, operands) for target in targets]
    return found if dtype == "bool" else [*found, ("pow", dtype, (dtype, "int32"))]


def one_statement_each(every: list[Case]) -> Lowered:
    graph, fields, statements = Graph(), [], []
    for number, (op, result, dtypes) in enumerate(every):
        names = [f"a{number}_{place}" for place in range(len(dtypes))]
        fields += [(name, dtype, (I,)) for name, dtype in zip(names, dtypes, strict=True)]
        fields.append((f"out{number}", result, (I,)))
        args = [graph.input(name, (I,), dtype) for name, dtype in zip(names, dtypes, strict=True)]
        row = graph.add(dataflow.Map(op=op, args=tuple(args), dims=(I,), dtype=result))
        statements.append([(f"out{number}", whole(f"out{number}", (I,)), row)])
    return make_program("operations", graph, fields, *statements)


REST = [pytest.param(name, marks=pytest.mark.in_full) for name in ("int64", "int8", "uint16")]


@pytest.mark.parametrize("dtype", ["bool", "int32", *FLOATS, "uint64", *REST])
def test_every_operation_has_the_values_of_the_language(dtype: str) -> None:
    every = cases(dtype)
    lowered = one_statement_each(every)
    arguments: list[np.ndarray[Any, Any]] = []
    for _, result, dtypes in every:
        grid = np.meshgrid(*(values(name) for name in dtypes), indexing="ij")
        arguments += [np.ascontiguousarray(axis.ravel()) for axis in grid]
        arguments.append(np.zeros(grid[0].size, result))

    Runner(lowered, all_unit(lowered, I))(*arguments)

    rest = iter(arguments)
    for op, result, dtypes in every:
        inputs = [next(rest) for _ in dtypes]
        expected = operations.apply(op, *inputs, dtype=result if op == "cast" else None)
        ulps = BY_NAME[op].ulps if result in FLOATS else 0
        wrong = ~_agree(next(rest), np.asarray(expected), ulps)
        assert not wrong.any(), (op, dtypes, result, [a[wrong][:3] for a in inputs])


def _agree(
    given: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], ulps: int
) -> np.ndarray[Any, Any]:
    assert given.dtype == expected.dtype
    bits = f"u{given.itemsize}"
    same = given.view(bits) == expected.view(bits)
    if given.dtype.kind == "f":
        same |= np.isnan(given) & np.isnan(expected)
        if ulps:
            with np.errstate(all="ignore"):
                same |= np.abs(given - expected) <= ulps * np.spacing(np.abs(expected))
    return same


@pytest.mark.parametrize(
    ("text", "dtype", "written"),
    [
        ("0.1", "float64", "0x1.999999999999ap-4"),
        ("0.1", "float32", "0x1.99999ap-4f"),
        ("-2.5", "float64", "(-0x1.4p+1)"),
        ("nan", "float32", '__builtin_nanf("")'),
        ("-inf", "float64", "(-__builtin_inf())"),
        ("-9223372036854775808", "int64", "s64(-9223372036854775807 - 1)"),
        ("18446744073709551615", "uint64", "u64(18446744073709551615u)"),
        ("True", "bool", "true"),
    ],
)
def test_literals_are_exact(text: str, dtype: str, written: str) -> None:
    assert literal(text, dtype) == written
