"""Regions against sets of points: unions, intersections and complements of boxes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

from fieldforge.runtime.embedded.embedded import apply
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.regions import as_region, outside
from fieldforge.runtime.process.errors import ArgumentError

from ...dimensions import I, K

NEAR = range(-3, 8)

CONDITIONS = st.tuples(
    st.sampled_from([I, K]), st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]),
    st.integers(-1, 5), st.booleans(),
)  # fmt: skip
TREES = st.recursive(
    CONDITIONS, lambda t: st.tuples(st.sampled_from(["and", "or"]), t, t), max_leaves=6
)
MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


def region_of(tree):
    if tree[0] in ("and", "or"):
        return apply(tree[0], region_of(tree[1]), region_of(tree[2]))
    dim, op, bound, mirrored = tree
    number = np.int32(bound)
    return apply(MIRRORED[op], number, dim) if mirrored else apply(op, dim, number)


def mask_of(tree, i, k):
    if tree[0] in ("and", "or"):
        left, right = mask_of(tree[1], i, k), mask_of(tree[2], i, k)
        return left & right if tree[0] == "and" else left | right
    dim, op, bound, _ = tree
    index = i if dim is I else k
    return {
        "lt": index < bound, "le": index <= bound, "gt": index > bound,
        "ge": index >= bound, "eq": index == bound, "ne": index != bound,
    }[op]  # fmt: skip


@given(TREES)
def test_a_region_holds_the_points_of_its_condition_once_and_its_outside_the_others(tree):
    region = as_region(region_of(tree))
    rest = outside(region)

    for i, k in itertools.product(NEAR, NEAR):
        at = {I: i, K: k}
        hits = [
            sum(all(at[dim] in own for dim, own in box) for box in part.boxes)
            for part in (region, rest)
        ]
        assert hits == ([1, 0] if mask_of(tree, i, k) else [0, 1])


def test_neighbouring_ranges_are_joined():
    region = as_region(K < 2) | as_region(K == 2) | as_region(K > 5)

    assert str(region) == "(-inf:3) or (6:inf) along K"
    assert str(outside(region)) == "(3:6) along K"
    assert str(as_region(K < 0) & as_region(K > 0)) == "nowhere along K"


def test_a_domain_and_a_region_combine_from_either_side():
    region = as_region(K < 2)

    assert region | (K > 5) == (K > 5) | region
    assert region & (I > 5) == (I > 5) & region
    assert (region & (I > 5)).dims == (I, K)


def test_what_is_no_condition_on_indices_is_refused():
    with pytest.raises(ArgumentError, match="Expected a condition on a dimension"):
        as_region(True)
    with pytest.raises(ArgumentError, match="cannot be bounded along a local dimension"):
        as_region(Dimension("V2E", DimensionKind.LOCAL) < 2)
