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
LISTED: Final = """\
static __attribute__((noinline)) bool listed(const s32* entries, s64 count, s64 stride, s64 slots,
                                             s64 across, s64 first, s64 stop) {
  s32 least = *entries, most = *entries;
  if (across == 1 && stride == slots) count *= slots, slots = stride = 1;
  for (s64 k = 0; k < slots; ++k, entries += across) {
    if (stride == 1) {
#pragma omp simd reduction(min : least) reduction(max : most)
      for (s64 i = 0; i < count; ++i) {
        least = entries[i] < least ? entries[i] : least;
        most = entries[i] < most ? most : entries[i];
      }
    } else for (s64 i = 0; i < count; ++i) {
      least = entries[i * stride] < least ? entries[i * stride] : least;
      most = entries[i * stride] < most ? most : entries[i * stride];
    }
  }
  return least >= first && most < stop;
}"""
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
            f"{scope.ask('listed')}({scope.buffer(name)} + {scope.term(buffer, 0, 'b')}, {FEW}, "
            f"{along}, {entries.slots}, {across}, {first or 's64(0)'}, {stop or _LARGEST})"
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
