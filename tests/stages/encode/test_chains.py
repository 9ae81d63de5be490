"""Links that do several operations give the bits of compiled code, on rows of any length."""

from typing import Any, TypeVar

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, abs, maximum, minimum, sqrt, where  # noqa: A004
from fieldforge.runtime import _core
from fieldforge.workflows.backends.backend import BACKENDS

from ..codegen.programs import all_unit
from .rows import Runner

I = ff.Dimension("I")
T = TypeVar("T", ff.float32, ff.float64)
Row = Field[Dims[I], T]
LENGTHS = (1, 2, 7, 8, 9, 16, 17, 33, 63, 64, 65, 80, 100, 127, 128, 129, 200, 257, 1100)

pytestmark = pytest.mark.needs_compiler


@ff.field_operator(backend=None)
def signs(a: Row, b: Row, c: Row, d: Row):
    return -a * b + c, a * b - c, (-b) * a - c, d - a * b, -(a + b) * (c - d) + a


@ff.field_operator(backend=None)
def pairs(a: Row, b: Row, c: Row, d: Row):
    return (
        (a - b) * (c - d),
        (a + b) - (c - d),
        (a - b) / (c + d),
        (a + b) - (b - c) * T(0.5),
        sqrt(abs(a - b)) + (c + d),
    )


@ff.field_operator(backend=None)
def products(a: Row, b: Row, c: Row, d: Row):
    return (
        a * T(2.5) + b * T(1.5) + (c * T(0.5) + d * T(3.0)),
        (a * b + c * d) + (a * c + b * d) + (b * c + a * d),
        a * b + c * d,
        (a * b) * (c + d) + a * T(0.25),
    )


@ff.field_operator(backend=None)
def choices(a: Row, b: Row, c: Row, d: Row):
    change = a - b
    return (
        where(change * (c - d) > T(0.0), T(0.0), change),
        where(a < b, c, d),
        where(a + b >= c, a, b),
        where(c != T(0.0), maximum(maximum(a, b), minimum(c, d)), T(1.0)),
        minimum(maximum(a, b), minimum(d, maximum(c, a))),
    )


@pytest.mark.parametrize("operator", [signs, pairs, products, choices])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bits_are_those_of_compiled_code(operator, dtype):
    traced = operator.with_backend(BACKENDS["rows"]).trace(**arguments(operator, dtype, 9))
    lowered = traced["lower"].artifact
    variant = all_unit(lowered, I)
    compiled = operator.with_backend(ff.cpu.with_options(flags=("-O0",)))
    runners = [Runner(lowered, variant, kernels) for kernels in _core.row_kernel_classes()]
    for length in LENGTHS:
        given = arguments(operator, dtype, length)
        compiled(**given)
        expected = [each.asnumpy() for each in given["out"]]

        for run in runners:
            made = [np.zeros_like(each) for each in expected]
            run.program(*(view(given[name].asnumpy()) for name in "abcd"), tuple(map(view, made)))

            for one, other in zip(made, expected, strict=True):
                np.testing.assert_array_equal(one, other)
                np.testing.assert_array_equal(np.signbit(one), np.signbit(other))


def view(row: np.ndarray[Any, Any]) -> Any:
    """Return a row as a field whose indices begin at 0."""
    return _core.FieldView(row, (I,), (0,))


def arguments(operator: Any, dtype: str, length: int) -> dict[str, Any]:
    """Return rows of numbers, among them zeros of both signs, and outputs."""
    random = np.random.default_rng(length)
    rows = {name: random.normal(size=length).round(1).astype(dtype) for name in "abcd"}
    outputs = tuple(np.zeros(length, dtype) for _ in range(COUNTS[operator.__name__]))
    return {
        **{name: ff.as_field({I: length}, row) for name, row in rows.items()},
        "out": tuple(ff.as_field({I: length}, row) for row in outputs),
    }


COUNTS = {"signs": 5, "pairs": 5, "products": 4, "choices": 5}
