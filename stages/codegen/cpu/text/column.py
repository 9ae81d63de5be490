"""Write imperative columns as C++: each thread runs the acts of one column after the other."""

from __future__ import annotations

from collections.abc import Iterator

from ....ir.loops.column import Column
from ....ir.loops.traverse import instructions
from ...rows.acts import loop_over, write_acts
from ...rows.checks import tests_of
from ...rows.scope import Scope
from .threads import END, extents, flat_loops, guard, opened


def write_column(scope: Scope, column: Column) -> Iterator[str]:
    """Write the loops of columns and close the block that they stand in."""
    yield f"  if ({guard(scope, scope.kernel.groups[column.group].box)}) {{"
    is_shared = any(loop.kind != "sequential" for loop in column.loops)
    if is_shared:
        counts, iterations = extents(scope, column.loops)
        yield from (f"  {each}" for each in counts)
        yield opened(scope, column.box, iterations)
        yield from (f"    {each}" for each in flat_loops(scope, column.loops))
    else:
        for level, each in enumerate(column.loops):
            ends = scope.ends(each.range)
            yield f"    {loop_over(f'i{level}', ends, each.step, backward=each.backward)}"
    tests = tests_of(scope, column.group, instructions(column))
    yield from tests.begin("      ")
    yield from (f"      {each}" for each in write_acts(scope, column))
    yield from tests.end("      ")
    yield f"  }}{END}}}}}" if is_shared else "  " + "}" * (len(column.loops) + 2)
