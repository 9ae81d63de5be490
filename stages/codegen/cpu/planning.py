"""Plan a program for a CPU: the moves of its options, their trees, and a search over both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from ....runtime.process.errors import OptionError
from ...artifacts import Lowered, Variant
from ...ir.loops import Kernel, nests_of, nodes_of
from ...ir.loops.cpu import Portions, Tiles, marks_of
from ...sizes import Patches
from ..pass_list import PLAN_ONLY, LoopPass, name_of, without
from ..plan.cpu_seconds import CpuModel
from ..plan.machine import EPYC, XEON
from ..plan.moves import Move, option_move, value_moves
from ..plan.search import BUDGETS, Model, Search, gains, told
from ..plan.sizes import usual
from ..schedule.rules import Rules
from ..schedule.schedule import Scheduled
from .options import CpuOptions

VALUES: Final = 1  # the effort that turns values into arrays, and nothing else
MOST_TURNED: Final = 4  # values that it tries
TILES: Final = (8, 32, 128)
PATCHES: Final = (Patches(elements=2048, least_bytes=1), Patches(elements=24576, least_bytes=1))
Options = TypeVar("Options", bound=CpuOptions)
# The rules and the passes of options.
Chosen = Callable[[Any], tuple[Rules, Sequence[LoopPass]]]


def moves(kernel: Kernel, options: Any) -> Iterator[Move]:
    """Yield the moves of a plan: what its tree shows, and what its options leave out."""
    yield from value_moves(kernel)
    for is_there, name, now, other, changes in _choices(kernel, options):
        if is_there:
            yield option_move(name, now, other, **changes)


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


def _choices(kernel: Kernel, options: Any) -> Iterable[tuple[bool, str, str, str, dict[str, Any]]]:
    """Return for each option whether a tree shows it, its name, both choices, and the change."""
    nests = nests_of(kernel)
    marks = [marks_of(nest) for nest in nests]
    tiles, portions = (any(nodes_of(kernel, kind)) for kind in (Tiles, Portions))
    passes = {
        "tile": tiles,
        "march": any(each.march for each in marks),
        "slide": any(each.slides for each in marks),
    }
    flags = {
        "prefetch": any(each.asked for each in marks),
        "unswitch": any(each.usual for each in marks),
        "jam": any(loop.step > 1 for nest in nests for loop in nest.loops),
    }
    size = str(options.tile_size or "the rule's")
    return (
        *(
            (there, f"pass {name}", "on", "off", {"passes": without(options.passes, name)})
            for name, there in passes.items()
        ),
        *((there, name, "on", "off", {name: False}) for name, there in flags.items()),
        *((not getattr(options, name), name, "off", "on", {name: True}) for name in flags),
        *(
            (tiles and each != options.tile_size, "size of tiles", size, str(each),
             {"tile_size": each})
            for each in TILES
        ),
        (portions, "portions", "on", "off", {"patches": False}),
        *(
            (portions and each != options.patches, "portions", "on", f"of {each.elements}",
             {"patches": each})
            for each in PATCHES
        ),
        (options.patches is False, "portions", "off", "on", {"patches": Patches()}),
        (any(each.streams for each in marks), "non-temporal stores", "on", "off",
         {"stream_from": 0}),
    )  # fmt: skip


def trees(scheduled: Scheduled, chosen: Chosen) -> Callable[[Any], Kernel | None]:
    """Return what makes the trees of plans, of which those with equal arrays share a schedule.

    There is none where a value cannot be what the plan asks for.
    """

    def tree_of(options: Any) -> Kernel | None:
        rules, passes = chosen(options)
        try:
            kernel, _ = scheduled(rules)
        except OptionError:
            return None
        for step in passes:
            if name_of(step) not in PLAN_ONLY:  # places in memory have no price
                kernel = step(kernel, rules)
        return kernel

    return tree_of


def planned(
    options: Options, scheduled: Scheduled, lowered: Lowered, variant: Variant, chosen: Chosen
) -> tuple[Options, tuple[str, ...]]:
    """Return the options of the best plan that a search finds, and notes for its listing.

    Sizes are those that the build knows, else usual ones. Targets do not tell classes of machines
    apart, so all weigh the same unless an option names one. The least effort ranks plans by one
    size on one class, and the best one has to be better by all sizes.
    """
    tree_of, is_least = trees(scheduled, chosen), options.effort == VALUES
    try:
        first, _ = scheduled(chosen(options)[0])
    except OptionError:  # the options of the user are refused as they are without a search
        return options, ()
    if is_least and not to_arrays(first, options):
        return options, ()
    known = {(name, dim): (start, stop) for name, dim, start, stop in variant.ranges}
    sizes = usual(first, known, lowered.program.tables)
    machines = [each for each in (EPYC, XEON) if options.machine in (None, each.name)]
    if is_least:
        models: list[Model] = [cache(CpuModel(each, machines[0]).seconds) for each in sizes]
        search = Search(tree_of, to_arrays, models[len(models) // 2 :][:1], BUDGETS[VALUES])
        seed, best = search.run(options, goes_on=False)
        is_better = best is seed or gains(seed, best, models)
        return (best if is_better else seed).options, tuple(told(search, seed, best, seed))
    models = [CpuModel(each, machine).seconds for each in sizes for machine in machines]
    search = Search(tree_of, moves, models, BUDGETS[options.effort])
    seed, best = search.run(options)
    return best.options, tuple(told(search, seed, best, best))
