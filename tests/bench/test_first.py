"""What `make bench-first` writes down of first results."""

from typing import Any

import pytest


def row(**changes: Any) -> dict[str, Any]:
    took = {"least": 0.1, "median": 0.2}
    return {
        "program": "nabla2", "size": "0k edges x 80", "dtype": "float64", "threads": 2,
        "taken": "2026-01-01", "load": 0.5, "start": {"least": 0.01, "median": 0.02},
        "numpy": {"least": 0.05, "median": 0.06}, "times": {"cold": took, "JAX, cold": took},
        "refused": {"Numba, cold": "No module named 'numba'"},
    } | changes  # fmt: skip


def test_a_row_has_least_and_median_and_the_ratio_to_numpy():
    import first
    from machine_tables import starts

    size, start, numpy, *cells = first.cells(row())

    assert tuple(first.WAYS) == starts.WAYS
    assert (size, start, numpy) == ("nabla2 0k edges x 80", "10, 20", "50, 60")
    assert dict(zip(first.WAYS, cells, strict=True)) == {
        "cold": "100, 200 (2.00)", "cold, compiled": "–", "warm": "–",
        "JAX, cold": "100, 200 (2.00)", "JAX, warm": "–", "Numba, cold": "–", "Numba, warm": "–",
    }  # fmt: skip


def test_a_tool_without_an_environment_is_refused(tmp_path):
    import first

    run = first.functools.partial(first._run, first.WAYS["cold"], tmp_path / "python")

    with pytest.raises(OSError, match="python") as refusal:
        run(tmp_path / "case.npy", tmp_path)
    assert "make bench-others" in first._reason(refusal.value)
