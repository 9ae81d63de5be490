"""The programs that are measured have the bits of compiled code on the first tier."""

import sys
from pathlib import Path

import numpy as np
import pytest

from fieldforge.workflows.backends.backend import BACKENDS

sys.path.insert(0, str(Path(__file__).parents[3] / "bench"))
from cases import all_cases

SCALE = 0.05
CASES = all_cases()


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("numerics", "dtype"),
    [
        ("contract", "float64"),
        *(
            pytest.param(numerics, dtype, marks=pytest.mark.in_full)
            for numerics, dtype in [
                ("contract", "float32"),
                ("strict", "float64"),
                ("strict", "float32"),
            ]
        ),
    ],
)
@pytest.mark.parametrize("name", CASES)
def test_the_bits_are_those_of_compiled_code(name, dtype, numerics):
    found = {}
    for backend in ("cpu", "rows"):
        options = {"flags": ("-O0",)} if backend == "cpu" else {}
        case = CASES[name](dtype, SCALE)
        chosen = BACKENDS[backend].with_options(numerics=numerics, **options)
        case.program.with_backend(chosen)(**case.arguments, offset_provider=case.tables)
        found[backend] = [case.arguments[output].asnumpy() for output in case.outputs]

    for compiled, rows in zip(found["cpu"], found["rows"], strict=True):
        np.testing.assert_array_equal(rows, compiled)
