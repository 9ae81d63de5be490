"""Write the test that the points of a thread have the usual conditions, so that none is tested."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.loops import Compute, Index, Load, Nest
from ...rows.body import Body, operand
from ...schedule.usual import entry_of
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
    points = {axis.level: axis.points for axis in axes_of(nest)}
    levels = {loop.range.dim: level for level, loop in enumerate(nest.loops)}
    for number, value in usual_of(nest):
        test = nest.body[number]
        assert isinstance(test, Compute)
        index, bound = nest.body[test.args[0]], operand(body, test.args[1])
        if isinstance(index, Index):
            level = levels[index.dim]
            first, last = f"{letter}{level}", points.get(level, 1) - 1
            is_first = (test.op == "ge") == value
            last_point = f"{first} + {last}" if last else first
            yield f"{first} >= {bound}" if is_first else f"{last_point} < {bound}"


def _listed(body: Body, nest: Nest, letter: str) -> Iterator[str]:
    """Yield the tests of tables: their entries lie where the program has computed."""
    tables: dict[str, tuple[Load, list[str], list[str]]] = {}
    for number, value in usual_of(nest):
        test = nest.body[number]
        assert isinstance(test, Compute)
        entry = entry_of(nest.body, test.args[0])
        if entry is not None:
            last, first, stop = tables.get(entry.buffer, (entry, [], []))
            side = first if (test.op == "ge") == value else stop
            side.append(f"s64({operand(body, test.args[1])})")
            tables[entry.buffer] = max(last, entry, key=lambda each: each.offsets[1]), first, stop
    scope, points = body.scope, {axis.level: axis.points for axis in axes_of(nest)}
    levels = {loop.range.dim: level for level, loop in enumerate(nest.loops)}
    for name, (entry, first, stop) in tables.items():
        scope.uses.functions["listed"] = LISTED
        buffer = scope.by_name[name]
        level = levels[buffer.dims[0]]
        along, across = (scope.stride(buffer, axis) for axis in (0, 1))
        yield (
            f"listed({scope.buffer(name)} + {scope.term(buffer, 0, f'{letter}{level}')}, "
            f"{points.get(level, 1)}, {along}, {entry.offsets[1] + 1}, {across}, "
            f"{_most('>', first) or 's64(0)'}, {_most('<', stop) or _LARGEST})"
        )


def _most(relation: str, texts: list[str]) -> str:
    """Return the greatest or least of some numbers."""
    total, *others = dict.fromkeys(texts) or [""]
    for each in others:
        total = f"({each} {relation} {total} ? {each} : {total})"
    return total
