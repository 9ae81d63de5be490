"""Rows that are computed block by block have the bits of rows that are computed at once."""

import numpy as np
import pytest

from fieldforge.examples import mesh_rows
from fieldforge.examples.mesh_rows import in_rows, sums


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 40, 45])
def test_blocks_of_rows_make_the_whole(monkeypatch, count):
    monkeypatch.setattr(mesh_rows, "BLOCK", 8)
    numbers = np.random.default_rng(1)
    a, b = numbers.random((count, 3)), numbers.random(count)

    def function(rows, column):
        return rows / np.linalg.norm(rows, axis=1, keepdims=True) * column[:, None]

    assert in_rows(function, a, b).tobytes() == function(a, b).tobytes()


def test_an_error_in_any_block_is_told(monkeypatch):
    monkeypatch.setattr(mesh_rows, "BLOCK", 8)

    def function(rows):
        if rows[0] >= 16:
            raise ValueError("mine")
        return rows

    with pytest.raises(ValueError, match="mine"):
        in_rows(function, np.arange(40))


def test_sums_add_in_the_order_of_the_values():
    numbers = np.random.default_rng(2)
    values, at = numbers.random((1000, 3)), numbers.integers(0, 7, 1000)
    expected = np.zeros((7, 3))
    np.add.at(expected, at, values)

    assert sums(values, at, 7).tobytes() == expected.tobytes()
    assert sums(values[:, 1], at, 7).tobytes() == expected[:, 1].tobytes()
