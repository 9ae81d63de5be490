"""What a regret run says of its trials, and which plans it tries next."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent
LOOPS = "  # %31 is computed in place: 5 points\n  # %8 is an array: 9 points\n"
PASSES = ("tile", "march", "plan_arena")


@pytest.fixture
def regret(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("bench.regret")


def rank(regret, *pairs):
    numbered = enumerate(pairs)
    trials = [regret.Trial((("n", place),), *both, 0) for place, both in numbered]
    return regret.rank_correlation(trials)


def plans(now=()):
    search = importlib.import_module("bench.regret_search")
    return list(search.decisions(LOOPS, "cpu", PASSES, now))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(1, 2), (2, 3), (3, 4), (4, 9)], 1.0),
        ([(1, 9), (2, 4), (3, 3), (4, 2)], -1.0),
        ([(1, 1), (2, 1), (3, 1), (4, 1)], None),  # nothing is predicted to differ
        ([(1, 1), (2, 2)], None),
    ],
)
def test_ranks_of_predicted_and_measured_seconds_are_compared(regret, pairs, expected):
    assert rank(regret, *pairs) == expected


def test_times_within_noise_have_one_rank(regret):
    found = rank(regret, (1.0, 1), (1.004, 2), (2.0, 3), (2.004, 3))

    assert found == pytest.approx(0.943, abs=0.001)


def test_values_are_turned_against_the_choice_of_the_compiler(regret):
    found = plans()

    assert (("codegen.arrays", ("%31",)),) in found
    assert (("codegen.inline", ("%8",)),) in found
    assert (("codegen.passes", ("march", "plan_arena")),) in found


def test_a_value_that_was_turned_is_turned_back(regret):
    found = plans((("codegen.arrays", ("%8", "%9")),))

    (back,) = [dict(each) for each in found if "codegen.inline" in dict(each)]
    assert back == {"codegen.inline": ("%8",), "codegen.arrays": ("%9",)}


def test_the_plan_of_the_best_prediction_is_compared_with_the_fastest(regret):
    row = {"regret": 1.5, "noise": 1.0, "rank": 1.0, "trials": [[3.0, 3.0, 1], [2.0, 1.0, 1]]}

    found = regret.summary([row])

    assert (found["default"], found["by prediction"]) == (pytest.approx(1.5), 1.0)
