"""Plan a program for a CPU: the moves of its options, their trees, and a search over both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeVar

from ...ir.loops import Kernel, Portions, Tiles, marks_of, nests_of, nodes_of
from ...sizes import Patches
from ..pass_list import without
from ..plan.cpu_seconds import CpuModel
from ..plan.machine import EPYC, XEON
from ..plan.moves import Move, option_move, value_moves
from ..plan.search import BUDGETS, VALUES, Search, Subject, to_arrays, told, with_values
from .options import CpuOptions

TILES: Final = (8, 32, 128)
PATCHES: Final = (Patches(elements=2048, least_bytes=1), Patches(elements=24576, least_bytes=1))
Options = TypeVar("Options", bound=CpuOptions)


def moves(kernel: Kernel, options: Any) -> Iterator[Move]:
    """Yield the moves of a plan: what its tree shows, and what its options leave out."""
    yield from value_moves(kernel)
    for is_there, name, now, other, changes in _choices(kernel, options):
        if is_there:
            yield option_move(name, now, other, **changes)


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


def planned(subject: Subject, options: Options) -> tuple[Options, tuple[str, ...]]:
    """Return the options of the best plan that a search finds, and notes for its listing.

    Targets do not tell classes of machines apart, so all weigh the same unless an option names one;
    the least effort predicts for the first of them.
    """
    machines = [each for each in (EPYC, XEON) if options.machine in (None, each.name)]
    if options.effort == VALUES:
        return with_values(
            subject, options, lambda each: CpuModel(each, machines[0]).seconds, to_arrays, large=0
        )
    first = subject.first(options)
    if first is None:  # the options of the user are refused as they are without a search
        return options, ()
    sizes = subject.sizes(first)
    models = [CpuModel(each, machine).seconds for each in sizes for machine in machines]
    search = Search(subject.tree_of, moves, models, BUDGETS[options.effort])
    seed, best = search.run(options)
    return best.options, tuple(told(search, seed, best, best))
