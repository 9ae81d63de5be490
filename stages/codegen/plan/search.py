"""Search for the plan that is predicted to be the fastest, from the choices of today's rules on.

All moves of a plan are tried alone. Then the best ones are joined, each only if the plan is better
with it. That goes on until no move is worth it, or so many plans were priced. The budget is a
number of plans and not of seconds: two processes find the same plan, whatever else they do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from math import exp, log
from typing import Any, Final, TypeAlias

from ....runtime.process import OptionError, classes
from ...artifacts import Lowered, Variant
from ...ir.loops import Kernel
from ..pass_list import PLAN_ONLY, LoopPass, Rules, name_of
from ..schedule.schedule import Scheduled
from .moves import Move, value_moves
from .sizes import Sizes, usual
from .text_seconds import build_seconds

VALUES: Final = 1  # the effort that turns values into arrays, and nothing else
MOST_TURNED: Final = 4  # values that it tries
LITTLE: Final = 4  # of 580 arrays for less than this part of their price none was chosen
BUDGETS: Final = (0, 12, 400)  # plans that are priced, by effort
STEP: Final = 0.02  # a move gains at least
LEAST: Final = 0.05  # a plan: of 70 drawn programs three lose, and seven without it
WORST: Final = 1.05  # no call of a plan may take so much longer than that of the rules
LONGER: Final = 1.3  # a build that takes so much longer than that of the rules
CALLS: Final = 10.0  # has to come back within so many seconds of calls
Moves: TypeAlias = Callable[[Kernel, Any], Sequence[Move]]
Model: TypeAlias = Callable[[Kernel], float]  # the seconds of a call of one size, on one class


@classes.frozen
class Plan:
    """Options, the tree that they make, and what is predicted: calls by model, and the build."""

    options: Any
    tree: Kernel
    seconds: tuple[float, ...]
    build: float

    def cost(self, seed: Plan) -> float:
        """Return the mean time of calls beside those of another plan, with what builds add.

        A plan that makes one of them much slower costs too much.
        """
        ratios = [own / other for own, other in zip(self.seconds, seed.seconds, strict=True)]
        if max(ratios) > WORST:
            return max(1.0, *ratios)
        ratio = exp(sum(map(log, ratios)) / len(ratios))
        is_longer = self.build > LONGER * seed.build
        return ratio + is_longer * (self.build - seed.build) / CALLS


@classes.define(eq=False)
class Search:
    """The plans of a program that were priced.

    Attributes:
        tree_of: makes the tree of options; None where they make none.
        moves: lists the moves of a plan.
        models: weigh the same.
        budget: plans that may be priced.

    """

    tree_of: Callable[[Any], Kernel | None]
    moves: Callable[[Kernel, Any], Iterable[Move]]
    models: Sequence[Model]
    budget: int
    _plans: dict[Any, Plan | None] = classes.field(factory=dict)
    _trees: dict[Kernel, Plan] = classes.field(factory=dict)

    def __len__(self) -> int:
        """Return how many plans were priced."""
        return len(self._trees)

    def plan(self, options: Any) -> Plan | None:
        """Return what is predicted of options; None where they make no tree, or beyond the budget.

        Options that make one tree are one plan.
        """
        if options not in self._plans:
            tree = self.tree_of(options) if len(self._plans) < self.budget else None
            if tree is not None and tree not in self._trees:
                seconds = tuple(seconds_of(tree) for seconds_of in self.models)
                self._trees[tree] = Plan(options, tree, seconds, build_seconds(tree))
            self._plans[options] = None if tree is None else self._trees[tree]
        return self._plans[options]

    def others(self, plan: Plan) -> list[tuple[Move, Plan]]:
        """Return each move of a plan with the plan that it leads to."""
        found = []
        for move in self.moves(plan.tree, plan.options):
            other = self.plan(move.applied(plan.options))
            if other is not None and other is not plan:
                found.append((move, other))
        return found

    def run(self, options: Any, goes_on: bool = True) -> tuple[Plan, Plan]:
        """Return the plan of the rules and the best one.

        A search that goes on starts again from each plan that it finds.

        Raises:
            ValueError: the options make no tree.

        """
        seed = self.plan(options)
        if seed is None:
            raise ValueError("The options of the rules make no tree.")
        best, last = self._joined(seed, seed), seed
        while goes_on and best is not last:
            last, best = best, self._joined(best, seed)
        return seed, best if best.cost(seed) <= 1 - LEAST else seed

    def _joined(self, plan: Plan, seed: Plan) -> Plan:
        """Return a plan with the moves that make it better, the best ones first."""
        best = plan
        for move, alone in sorted(self.others(plan), key=lambda pair: pair[1].cost(seed)):
            if alone.cost(seed) > plan.cost(seed) * (1 - STEP):
                break
            other = self.plan(move.applied(best.options))
            if other is not None and other.cost(seed) <= best.cost(seed) * (1 - STEP):
                best = other
        return best


def gains(seed: Plan, best: Plan, models: Sequence[Model]) -> bool:
    """Tell whether a plan is worth it by other models than those of the search that found it."""
    first, other = (
        classes.evolve(each, seconds=tuple(model(each.tree) for model in models))
        for each in (seed, best)
    )
    return other.cost(first) <= 1 - LEAST


def told(search: Search, seed: Plan, best: Plan, moved: Plan) -> Iterator[str]:
    """Yield a line for the plan, and one for each move of `moved`: times beside those of the rules.

    The best plan comes first, then the moves, the best alternatives first.
    """
    yield f"planned: {best.cost(seed):.2f} of the time of the rules, of {len(search)} plans"
    for move, other in sorted(search.others(moved), key=lambda pair: pair[1].cost(seed)):
        yield f"  {move.name} {move.now}; {move.other} {other.cost(seed):.2f}"


@classes.frozen(eq=False)
class Subject:
    """A program whose options are to be chosen.

    Attributes:
        scheduled: its schedules, of which plans with equal arrays share one.
        lowered: the program.
        variant: what the build knows of its calls.
        chosen: returns the rules and the passes of options.

    """

    scheduled: Scheduled
    lowered: Lowered
    variant: Variant
    chosen: Callable[[Any], tuple[Rules, Sequence[LoopPass]]]

    def tree_of(self, options: Any) -> Kernel | None:
        """Return the tree that options make; None where a value cannot be what they ask for."""
        kernel, (rules, passes) = self.first(options), self.chosen(options)
        for step in passes if kernel else ():
            if name_of(step) not in PLAN_ONLY:  # places in memory have no price
                kernel = step(kernel, rules)
        return kernel

    def first(self, options: Any) -> Kernel | None:
        """Return the tree before any pass."""
        try:
            return self.scheduled(self.chosen(options)[0])[0]
        except OptionError:
            return None

    def sizes(self, kernel: Kernel) -> tuple[Sizes, ...]:
        """Return the sizes that the build knows, else usual ones."""
        known = {(name, dim): (start, stop) for name, dim, start, stop in self.variant.ranges}
        return usual(kernel, known, self.lowered.program.tables)


def with_values(
    subject: Subject, options: Any, model: Callable[[Sizes], Model], moves: Moves, *, large: int
) -> tuple[Any, tuple[str, ...]]:
    """Return options with the arrays that make the program faster, and notes for its listing.

    Plans are ranked by the size in the middle, and by so many `large` ones. The best plan has to be
    better by all sizes together, where those count twice, and by those alone.
    """
    first = subject.first(options)
    if first is None or not moves(first, options):
        return options, ()
    models: list[Model] = [cache(model(each)) for each in subject.sizes(first)]
    ranking = models[len(models) // 2 :][: 1 + large]
    search = Search(subject.tree_of, moves, ranking, BUDGETS[VALUES])
    seed, best = search.run(options, goes_on=False)
    judging = (models + models[-large:], models[-large:])
    is_better = best is seed or all(gains(seed, best, each) for each in judging)
    return (best if is_better else seed).options, tuple(told(search, seed, best, seed))


def to_arrays(kernel: Kernel, options: Any) -> Sequence[Move]:
    """Return the moves of values that the rules compute again: they do not count what these load.

    Those that repeat most are the first. A choice of numbers is no candidate.
    """
    found = (
        each
        for each in value_moves(kernel)
        if each.other == "array" and each.is_weighed and each.name not in options.inline
    )
    return sorted(found, key=lambda move: -move.again)[:MOST_TURNED]


def to_either(kernel: Kernel, options: Any) -> Sequence[Move]:
    """Return these moves, and those of arrays that the rules store: the cheapest first.

    On GPUs caches serve what is loaded again: an array that repeats little is never worth it.
    """
    arrays = (each for each in to_arrays(kernel, options) if each.again * LITTLE >= each.stored)
    found = (
        each
        for each in value_moves(kernel)
        if each.other == "in place" and each.name not in options.arrays
    )
    return *arrays, *sorted(found, key=lambda move: move.again)[:MOST_TURNED]
