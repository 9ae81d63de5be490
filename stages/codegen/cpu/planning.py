"""Plan a program for a CPU: the moves of its options, their trees, and a search over both."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from ....runtime.process.errors import OptionError
from ...artifacts import Lowered, Variant
from ...ir.loops.cpu import Portions, Tiles, marks_of
from ...ir.loops.kernel import Kernel
from ...ir.loops.traverse import nests_of, nodes_of
from ...sizes import Patches
from ..pass_list import LoopPass, without
from ..plan.cpu_seconds import CpuModel
from ..plan.machine import EPYC, XEON
from ..plan.moves import Move, option_move, value_moves
from ..plan.search import BUDGETS, Search, told
from ..plan.sizes import usual
from ..schedule.rules import Rules
from ..schedule.schedule import schedule
from .options import CpuOptions

TILES: Final = (8, 32, 128)
PATCHES: Final = (Patches(elements=2048, least_bytes=1), Patches(elements=24576, least_bytes=1))
Options = TypeVar("Options", bound=CpuOptions)
# The rules and the passes of options.
Chosen = Callable[[Any], tuple[Rules, Sequence[LoopPass]]]


def moves(kernel: Kernel, options: Any) -> Iterator[Move]:
    """Yield the moves of a plan: what its tree shows, and what its options leave out."""
    yield from value_moves(kernel)
    nests = nests_of(kernel)
    marks = [marks_of(nest) for nest in nests]
    yield from _tiles(kernel, options)
    yield from _portions(kernel, options)
    for name, is_there in (
        ("march", any(each.march for each in marks)),
        ("slide", any(each.slides for each in marks)),
    ):
        if is_there:
            yield _left_out(name, options)
    for option, is_there in (
        ("prefetch", any(each.asked for each in marks)),
        ("unswitch", any(each.usual for each in marks)),
        ("jam", any(loop.step > 1 for nest in nests for loop in nest.loops)),
    ):
        if is_there:
            yield option_move(option, "on", "off", **{option: False})
        elif not getattr(options, option):
            yield option_move(option, "off", "on", **{option: True})
    if any(each.streams for each in marks):
        yield option_move("non-temporal stores", "on", "off", stream_from=0)


def _tiles(kernel: Kernel, options: Any) -> Iterator[Move]:
    if not any(nodes_of(kernel, Tiles)):
        return
    yield _left_out("tile", options)
    now = str(options.tile_size or "the rule's")
    for size in TILES:
        if size != options.tile_size:
            yield option_move("size of tiles", now, str(size), tile_size=size)


def _portions(kernel: Kernel, options: Any) -> Iterator[Move]:
    if any(nodes_of(kernel, Portions)):
        yield option_move("portions", "on", "off", patches=False)
        for sizes in PATCHES:
            if sizes != options.patches:
                yield option_move("portions", "on", f"of {sizes.elements}", patches=sizes)
    elif options.patches is False:
        yield option_move("portions", "off", "on", patches=Patches())


def _left_out(name: str, options: Any) -> Move:
    return option_move(f"pass {name}", "on", "off", passes=without(options.passes, name))


class Trees:
    """Makes the trees of plans; those with equal values in arrays share their schedule."""

    def __init__(self, lowered: Lowered, variant: Variant, chosen: Chosen) -> None:
        self.lowered = lowered
        self.variant = variant
        self.chosen = chosen
        self._scheduled: dict[tuple[object, ...], Kernel | None] = {}

    def __call__(self, options: Any) -> Kernel | None:
        """Return the tree of a plan; None where a value cannot be what it asks for."""
        rules, passes = self.chosen(options)
        key = rules.arrays, rules.inline, rules.jam
        if key not in self._scheduled:
            self._scheduled[key] = self._schedule(rules)
        kernel = self._scheduled[key]
        for step in passes if kernel is not None else ():
            kernel = step(kernel, rules)
        return kernel

    def _schedule(self, rules: Rules) -> Kernel | None:
        try:
            return schedule(self.lowered, self.variant, rules)[0]
        except OptionError:
            return None


def planned(
    options: Options, lowered: Lowered, variant: Variant, chosen: Chosen
) -> tuple[Options, tuple[str, ...]]:
    """Return the options of the best plan that a search finds, and notes for its listing.

    Sizes are those that the build knows, else usual ones. Targets do not tell classes of machines
    apart, so all weigh the same unless an option names one.
    """
    trees = Trees(lowered, variant, chosen)
    first = trees(options)
    if first is None:  # the options of the user are refused as they are without a search
        return options, ()
    known = {(name, dim): (start, stop) for name, dim, start, stop in variant.ranges}
    sizes = usual(first, known)
    machines = [each for each in (EPYC, XEON) if options.machine in (None, each.name)]
    models = [CpuModel(each, machine) for each in sizes for machine in machines]
    search = Search(trees, moves, models, BUDGETS[options.effort])
    seed, best = search.run(options)
    return best.options, tuple(told(search, seed, best))
