"""The cases that `make bench` measures on the mesh: every way, NumPy and kernels by hand agree."""

import importlib
from pathlib import Path

import numpy as np
import pytest

import fieldforge as ff

from .measured import assert_same, run

BENCH = Path(__file__).parents[2] / "bench"
CASES = [
    ("mesh", "nabla2"),
    ("mesh", "nabla4"),
    ("mesh", "gradient"),
    pytest.param("velocity", "velocity_tendency", marks=pytest.mark.in_full),
]
TINY = 0.004  # of the full number of edges


@pytest.fixture(params=["breadth-first", pytest.param("shuffled", marks=pytest.mark.in_full)])
def order(request):
    return request.param


@pytest.mark.needs_compiler
@pytest.mark.parametrize(("module", "name"), CASES)
def test_every_variant_has_the_bits_of_numpy(module, name, dtype, cpu, order, monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    case = getattr(importlib.import_module(f"cases.{module}"), name)(dtype, TINY, order)
    expected = case.in_numpy()

    for backend in (None, ff.reference, cpu):
        assert_same(run(case, backend), expected)
    assert len(case.by_hand) >= 5
    for variant, call in case.by_hand.items():
        for result in call().values():
            result[...] = np.nan
        for output, result in call().items():
            np.testing.assert_array_equal(result, expected[output], err_msg=f"{variant}: {output}")
