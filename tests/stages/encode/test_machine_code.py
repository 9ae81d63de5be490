"""Chains in machine code: with more values, conditions and rows than registers, and refused."""

import subprocess
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, abs, exp, tan, where  # noqa: A004
from fieldforge.runtime import _core
from fieldforge.workflows.backends.backend import BACKENDS

from ..codegen.programs import all_unit
from .rows import Runner, guarded

I = ff.Dimension("I")
Row = Field[Dims[I], ff.float64]
Narrow = Field[Dims[I], ff.float32]
LENGTHS = (1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 80, 129, 200, 1100)
CLASSES = _core.row_kernel_classes()


@ff.field_operator(backend=None)
def many_values(a: Row, b: Row):
    """Forty numbers wait for their use: more than there are registers."""
    x0, x1, x2, x3 = a * b, a + b, a - b, b - a
    y0, y1, y2, y3 = x0 * x1, x1 * x2, x2 * x3, x3 * x0
    z0, z1, z2, z3 = x0 + y1, x1 + y2, x2 + y3, x3 + y0
    u0, u1, u2, u3 = y0 - z1, y1 - z2, y2 - z3, y3 - z0
    v0, v1, v2, v3 = z0 * u1, z1 * u2, z2 * u3, z3 * u0
    w0, w1, w2, w3 = u0 + v1, u1 + v2, u2 + v3, u3 + v0
    p0, p1, p2, p3 = v0 - w1, v1 - w2, v2 - w3, v3 - w0
    q0, q1, q2, q3 = w0 * p1, w1 * p2, w2 * p3, w3 * p0
    first = (
        (x0 + y0 * z0) + (u0 + v0 * w0) + (p0 + q0) + (x1 - y1 * z1) + (u1 - v1 * w1) + (p1 - q1)
    )
    second = (
        (x2 * y2 - z2) + (u2 * v2 - w2) + (p2 * q2) + (x3 * y3 + z3) + (u3 * v3 + w3) + (p3 * q3)
    )
    third = (q0 * x0 + p0 * y0 + w0 * z0) - (v0 * u0 + q1 * x1 + p1 * y1) + (w1 * z1 - v1 * u1)
    fourth = (q2 * x2 + p2 * y2 + w2 * z2) - (v2 * u2 + q3 * x3 + p3 * y3) + (w3 * z3 - v3 * u3)
    return first + fourth, second - third


@ff.field_operator(backend=None)
def many_conditions(a: Row, b: Row):
    """Eight conditions hold or not while others are found."""
    c0, c1, c2, c3 = a < b, a <= 0.0, b > 0.5, a >= b * 0.5
    c4, c5, c6, c7 = a == 0.0, b != 0.0, a * b < 0.1, a + b > 1.0
    first = where(c0, a, b) + where(c1, b, 1.0) + where(c2, a * b, a) + where(c3, 2.0, b)
    second = where(c4, a, first) - where(c5, b, a) - where(c6, first, 3.0) - where(c7, a, b)
    return first + where(c0, second, a), second * where(c3, a, first) + where(c7, first, second)


@ff.field_operator(backend=None)
def many_numbers(a: Row, b: Row):
    """Thirteen constants, more than stay in registers."""
    first = a * 0.1 + b * 0.2 - (a * 0.3 + b * 0.4) * (a * 0.5 - b * 0.6)
    second = (a + 0.7) * (b - 0.8) + (a - 0.9) * (b + 1.1) - (a + 1.2) * 1.3 + b * 1.4
    return first + second * 0.1, second - first * 0.2


@ff.field_operator(backend=None)
def many_rows(
    a: Row, b: Row, c: Row, d: Row, e: Row, f: Row, g: Row, h: Row, i: Row, j: Row, k: Row, m: Row
):
    """Twelve rows, more than there are registers for pointers."""
    return a * b + c * d + e * f, (g - h) * (i - j) + k * m, a * m - f * g


@ff.field_operator(backend=None)
def kept_conditions(
    a: Row, b: Row, c: Row, d: Row, e: Row, f: Row, g: Row, h: Row, i: Row, j: Row, k: Row, m: Row
):
    """Conditions wait in memory while functions are called; twelve rows take all pointers."""
    first, second = a * b + g * h < c * d - e * f, i * j + a * c >= g - h
    inner = exp(where(first, i + m, j - k)) + tan(where(second & first, k * j, m + b))
    outer = where(first, inner, e * h) + where(second, f, inner * g)
    return outer, where(first, exp(outer * 0.01), inner), where(second, inner, outer)


@ff.field_operator(backend=None)
def narrow(a: Narrow, b: Narrow, c: Narrow):
    small = where(a < b, a, c) * ff.float32(0.5)
    return small + a * b, where(small > c, small, -b) - (a - c) * (b + c), abs(a - b)


@ff.field_operator(backend=None)
def many_conditions_and_signs(a: Row, b: Row):
    """More conditions than masks, and products whose sign a multiply-add changes."""
    c0, c1, c2, c3 = a < b, a <= 0.0, b > 0.5, a >= b * 0.5
    c4, c5, c6, c7 = a == 0.0, b != 0.0, a * b < 0.1, a + b > 1.0
    first = where(c0, b - a * b, where(c1, a, where(c2, b * b - a, where(c3, b, 1.0))))
    second = where(c4, a, where(c5, a - b * b, where(c6, b, where(c7, a, 2.0))))
    third = where(c0, second, where(c2, first, where(c4, a, where(c6, b, where(c7, a, b)))))
    fourth = where(c1, second, where(c3, first, where(c5, a, b)))
    return second - first * third, first - second * fourth


# The inputs and outputs of each operator.
CASES = {
    many_values: ("ab", 2),
    many_conditions: ("ab", 2),
    many_numbers: ("ab", 2),
    many_rows: ("abcdefghijkm", 3),
    kept_conditions: ("abcdefghijkm", 3),
    narrow: ("abc", 3),
}


# Embedded execution, but for functions: NumPy has its own where processors have AVX-512.
MEANT = dict.fromkeys(CASES) | {
    kept_conditions: ff.cpu.with_options(numerics="strict", tiers="compiled")
}


@pytest.mark.needs_compiler
@pytest.mark.parametrize("kernels", CLASSES)
@pytest.mark.parametrize("at_end", [True, False], ids=["page after", "page before"])
@pytest.mark.parametrize("operator", CASES)
def test_chains_give_the_bits_of_other_executions(operator, at_end, kernels):
    backend = BACKENDS["rows"].with_options(numerics="strict")
    traced = operator.with_backend(backend).trace(**arguments(operator, 9))
    lowered = traced["lower"].artifact
    runner = Runner(lowered, all_unit(lowered, I), kernels, numerics="strict")
    for length in LENGTHS:
        given = arguments(operator, length)
        operator.with_backend(MEANT[operator])(**given)
        inputs = [guarded(given[name].asnumpy(), at_end=at_end) for name in CASES[operator][0]]
        expected = [each.asnumpy() for each in given["out"]]
        made = [guarded(np.zeros_like(each), at_end=at_end) for each in expected]

        runner.program(*map(view, inputs), tuple(map(view, made)))

        for one, other in zip(made, expected, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("kernels", CLASSES[:-1])
def test_multiply_adds_keep_their_signs_where_masks_run_out(kernels):
    given = {name: np.random.default_rng(ord(name)).normal(size=37) for name in "ab"}

    def outputs(kernels):
        fields = {name: ff.as_field({I: 37}, row) for name, row in given.items()}
        made = [np.zeros(37), np.zeros(37)]
        out = tuple(ff.as_field({I: 37}, np.zeros(37)) for _ in made)
        operator = many_conditions_and_signs.with_backend(BACKENDS["rows"])
        lowered = operator.trace(**fields, out=out)["lower"].artifact
        runner = Runner(lowered, all_unit(lowered, I), kernels)
        runner.program(*map(view, given.values()), tuple(map(view, made)))
        return np.stack(made).tobytes()

    assert outputs(kernels) == outputs("baseline")


def test_the_fastest_class_writes_code_where_it_may():
    flags = _flags()
    if "avx2" not in flags:
        pytest.skip("needs a processor with AVX2")
    assert CLASSES[0].endswith("with code")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a request of Linux")
def test_where_memory_must_not_become_executable_chains_are_links():
    refuses = 65, 1  # PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN: Linux 6.3
    text = f"""
        import ctypes
        if ctypes.CDLL(None).prctl({refuses[0]}, {refuses[1]}, 0, 0, 0) != 0:
            print("unknown")
        else:
            from fieldforge.runtime import _core
            print(_core.row_kernel_classes())
    """
    run = [sys.executable, "-c", textwrap.dedent(text)]
    found = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    if found.strip() == "unknown":
        pytest.skip("this Linux knows no such request")
    assert "baseline" in found
    assert "with code" not in found


def arguments(operator: Any, length: int) -> dict[str, Any]:
    """Return rows of numbers and outputs."""
    names, outputs = CASES[operator]
    dtype = np.float32 if operator is narrow else np.float64
    random = np.random.default_rng(length)
    rows = {name: random.normal(size=length).round(1).astype(dtype) for name in names}
    return {
        **{name: ff.as_field({I: length}, row) for name, row in rows.items()},
        "out": tuple(ff.as_field({I: length}, np.zeros(length, dtype)) for _ in range(outputs)),
    }


def view(row: np.ndarray[Any, Any]) -> Any:
    """Return a row as a field whose indices begin at 0."""
    return _core.FieldView(row, (I,), (0,))


def _flags() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            return file.read()
    except OSError:
        return ""
