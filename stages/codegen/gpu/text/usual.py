"""Write the test that the points of a thread have the usual conditions, so that none is tested."""

from __future__ import annotations

from collections.abc import Iterator

from .....runtime.language import Dimension
from ....ir.loops import Index, Nest
from ...rows import Body, folded, operand
from ...schedule.usual import is_lower, listed
from ..passes.unswitching import usual_of
from .grid import axes_of

LISTED = """\
DEVICE bool listed(const s32* entries, int count, s64 along, int slots, s64 across, s64 first,
                   s64 stop) {
  s32 least = *entries, most = least;
#pragma unroll
  for (int k = 0; k < slots; ++k) {
#pragma unroll
    for (int i = 0; i < count; ++i) {
      const s32 own = entries[k * across + i * along];
      least = own < least ? own : least;
      most = own > most ? own : most;
    }
  }
  return least >= first && most < stop;
}"""
_LARGEST = "s64(2147483647)"


def usual_test(body: Body, nest: Nest, letter: str) -> str:
    """Return the test for all points of a thread from `<letter><level>` on.

    Conditions on indices come first: tables have entries where they hold.
    """
    return " && ".join(
        dict.fromkeys((*_of_indices(body, nest, letter), *_listed(body, nest, letter)))
    )


def _of_indices(body: Body, nest: Nest, letter: str) -> Iterator[str]:
    points, levels = _axes(nest)
    for number, value in usual_of(nest):
        test = nest.body[number]
        index = nest.body[test.operands[0]]
        if isinstance(index, Index):
            level, end = levels[index.dim], operand(body, test.operands[1])
            first, more = f"{letter}{level}", points.get(level, 1) - 1
            last = f"{first} + {more}" if more else first
            yield f"{first} >= {end}" if is_lower(test, value=value) else f"{last} < {end}"


def _listed(body: Body, nest: Nest, letter: str) -> Iterator[str]:
    """Yield the tests of tables: their entries lie where the program has computed."""
    scope, (points, levels) = body.scope, _axes(nest)
    for name, entries in listed(nest, usual_of(nest)).items():
        scope.uses.functions["listed"] = LISTED
        buffer = scope.by_name[name]
        level = levels[buffer.dims[0]]
        along, across = (scope.stride(buffer, axis) for axis in (0, 1))
        first, stop = (
            folded(form, [f"s64({operand(body, row)})" for row in rows])
            for form, rows in (
                ("({1} > {0} ? {1} : {0})", entries.first),
                ("({1} < {0} ? {1} : {0})", entries.stop),
            )
        )
        yield (
            f"listed({scope.buffer(name)} + {scope.term(buffer, 0, f'{letter}{level}')}, "
            f"{points.get(level, 1)}, {along}, {entries.slots}, {across}, "
            f"{first or 's64(0)'}, {stop or _LARGEST})"
        )


def _axes(nest: Nest) -> tuple[dict[int, int], dict[Dimension, int]]:
    """Return the points of a thread by level, and the level of each dimension."""
    points = {axis.level: axis.points for axis in axes_of(nest)}
    return points, {loop.range.dim: level for level, loop in enumerate(nest.loops)}
