"""Inner and outer boxes of statements: whatever they read and write, the order gives the same."""

import numpy as np
import pytest

from fieldforge.runtime.decomposition.cuts import Step, Touch, cut, is_empty, outside
from fieldforge.runtime.language.dimension import Dimension

I, J = Dimension("I"), Dimension("J")
N, HALO = 12, 3
OWNED = {I: (0, N), J: (0, N)}
FIELDS = ("a", "b", "c")


def reach(name, low, high):
    """Read from `low` before to `high` beyond each point, in both dimensions."""
    return Touch(name, lambda box: {d: (s + low, e + high) for d, (s, e) in box.items()})


def random_steps(rng):
    """Return statements that read up to two fields and write one, maybe in place."""
    steps = []
    for _ in range(rng.integers(1, 5)):
        box = {d: tuple(sorted(rng.integers(0, N + 1, 2).tolist())) for d in (I, J)}
        names = rng.choice(FIELDS, rng.integers(1, 3), replace=False)
        reads = [
            (name, int(rng.integers(-HALO, 1)), int(rng.integers(0, HALO + 1))) for name in names
        ]
        steps.append((box, reads, str(rng.choice(FIELDS))))
    return steps


def window(array, box, shift=0):
    (i0, i1), (j0, j1) = box[I], box[J]
    return array[i0 + HALO + shift : i1 + HALO + shift, j0 + HALO + shift : j1 + HALO + shift]


def run(fields, box, reads, target, number):
    """Write a sum of all points that are read; a NaN that is read is seen."""
    if is_empty(box):
        return
    total = number + sum(
        (1 + k) * window(fields[name], box, shift)
        for k, (name, low, high) in enumerate(reads)
        for shift in range(low, high + 1)
    )
    window(fields[target], box)[...] = np.sin(total)


@pytest.mark.parametrize("seed", range(300))
def test_both_halves_give_what_the_statements_give_in_turn(seed):
    rng = np.random.default_rng(seed)
    rows = random_steps(rng)
    start = {name: rng.normal(size=(N + 2 * HALO,) * 2) for name in FIELDS}
    inside = np.s_[HALO:-HALO, HALO:-HALO]
    leading = [(), (I,), (I, J)][seed % 3]
    steps = [
        Step(box, [reach(*read) for read in reads], [Touch(target, dict)], leading)
        for box, reads, target in rows
    ]

    cuts = cut(steps, {"a": outside(OWNED)})

    expected = {name: each.copy() for name, each in start.items()}
    for number, row in enumerate(rows):
        run(expected, *row, number)
    found = {name: each.copy() for name, each in start.items()}
    found["a"][...] = np.nan
    found["a"][inside] = start["a"][inside]
    for number, (each, (_, reads, target)) in enumerate(zip(cuts, rows, strict=True)):
        run(found, each.inner, reads, target, number)
    mine = found["a"][inside].copy()
    found["a"][...] = start["a"]  # the halo arrives
    found["a"][inside] = mine
    for number, (each, (_, reads, target)) in enumerate(zip(cuts, rows, strict=True)):
        for box in each.outer:
            run(found, box, reads, target, number)
    for name in FIELDS:
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("seed", range(50))
def test_inner_and_outer_boxes_cover_each_point_once(seed):
    rows = random_steps(np.random.default_rng(seed))
    steps = [Step(box, [reach(*r) for r in reads], [Touch(to, dict)]) for box, reads, to in rows]

    for step, each in zip(steps, cut(steps, {"a": outside(OWNED)}), strict=True):
        times = np.zeros((N + 2 * HALO,) * 2, int)
        for box in (each.inner, *each.outer):
            if not is_empty(box):
                window(times, box)[...] += 1
        expected = np.zeros_like(times)
        if not is_empty(step.box):
            window(expected, step.box)[...] = 1
        np.testing.assert_array_equal(times, expected)
        assert len(each.outer) == 4  # as many for every rank: the program is the same


CUTS = {
    "the inner box is as large as it can be": (
        [("a", -1, 2, "b"), ("b", 0, 1, "c")],
        [(1, N - 2), (1, N - 3)],
    ),
    # a step in time: b = f(a), then a = b; the points of a next to the border must wait
    "a field is not written where the second half still reads it": (
        [("a", -1, 1, "b"), ("b", 0, 0, "a")],
        [(1, N - 1), (2, N - 2)],
    ),
}


@pytest.mark.parametrize(("reads", "inner"), CUTS.values(), ids=CUTS)
def test_the_inner_boxes_of_two_steps(reads, inner):
    steps = [Step(OWNED, [reach(*each)], [Touch(to, dict)]) for *each, to in reads]

    found = cut(steps, {"a": outside(OWNED)})

    assert [each.inner for each in found] == [{I: box, J: box} for box in inner]


def test_a_statement_that_reads_around_the_points_that_it_writes_stays_whole():
    (only,) = cut([Step(OWNED, [reach("a", -1, 1)], [Touch("a", dict)])], {"a": outside(OWNED)})

    assert is_empty(only.inner)
    assert [box for box in only.outer if not is_empty(box)] == [OWNED]


def test_a_statement_without_dimensions_to_cut_runs_in_the_second_half():
    first, second = cut(
        [Step({}, [], [Touch("a", dict)]), Step(OWNED, [reach("a", 0, 0)], [Touch("b", dict)])], {}
    )

    assert (first.inner, first.outer) == (None, ({},))
    assert is_empty(second.inner)
