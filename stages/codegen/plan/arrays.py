"""Plan which values become arrays that the rules compute again; a search of few plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

from ....runtime.process import OptionError, classes
from ...artifacts import Lowered, Variant
from ...ir.loops import Kernel
from ..pass_list import PLAN_ONLY, LoopPass, Rules, name_of
from ..schedule.schedule import Scheduled
from .moves import Move, value_moves
from .search import BUDGETS, Model, Search, gains, told
from .sizes import Sizes, usual

VALUES: Final = 1  # the effort that turns values into arrays, and nothing else
MOST_TURNED: Final = 4  # values that it tries
# The rules and the passes of options.
Chosen: TypeAlias = Callable[[Any], tuple[Rules, Sequence[LoopPass]]]


@classes.frozen(eq=False)
class Subject:
    """A program whose options are to be chosen.

    Attributes:
        scheduled: its schedules, of which plans with equal arrays share one.
        lowered: the program.
        variant: what the build knows of its calls.
        chosen: says what options make of it.

    """

    scheduled: Scheduled
    lowered: Lowered
    variant: Variant
    chosen: Chosen

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


def with_arrays(
    subject: Subject, options: Any, model: Callable[[Sizes], Model]
) -> tuple[Any, tuple[str, ...]]:
    """Return options with the arrays that make the program faster, and notes for its listing.

    Plans are ranked by one size, and the best one has to be better by all sizes.
    """
    first = subject.first(options)
    if first is None or not to_arrays(first, options):
        return options, ()
    models: list[Model] = [cache(model(each)) for each in subject.sizes(first)]
    ranking = models[len(models) // 2 :][:1]
    search = Search(subject.tree_of, to_arrays, ranking, BUDGETS[VALUES])
    seed, best = search.run(options, goes_on=False)
    is_better = best is seed or gains(seed, best, models)
    return (best if is_better else seed).options, tuple(told(search, seed, best, seed))


def to_arrays(kernel: Kernel, options: Any) -> Sequence[Move]:
    """Return the moves of values that the rules compute again: they do not count what these load.

    Those that repeat most are the first.
    """
    found = (
        each
        for each in value_moves(kernel)
        if each.other == "array" and each.name not in options.inline
    )
    return sorted(found, key=lambda move: -move.again)[:MOST_TURNED]
