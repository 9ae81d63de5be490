"""Run a case of the benchmark in every way there is: embedded, compiled, in NumPy, by hand."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

import fieldforge as ff


def run(case: Any, backend: Any) -> Mapping[str, np.ndarray]:
    """Call the program on fresh outputs and return them as arrays."""
    fresh = {
        name: ff.full(case.arguments[name].domain, -7.0, case.dtype, allocator=ff.cpu)
        for name in case.outputs
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # embedded execution says that it is slow
        case.program.with_backend(backend and backend.with_options(numerics="strict"))(
            **{**case.arguments, **fresh}, offset_provider=case.tables
        )
    return {name: np.array(field.asnumpy()) for name, field in fresh.items()}


def assert_same(found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray]) -> None:
    """Hold every output against the expected one, bit for bit."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, err_msg=name)


def assert_close(
    found: Mapping[str, np.ndarray], expected: Mapping[str, np.ndarray], ulps: float
) -> None:
    """Hold every output against the expected one, to so many units of the type's precision."""
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        scale = float(np.max(np.abs(array)))
        tolerance = ulps * float(np.finfo(array.dtype).eps)
        np.testing.assert_allclose(
            found[name], array, rtol=tolerance, atol=tolerance * scale, err_msg=name
        )


def assert_all_agree(case: Any, dtype: str, cpu: Any) -> None:
    """Hold embedded and compiled execution and each kernel against NumPy, bit for bit."""
    expected = case.in_numpy()

    assert all(array.dtype == dtype and np.ptp(array) > 0.0 for array in expected.values())
    assert_same(run(case, None), expected)
    assert_same(run(case, cpu), expected)
    for by_hand in case.by_hand.values():
        assert_same(by_hand(), expected)
