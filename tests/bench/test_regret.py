"""What a regret run says of its trials, and which plans it tries next."""

from __future__ import annotations

import pytest
import regret
from regret import Trial

LOOPS = "  # %31 is computed in place: 5 points\n  # %8 is an array: 9 points\n"
PASSES = ("tile", "march", "plan_arena")


def trials(*pairs):
    return [
        Trial((("n", place),), seconds, guess, 0) for place, (seconds, guess) in enumerate(pairs)
    ]


@pytest.mark.parametrize(
    ("pairs", "rank"),
    [
        ([(1, 2), (2, 3), (3, 4), (4, 9)], 1.0),
        ([(1, 9), (2, 4), (3, 3), (4, 2)], -1.0),
        ([(1, 1), (2, 1), (3, 1), (4, 1)], None),  # nothing is predicted to differ
        ([(1, 1), (2, 2)], None),
    ],
)
def test_ranks_of_predicted_and_measured_seconds_are_compared(pairs, rank):
    found = regret.rank_correlation(trials(*pairs))

    assert found == (None if rank is None else pytest.approx(rank))


def test_times_within_noise_have_one_rank():
    near = trials((1.0, 1), (1.004, 2), (2.0, 3), (2.004, 3))

    assert regret.rank_correlation(near) == pytest.approx(0.943, abs=0.001)


def test_values_are_turned_against_the_choice_of_the_compiler():
    found = list(regret.decisions(LOOPS, "cpu", PASSES, ()))

    assert (("codegen.arrays", ("%31",)),) in found
    assert (("codegen.inline", ("%8",)),) in found
    assert (("codegen.passes", ("march", "plan_arena")),) in found


def test_a_value_that_was_turned_is_turned_back():
    now = (("codegen.arrays", ("%8",)),)

    found = list(regret.decisions(LOOPS, "cpu", PASSES, now))

    assert (("codegen.inline", ("%8",)), ("codegen.arrays", ())) not in found
    assert any(dict(each).get("codegen.inline") == ("%8",) for each in found)


def test_the_plan_of_the_best_prediction_is_compared_with_the_fastest():
    row = {"regret": 1.5, "noise": 1.0, "rank": 1.0, "trials": [[3.0, 3.0, 1], [2.0, 1.0, 1]]}

    found = regret.summary([row])

    assert (found["default"], found["by prediction"]) == (pytest.approx(1.5), 1.0)
