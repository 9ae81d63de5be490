"""Checks in generated code: what is tested, and which store is told of."""

import re

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float32, float64, int32
from fieldforge.runtime.calls.program_errors import NotFiniteError

from ....dimensions import I, J, K, Levels, Plane

Wide = Field[Dims[I, J], float32]
Whole = Field[Dims[I, J], int32]

CHECKED = ff.cpu.with_options(checked=True, parallel_from=1)


@ff.field_operator
def several(a: Plane, b: Wide) -> tuple[Plane, Wide, Whole]:
    return 1.0 / a, float32(1.0) / b, ff.astype(a, int32)


@ff.program(backend=CHECKED)
def write_several(a: Plane, b: Wide, x: Plane, y: Wide, n: Whole):
    several(a, b, out=(x, y, n))


@ff.field_operator
def inverse(a: Plane) -> Plane:
    return 1.0 / a


@ff.program(backend=CHECKED)
def two_statements(a: Plane, b: Plane, x: Plane, y: Plane):
    inverse(a, out=y)
    inverse(b, out=x)


@ff.scan_operator(axis=K, forward=True, init=1.0)
def product(above: float64, a: float64) -> float64:
    return above * a


@ff.program(backend=CHECKED)
def walk(a: Levels, out: Levels):
    product(a, out=out)


def source(program) -> str:
    return program.trace(until="codegen")["codegen"].text


def planes(dtype=np.float64):
    return ff.full({I: 40, J: 50}, 1.0 if np.dtype(dtype).kind == "f" else 1, dtype=dtype)


def test_unchecked_code_tests_nothing() -> None:
    assert "note(" not in source(write_several.with_backend(ff.cpu))


def test_every_float_that_is_stored_to_a_field_is_gathered_and_integers_are_not() -> None:
    text = source(write_several)

    stores = re.findall(r"^ *\S+ = v\d+; e(\d) \|= exponent_(f\d\d)", text, flags=re.MULTILINE)
    assert set(stores) == {("0", "f64"), ("1", "f32")}
    assert "simd reduction(|:e0, e1)" in text
    assert text.count("note(found, ") == 2


def test_arrays_of_our_own_are_not_tested() -> None:
    text = source(walk)

    assert "slot0" in text
    assert re.findall(r"u64 e(\d) = 0;", text) == ["0"]


def test_a_finite_call_returns_nothing() -> None:
    outputs = planes(), planes(np.float32), planes(np.int32)

    write_several(planes(), planes(np.float32), *outputs)

    assert all((output.asnumpy() == 1).all() for output in outputs)


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_store_of_a_statement_is_told_of(threads) -> None:
    a, b = planes(), planes(np.float32)
    b.ndarray[0, 0] = 0.0
    told = []

    for value in (1.0, 0.0):
        a.ndarray[39, 49] = value
        with ff.threads(threads), pytest.raises(NotFiniteError) as caught:
            write_several(a, b, planes(), planes(np.float32), planes(np.int32))
        told.append(caught.value.output)

    assert told == ["y", "x"]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_statement_is_told_of(threads) -> None:
    bad = planes()
    bad.ndarray[39, 49] = 0.0

    for (a, b), output in (((bad, bad), "y"), ((planes(), bad), "x")):
        with ff.threads(threads), pytest.raises(NotFiniteError, match=f"to '{output}'"):
            two_statements(a, b, planes(), planes())


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_all_that_is_not_finite_is_found_at_every_lane(value) -> None:
    for place in range(50):
        a = planes()
        a.ndarray[place % 40, place] = value

        with pytest.raises(NotFiniteError):
            copy(a, planes())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_largest_and_the_smallest_numbers_are_finite(dtype) -> None:
    limits = np.finfo(dtype)
    numbers = [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 0.0, -0.0]
    a = ff.as_field([I], np.array(numbers * 5, dtype))

    move[dtype](a, ff.zeros({I: 30}, dtype=dtype))


@ff.field_operator
def same(a: Plane) -> Plane:
    return a


@ff.program(backend=CHECKED)
def copy(a: Plane, out: Plane):
    same(a, out=out)


@ff.field_operator
def same_line(a: Field[Dims[I], float64]) -> Field[Dims[I], float64]:
    return a


@ff.field_operator
def same_short_line(a: Field[Dims[I], float32]) -> Field[Dims[I], float32]:
    return a


@ff.program(backend=CHECKED)
def copy_line(a: Field[Dims[I], float64], out: Field[Dims[I], float64]):
    same_line(a, out=out)


@ff.program(backend=CHECKED)
def copy_short_line(a: Field[Dims[I], float32], out: Field[Dims[I], float32]):
    same_short_line(a, out=out)


move = {np.float64: copy_line, np.float32: copy_short_line}
