"""Each instruction has the values of the table of operations, on any length and place."""

from typing import Any

import numpy as np
import pytest

from fieldforge.runtime import _core
from fieldforge.runtime.language import operations
from fieldforge.runtime.language.operations import BY_NAME
from fieldforge.stages.codegen.mathematics import _TEXTS

from ..codegen.programs import I, all_unit
from ..codegen.rows.test_operations import FLOATS, _agree, cases, one_statement_each, values
from .rows import Runner, guarded

CLASSES = _core.row_kernel_classes()
LENGTHS = (*range(1, 20), 31, 32, 33, 63, 64, 65, 79, 80, 127, 128, 129, 200)
OWN = 4  # ulps of our own functions


@pytest.mark.parametrize("kernels", CLASSES)
@pytest.mark.parametrize("numerics", ["strict", "contract"])
@pytest.mark.parametrize("dtype", ["bool", "int32", *FLOATS, "uint64", "int64", "int8", "uint16"])
def test_every_operation_has_the_values_of_the_language(dtype, numerics, kernels):
    every = [case for case in cases(dtype) if numerics == "strict" or case[0] not in ("sin", "cos")]
    lowered = one_statement_each(every)
    arguments: list[np.ndarray[Any, Any]] = []
    for _, result, dtypes in every:
        grid = np.meshgrid(*(values(name) for name in dtypes), indexing="ij")
        arguments += [np.ascontiguousarray(axis.ravel()) for axis in grid]
        arguments.append(np.zeros(grid[0].size, result))

    Runner(lowered, all_unit(lowered, I), kernels, numerics=numerics)(*arguments)

    rest = iter(arguments)
    for op, result, dtypes in every:
        inputs = [next(rest) for _ in dtypes]
        expected = operations.apply(op, *inputs, dtype=result if op == "cast" else None)
        ulps = max(BY_NAME[op].ulps, OWN * (BY_NAME[op].ulps > 0)) if result in FLOATS else 0
        wrong = ~_agree(next(rest), np.asarray(expected), ulps)
        assert not wrong.any(), (op, dtypes, result, [a[wrong][:3] for a in inputs])


@pytest.mark.parametrize("kernels", CLASSES)
@pytest.mark.parametrize("at_end", [True, False], ids=["page after", "page before"])
@pytest.mark.parametrize("dtype", FLOATS)
def test_rows_of_any_length_touch_nothing_beside_them(dtype, at_end, kernels):
    every = [case for case in cases(dtype) if BY_NAME[case[0]].ulps == 0]
    lowered = one_statement_each(every)
    runner = Runner(lowered, all_unit(lowered, I), kernels, numerics="strict")
    random = np.random.default_rng(0)

    for length in LENGTHS:
        arguments = [
            guarded(made, at_end=at_end)
            for _, result, dtypes in every
            for made in (
                *(random.normal(size=length).astype(name) for name in dtypes),
                np.zeros(length, result),
            )
        ]
        runner(*arguments)

        rest = iter(arguments)
        for op, result, dtypes in every:
            inputs = [next(rest) for _ in dtypes]
            expected = operations.apply(op, *inputs, dtype=result if op == "cast" else None)
            assert _agree(next(rest), np.asarray(expected), 0).all(), (op, dtypes, result, length)


def test_the_functions_are_those_of_the_code_generator():
    """The core has a copy of their text, so that it needs no generator when it is built."""
    from fieldforge.runtime import native

    folder = native.__path__[0]
    with open(f"{folder}/rows/mathematics.inc") as file:
        assert file.read() == "".join(f"{text}\n" for text, _ in _TEXTS.values())


def test_an_unknown_instruction_is_refused():
    with pytest.raises(ValueError, match=r"There is no instruction 'add.float16'"):
        _core.run_row_kernel("add.float16", CLASSES[0], 0, [], 0)
