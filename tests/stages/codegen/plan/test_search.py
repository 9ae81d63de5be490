"""A search joins the moves that pay, prices each tree once, and ends with its budget."""

import pytest
from tests.generated.large import large_case

from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.plan.moves import Move, option_move, value_moves
from fieldforge.stages.codegen.plan.search import Plan, Search, told
from fieldforge.stages.ir.loops.kernel import Kernel

from .listings import loops_of


@classes.frozen
class Choices:
    """Three decisions."""

    a: int = 0
    b: int = 0
    c: int = 0
    arrays: tuple[str, ...] = ()
    inline: tuple[str, ...] = ()


# `b` pays only with `a`; `c` never does.
SECONDS = {(0, 0): 1.0, (1, 0): 0.9, (0, 1): 0.95, (1, 1): 0.5}


class Table:
    """A model that looks the seconds up."""

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor
        self.asked = 0

    def __call__(self, kernel: Kernel) -> float:
        self.asked += 1
        a, b, c = map(int, kernel.name.split())
        return self.factor * SECONDS[a, b] * (1 + c)


def tree_of(options):
    return Kernel(f"{options.a} {options.b} {options.c}", (), (), (), ())


def toggles(_, options):
    for name in "abc":
        now = getattr(options, name)
        yield option_move(name, str(now), str(1 - now), **{name: 1 - now})


def search(budget=100, models=None):
    return Search(tree_of, toggles, models or [Table()], budget)


def test_moves_are_joined_where_they_pay_together():
    seed, best = search().run(Choices())

    assert seed.options == Choices()
    assert best.options == Choices(a=1, b=1)
    assert best.cost(seed) == pytest.approx(0.5)


def test_a_tree_is_priced_once():
    model = Table()

    found = search(models=[model])
    found.run(Choices())

    assert model.asked == len(found) == 6


@pytest.mark.parametrize(("budget", "expected"), [(1, Choices()), (4, Choices(a=1))])
def test_a_budget_counts_plans(budget, expected):
    _, best = search(budget).run(Choices())

    assert best.options == expected


def test_a_search_that_does_not_go_on_tries_the_moves_of_the_rules_only():
    found = search()

    seed, best = found.run(Choices(), goes_on=False)

    assert best.options == Choices(a=1, b=1)
    assert len([*told(found, seed, best, seed)]) == 4
    assert len(found) == 5  # the rules, three moves, and two of them joined


def test_models_weigh_the_same():
    class Backwards(Table):
        def __call__(self, kernel):
            return 1 / super().__call__(kernel)

    seed, best = search(models=[Table(), Backwards(3.0)]).run(Choices())

    assert best is seed


def test_no_call_may_take_much_longer():
    kernel = tree_of(Choices())
    seed = Plan(Choices(), kernel, (1.0, 1.0, 1.0), 1.0)

    assert Plan(Choices(), kernel, (0.5, 0.5, 1.04), 1.0).cost(seed) < 0.7
    assert Plan(Choices(), kernel, (0.5, 0.5, 1.06), 1.0).cost(seed) > 1.0


def test_less_than_predictions_can_tell_moves_nothing(monkeypatch):
    monkeypatch.setitem(SECONDS, (1, 0), 0.97)
    monkeypatch.setitem(SECONDS, (0, 1), 0.985)
    monkeypatch.setitem(SECONDS, (1, 1), 0.955)

    seed, best = search().run(Choices())

    assert best is seed


@pytest.mark.parametrize(("build", "cost"), [(1.2, 0.9), (1.4, 0.94), (3.0, 1.1)])
def test_long_builds_are_part_of_the_price(build, cost):
    kernel = tree_of(Choices())
    seed = Plan(Choices(), kernel, (1.0, 4.0), 1.0)

    assert Plan(Choices(), kernel, (0.9, 3.6), build).cost(seed) == pytest.approx(cost)


def test_the_alternatives_are_told_the_nearest_first():
    found = search()

    seed, best = found.run(Choices())
    first, *others = told(found, seed, best, best)

    assert first == "planned: 0.50 of the time of the rules, of 6 plans"
    assert others == ["  b 1; 0 0.90", "  a 1; 0 0.95", "  c 0; 1 1.00"]


def test_values_are_turned_and_turned_back():
    kernel, _, _ = loops_of(large_case(2), 10_000)
    moves = {move.name: move for move in value_moves(kernel)}

    assert (moves["%8"].now, moves["%8"].other) == ("array", "in place")
    turned = moves["%8"].applied(Choices(arrays=("%8", "%30", "%4")))
    assert turned == Choices(arrays=("%4", "%30"), inline=("%8",))

    back = Move("%8", "in place", "array", lambda o: {"arrays": (*o.arrays, "%8"), "inline": ()})
    assert back.applied(turned).inline == ()
