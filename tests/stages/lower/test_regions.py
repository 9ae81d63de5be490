from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from fieldforge.stages.ir.bounds import Const, ScalarSymbol, evaluate
from fieldforge.stages.lower import regions

from .trees import I, J

n, m = ScalarSymbol("n"), ScalarSymbol("m")

REGIONS = st.recursive(
    st.builds(
        regions.inside,
        st.sampled_from([I, J]),
        st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]),
        st.sampled_from([n, m]) | st.integers(-2, 4).map(Const),
    ),
    lambda inner: st.builds(
        lambda combine, left, right: combine(left, right),
        st.sampled_from([regions.both, regions.either, regions.without]),
        inner,
        inner,
    ),
    max_leaves=3,
)


def holds(box, point, at):
    return all(
        (side.start is None or evaluate(side.start, at) <= point[side.dim])
        and (side.stop is None or point[side.dim] < evaluate(side.stop, at))
        for side in box
    )


def count(region, point, at):
    return sum(holds(box, point, at) for box in region)


numbers = st.integers(-3, 5)


@settings(max_examples=60, deadline=None)
@given(REGIONS, REGIONS, numbers, numbers, numbers, numbers)
def test_regions_mean_what_sets_of_points_do(left, right, i, j, first, second):
    at, point = {n: first, m: second}.__getitem__, {I: i, J: j}
    ours, theirs = count(left, point, at) > 0, count(right, point, at) > 0

    assert count(regions.both(left, right), point, at) == (ours and theirs)
    assert count(regions.either(left, right), point, at) == (ours or theirs)
    assert count(regions.without(left, right), point, at) == (ours and not theirs)
    assert count(regions.without(regions.EVERYWHERE, left), point, at) == (not ours)


def test_an_index_that_is_not_one_number_lies_in_two_boxes():
    below, above = regions.inside(I, "ne", n)

    assert [str(side.stop) for side in below] == ["n"]
    assert [str(side.start) for side in above] == ["n + 1"]


def test_boxes_that_are_surely_empty_are_left_out():
    low, high = regions.inside(I, "lt", n), regions.inside(I, "ge", n)

    assert regions.both(low, high) == ()
    assert regions.without(low, low) == ()
