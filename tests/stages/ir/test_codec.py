"""Canonical bytes: values come back, equal ones are equal bytes, damage is a `ValueError`."""

# ruff: noqa: E501 - a row of a table is one damage
import contextlib
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.types import FieldType, ScalarType, TupleType
from fieldforge.stages.ir.codec import decode, encode

K = Dimension("K", DimensionKind.VERTICAL)
FLOAT = ScalarType("float64")

atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
    st.binary(),
    st.sampled_from([K, FLOAT, FieldType((K,), FLOAT)]),
)
values = st.recursive(atoms, lambda inner: st.lists(inner, max_size=4).map(tuple), max_leaves=20)


def same(left, right):
    """Equality that tells 1 from True and from 1.0, and 0.0 from -0.0."""
    if type(left) is not type(right):
        return False
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return (
        math.copysign(1, left) == math.copysign(1, right) and left == right
        if type(left) is float
        else left == right
    )


@settings(max_examples=200, deadline=None)
@given(values)
def test_what_was_encoded_comes_back(value):
    assert same(decode(encode(value)), value)


@settings(max_examples=100, deadline=None)
@given(values, values)
def test_equal_bytes_mean_equal_values(left, right):
    assert (encode(left) == encode(right)) == same(left, right)


def test_nan_comes_back():
    assert math.isnan(decode(encode(math.nan)))


def test_a_shared_part_is_written_once():
    part = ("a", ("b", FLOAT))
    copy = ("a", ("b", ScalarType("float64")))

    shared, unshared = encode((part, part)), encode((part, copy))

    assert shared == unshared
    assert shared.count(b'"types.ScalarType"') == 1


def test_depth_is_no_limit():
    deep = ()
    for _ in range(50_000):
        deep = (deep,)

    found = decode(encode(deep))

    depth = 0
    while found:
        (found,) = found
        depth += 1
    assert depth == 50_000


def test_a_value_without_canonical_bytes_is_refused():
    for value in (object(), [1], {1: 2}, np.float64(1), 1j, {1}):
        with pytest.raises(TypeError, match="Cannot encode"):
            encode((1, value))


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\xff\xfe", b"{}", b"[]", b"3", b"[3]", b"[[]]", b'["n"]', b'[["z", 1]]', b'[["i", 1.5]]',
        b'[["i", true]]', b'[["b", 1]]', b'[["f", "zz"]]', b'[["f", 1]]', b'[["s", 1]]',
        b'[["y", "0"]]', b'[["t", [0]]]', b'[["t", [-1]]]', b'[["t", 3]]', b'[["n"], ["t", [true]]]',
        b'[["d", "I", "sideways"]]', b'[["d", 1, "vertical"]]', b'[["d", "I"]]', b'[[["i"], 1]]',
        b'[["types.ScalarType", []]]', b'[["i", 1], ["types.ScalarType", [0]]]',
        b'[["s", "f"], ["types.Nothing", [0]]]', b'[["types.attrs", []]]', b'[["errors.Span", []]]', b'[["i", 1, 2]]', b'[["f", "0x1p99999"]]',
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_damaged_bytes_are_a_value_error(data):
    with pytest.raises(ValueError, match=r"."):
        decode(data)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_flipped_byte_is_a_value_error_or_another_value(data):
    good = encode((TupleType((FLOAT, FieldType((K,), FLOAT))), 1, 2.5, "text", b"xyz", None, True))
    position = data.draw(st.integers(0, len(good) - 1))
    byte = data.draw(st.integers(0, 255))
    bad = good[:position] + bytes([byte]) + good[position + 1 :]

    with contextlib.suppress(ValueError):
        decode(bad)
