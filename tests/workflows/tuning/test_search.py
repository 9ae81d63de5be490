"""A search over options: it finds what was spoiled, believes no noise, stops and goes on."""

import itertools
import random

import attrs
import pytest

from fieldforge.stages import FLAG, VALUE_NAMES, VALUES, whole
from fieldforge.workflows.options.schema import Option
from fieldforge.workflows.tuning.search import Search
from fieldforge.workflows.tuning.verdict import Verdict, compared

TILE = Option("codegen.tile_size", whole(), 0, tune=(0, 8, 16, 32, 64))
ARRAYS = Option("codegen.arrays", VALUE_NAMES, (), tune=(VALUES,))
JAM = Option("codegen.jam", FLAG, True, tune=(True, False))
START = {"codegen.tile_size": 64, "codegen.arrays": ("%3",), "codegen.jam": True}
NAMES = ("%3", "%7", "%9")


def seconds(options):
    """The time of a call: tiles of 16 and the array %7 are best, %3 is bad, jam does nothing."""
    arrays = set(options["codegen.arrays"])
    size = options["codegen.tile_size"] or 32
    return 1.0 + abs(size - 16) / 100 + ("%3" in arrays) * 0.5 - ("%7" in arrays) * 0.2


@attrs.define
class Model:
    """A machine that does not exist, with noise if asked for."""

    noise: float = 0.0
    cost: object = seconds
    budget: int = 10_000
    wrong: object = lambda options: ""
    measured: int = 0
    random: object = attrs.field(factory=lambda: random.Random(1))

    def options(self, choice):
        return START | dict(choice)

    def source(self, choice):
        return str(sorted(self.options(choice).items()))

    def names(self, choice):
        return NAMES

    def ready(self, choices):
        return [self.wrong(self.options(choice)) for choice in choices]

    def costs(self, choices, rounds):
        self.measured += len(choices) - 1
        return [
            [self.cost(self.options(each)) * self.random.lognormvariate(0, self.noise or 0.0)
             for _ in range(rounds)]
            for each in choices
        ]  # fmt: skip

    def is_over(self):
        return self.measured >= self.budget


def searched(bench, **more):
    search = Search(bench, (TILE, ARRAYS, JAM), START, **more)
    search.run()
    return search


def exhaustive():
    subsets = [c for n in range(4) for c in itertools.combinations(NAMES, n)]
    sizes = {**{n: START[n] for n in START}}
    return min(
        seconds(sizes | {"codegen.tile_size": size, "codegen.arrays": arrays})
        for size in TILE.tune
        for arrays in subsets
    )


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.03])
def test_a_spoiled_tile_size_and_a_spoiled_array_are_found(noise):
    bench = Model(noise)

    best = searched(bench).best

    assert dict(best) == {"codegen.arrays": ("%7",), "codegen.tile_size": 16}
    assert seconds(bench.options(best)) <= 1.03 * exhaustive()


@pytest.mark.parametrize("seed", range(20))
def test_noise_is_never_taken_for_a_gain(seed):
    bench = Model(0.05, cost=lambda options: 1.0, random=random.Random(seed))

    assert searched(bench).best == ()


@attrs.define
class Noisy(Model):
    """A machine on which a change alone is 0.98 at times, and often slower; two are 0.9."""

    def costs(self, choices, rounds):
        self.measured += len(choices) - 1
        rows = []
        for each in choices:
            count = sum(self.options(each)[name] != value for name, value in START.items())
            noise = itertools.cycle([0.7, 0.98, 1.3]) if count == 1 else itertools.repeat(1.0)
            rows.append([next(noise) * (0.9 if count == 2 else 1.0) for _ in range(rounds)])
        return rows


def test_changes_that_look_faster_are_tried_together():
    search = Search(Noisy(), (JAM, Option("codegen.tile_size", whole(), 0, tune=(32, 64))), START)

    assert dict(search.run()) == {"codegen.jam": False, "codegen.tile_size": 32}


def test_a_wrong_result_is_refused_however_fast_it_is():
    def cost(options):
        return 0.1 if not options["codegen.jam"] else 1.0

    bench = Model(cost=cost, wrong=lambda o: "" if o["codegen.jam"] else "'out' differs")

    search = searched(bench)

    assert search.best == ()
    refused = [trial for trial in search.trials if trial.verdict is None]
    assert {(trial.changes, trial.said) for trial in refused} == {
        ((("codegen.jam", False),), "'out' differs")
    }


def test_two_searches_do_the_same():
    first, second = searched(Model(0.02)), searched(Model(0.02))

    assert first.best == second.best
    assert first.trials == second.trials


def test_every_better_choice_is_kept_at_once():
    kept = []

    search = searched(Model(), keep=lambda choice, verdict: kept.append(choice))

    assert kept[-1] == search.best
    assert len(kept) == 3  # the tile size, without %3, with %7


def test_a_budget_ends_the_search_and_a_next_one_goes_on_without_measuring_again():
    first = Model(budget=6)
    kept = []
    begun = searched(first, keep=lambda choice, verdict: kept.append(choice))
    known = {trial.code: trial.verdict for trial in begun.trials}

    ended = searched(Model(), known=known, best=kept[-1])
    whole = searched(Model())

    assert begun.best != whole.best
    assert ended.best == whole.best
    assert known.keys().isdisjoint(trial.code for trial in ended.trials if not trial.said)


def test_code_that_is_equal_is_measured_once():
    class Alike(Model):
        def source(self, choice):
            options = self.options(choice)
            return str([options["codegen.tile_size"], options["codegen.arrays"]])

    search = searched(Alike())

    assert not [trial for trial in search.trials if trial.changes == (("codegen.jam", False),)]


def test_a_verdict_needs_a_difference_larger_than_its_noise():
    assert compared([1.0] * 5, [0.98] * 5).is_better
    assert not compared([1.0] * 5, [0.995] * 5).is_better  # less than a per cent
    assert not compared([1.0] * 5, [0.7, 1.2, 0.9, 1.1, 0.8]).is_better
    assert compared([1.0] * 5, [1.1] * 5).is_worse
    assert not Verdict(0.9, 0.1).is_sure
