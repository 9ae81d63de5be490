"""Transposed tables against dense transposes."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.runtime.process.device import Device, DeviceType

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

    back, slots = found["A2B_t"], found["A2B_s"]
    pairs = zip(back.asnumpy(), slots.asnumpy(), strict=True)
    lists = [[(int(t), int(k)) for t, k in zip(*row, strict=True) if t >= 0] for row in pairs]
    for s, each in enumerate(lists):
        assert each == [(int(t) + start, int(k)) for t, k in np.argwhere(dense[:, :, s])]
    assert not dense[:, :, len(lists) :].any()
    assert back.codomain is A
    assert slots.codomain is A2B
    assert (back.asnumpy() < 0).any() == (back.skip_value is not None)
    assert slots.asnumpy().min(initial=0) == 0
    assert slots.asnumpy().max(initial=0) < width


def test_tables_are_made_once_and_other_entries_stay():
    table = ff.as_connectivity([A, A2B], B, np.array([[0, 1]], np.int32))
    provider = {"A2B": table, "Koff": A}

    one, other = ff.transposed(provider), ff.transposed(ff.transposed(provider))

    assert list(one) == list(other) == ["A2B", "Koff", "A2B_t", "A2B_s"]
    assert one["A2B_t"] is other["A2B_t"]
    assert one["A2B_s"] is other["A2B_s"]
    assert one["Koff"] is A


def test_a_table_without_entries_has_an_empty_transpose():
    table = ff.as_connectivity([A, A2B], B, np.full((2, 1), -1, np.int32), skip_value=-1)

    assert ff.transposed({"A2B": table})["A2B_t"].shape == (0, 1)


def test_transposes_lie_where_the_table_lies():
    entries, place = np.array([[0, 1], [1, -1]], np.int32), Device(DeviceType.NULL)
    host = ff.as_connectivity([A, A2B], B, entries)
    there = ff.as_connectivity([A, A2B], B, entries, device=place)

    found, expected = ff.transposed({"A2B": there}), ff.transposed({"A2B": host})

    for name in ("A2B_t", "A2B_s"):
        assert found[name].device_type == DeviceType.NULL
        assert found[name].ndarray.get().tolist() == expected[name].asnumpy().tolist()
        assert found[name].__gt_type__() == expected[name].__gt_type__()
