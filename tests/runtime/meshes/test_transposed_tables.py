"""Transposed tables against dense transposes."""

import numpy as np
import pytest

import fieldforge as ff

A, B = ff.Dimension("A"), ff.Dimension("B")
A2B = ff.Dimension("A2B", ff.DimensionKind.LOCAL)


@pytest.mark.parametrize("seed", range(20))
def test_a_transposed_table_is_the_dense_transpose(seed):
    rng = np.random.default_rng(seed)
    rows, width, count = rng.integers(1, 8, 3)
    entries = rng.integers(-1 if seed % 2 else 0, count, (rows, width)).astype(np.int32)
    start = int(rng.integers(0, 3))
    domain = {A: (start, start + int(rows)), A2B: int(width)}
    table = ff.as_connectivity(domain, B, entries, skip_value=-1)
    dense = entries[:, :, None] == np.arange(count)

    found = ff.transposed({"A2B": table})

    for slot in range(width):
        each = found[f"A2B_t{slot}"]
        lists = [[int(x) for x in row if x >= 0] for row in each.asnumpy()]
        expected = [(np.flatnonzero(dense[:, slot, s]) + start).tolist() for s in range(len(lists))]
        assert lists == expected
        assert not dense[:, slot, len(lists) :].any()
        assert each.codomain is A


def test_tables_are_made_once_and_other_entries_stay():
    table = ff.as_connectivity([A, A2B], B, np.array([[0, 1]], np.int32))
    provider = {"A2B": table, "Koff": A}

    one, other = ff.transposed(provider), ff.transposed(provider)

    assert one["A2B_t0"] is other["A2B_t0"]
    assert one["Koff"] is A


def test_a_table_without_entries_has_an_empty_transpose():
    table = ff.as_connectivity([A, A2B], B, np.full((2, 1), -1, np.int32), skip_value=-1)

    assert ff.transposed({"A2B": table})["A2B_t0"].shape == (0, 1)
