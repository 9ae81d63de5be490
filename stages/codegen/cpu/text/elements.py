"""Write loops along elements of a mesh in short blocks: most have the usual conditions.

A block of elements with all neighbours has a loop without conditions; one test of the entries of
its tables stands before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .....runtime.meshes.transposed_tables import transposed_names
from .....runtime.process import classes
from ....ir.loops import Buffer, Compute, Load, Nest, marks_of
from ...rows import Body, folded, operand
from ...schedule.discovery import TABLE, table_buffer
from ...schedule.usual import entry_of, is_lower, listed, settled

FEW: Final = 16  # elements of a block: as many entries as a register holds
LISTED: Final = f"""\
template <int slots>
static __attribute__((noinline)) bool listed(const s32* entries, s64 along, s64 across, s64 first,
                                             s64 stop) {{
  first = later(first, -(s64(1) << 31)), stop = earlier(stop, s64(1) << 31);
  if (stop <= first) return false;
  if (across == 1 && along == slots) along = 1, across = {FEW};
  u32 far[{FEW}] = {{}};
  if (along == 1) {{
#pragma GCC unroll 16
    for (int k = 0; k < slots; ++k)
#pragma omp simd
      for (int i = 0; i < {FEW}; ++i) {{
        const u32 own = u32(entries[k * across + i]) - u32(first);
        far[i] = far[i] < own ? own : far[i];
      }}
  }} else for (int k = 0; k < slots * {FEW}; ++k) {{
    const u32 own = u32(entries[k / {FEW} * across + k % {FEW} * along]) - u32(first);
    far[0] = far[0] < own ? own : far[0];
  }}
  u32 most = 0;
#pragma omp simd reduction(max : most)
  for (int i = 0; i < {FEW}; ++i) most = most < far[i] ? far[i] : most;
  return s64(most) < stop - first;
}}"""
_LARGEST: Final = "s64(2147483647)"


def usual_tests(body: Body, nest: Nest) -> Iterator[str]:
    """Yield the tests that a block of elements from `b` on has the usual conditions.

    Those of the index come first: tables have entries where they hold.
    """
    scope = body.scope
    for number, value in marks_of(nest).usual:
        test = nest.body[number]
        if isinstance(test, Compute) and entry_of(nest.body, test.args[0]) is None:
            yield _index_test(body, test, value=value)
    for name in _columns(body, nest):
        yield f"{scope.stride(scope.by_name[name], 0)} == 1"
    for name, entries in listed(nest, marks_of(nest).usual).items():
        buffer = scope.by_name[name]
        along, across = (scope.stride(buffer, axis) for axis in (0, 1))
        first, stop = (
            folded(form, [f"s64({operand(body, row)})" for row in rows])
            for form, rows in (("later({}, {})", entries.first), ("earlier({}, {})", entries.stop))
        )
        yield (
            f"{scope.ask('listed')}<{entries.slots}>({scope.buffer(name)} + "
            f"{scope.term(buffer, 0, 'b')}, {along}, {across}, {first or 's64(0)'}, "
            f"{stop or _LARGEST})"
        )


def _index_test(body: Body, test: Compute, *, value: bool) -> str:
    """Return the test that a comparison of the index has a value in a block from `b` on."""
    bound = operand(body, test.args[1])
    return f"b >= {bound}" if is_lower(test, value=value) else f"b + {FEW} <= {bound}"


def as_usual(body: Body, nest: Nest) -> Body:
    """Return the rows of a block that has the usual conditions."""
    scope, columns = body.scope, _columns(body, nest)
    buffers = tuple(columns.get(each.name, each) for each in scope.kernel.buffers)
    scope = classes.evolve(scope, kernel=classes.evolve(scope.kernel, buffers=buffers))
    return without_conditions(classes.evolve(body, scope=scope), nest)


def without_conditions(body: Body, nest: Nest) -> Body:
    """Return the rows that are left where all conditions have their usual values."""
    rows, used = settled(nest.body, dict(marks_of(nest).usual))
    unused = dict.fromkeys(set(range(len(rows))) - used, "")
    return classes.evolve(body, rows=tuple(rows), instead={**body.instead, **unused})


def _columns(body: Body, nest: Nest) -> dict[str, Buffer]:
    """Return the transposed tables of a nest, whose rows are columns in memory."""
    known = body.scope.by_name
    read = {row.buffer: known[row.buffer] for row in nest.body if isinstance(row, Load)}
    tables = (name.removeprefix(TABLE) for name in known if name.startswith(TABLE))
    names = map(table_buffer, transposed_names(tables))
    return {
        name: classes.evolve(read[name], unit=read[name].dims[0]) for name in names if name in read
    }
