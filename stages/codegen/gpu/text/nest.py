"""Write one loop nest as a kernel: what one thread does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import count

from .....runtime.process import classes
from ....ir.loops import Column, Load, Nest, Sweep, instructions
from ....ir.loops.gpu import marked, marks_of
from ...acts.act_trees import below
from ...rows import (
    Body,
    Scope,
    acts_of,
    body_of_column,
    levels_together,
    pointers,
    states,
    tests_of,
    with_alike_fields,
    write_registers,
    written,
)
from ..kernels import threads_of
from ..passes.unrolling import unrolled
from ..passes.unswitching import settled_nest
from ..passes.widening import gathers
from .grid import Axis, axes_of, flat_places, is_flat, opened
from .lines import all_rows, arrays, braced, either, indented, thread_body, with_reciprocals
from .masked import write_masked
from .scan import write_scan
from .usual import usual_test
from .wide import aligned, packed, packs_of, starts_of
from .windows import scan_of


def write_nest(scope: Scope, node: Nest | Column) -> Iterator[str]:
    """Write the statements of one thread.

    The grid has enough blocks along x. Along y and z vendors allow few; there a thread takes
    several indices if it must.
    """
    if isinstance(node, Column):
        lines = _acts(scope, node)
    else:
        marks = marks_of(node)
        several = write_masked if marks.masked else _several
        write = _column if node.states else several if marks.points else _points
        lines = write(scope, node)
    tests = tests_of(scope, node.group, instructions(node))
    yield from (*arrays(scope, [node]), *tests.begin("  "), *lines, *tests.end("  ", "first"))


def _acts(scope: Scope, column: Column) -> Iterator[str]:
    nest = threads_of(column)
    yield from (
        *(flat_places(scope, nest, "i") if is_flat(nest) else ()),
        *(opened(scope, nest, level) for level in range(len(nest.loops))),
        *indented(_own_acts(scope, column), "    "),
        "  " + "}" * len(nest.loops),
    )


def _own_acts(scope: Scope, column: Column) -> Iterator[str]:
    """Write what a column does, twice if the levels of fields that it searches may be alike."""
    told = any(isinstance(row, Load) and row.is_told for row in instructions(column))
    sweeps = [act for act in below(column.acts) if isinstance(act, Sweep)]
    nested = any(all(each is not act for act in column.acts) for each in sweeps)
    plain = with_reciprocals(body_of_column(scope, column), column.acts)
    yield from write_registers(column)
    if not told or nested or scope.tests or scope.clamped:
        yield from acts_of(plain, column.acts, count())
        return
    index = f"i{len(plain.positions)}"  # of each sweep
    within = {**plain.positions, **{each.range.dim: index for each in sweeps}}
    own = classes.evolve(plain, positions=within)
    levels = levels_together(own.rows, column.acts, 0)
    named, fields = with_alike_fields(own, column.acts, levels)
    body = classes.evolve(named, positions=plain.positions)
    if not fields.names:
        yield from acts_of(plain, column.acts, count())
        return
    test = fields.test if scope.narrow else ""
    for head, values in ((f"if ({test})", fields.alike), ("else", fields.own)):
        if test or head == "else":
            names = (f"{n} = {value}" for n, value in zip(fields.names, values, strict=True))
            yield f"{head if test else ''} {{ const s64 {', '.join(names)};"
            lines = acts_of(body, column.acts, count())
            yield from indented(each for each in lines if each.strip())
            yield "}"


def _column(scope: Scope, nest: Nest) -> Iterator[str]:
    """Write the loops of a thread that has a column."""
    scan, inner = scan_of(scope, nest, {}), len(nest.loops) - 1
    yield from indented(written(scan.body, 0), "    ")
    yield from _outer(scope, nest, scan.body, range(inner))
    lines = (*pointers(scan.body), *states(scan.body), *write_scan(scan))
    yield from (*indented(lines, "  " * (inner + 1)), *(["  " + "}" * inner] if inner else []))


def _points(scope: Scope, nest: Nest) -> Iterator[str]:
    """Write the loops of a thread that has one point along each of its loops."""
    body, depth = thread_body(scope, nest), len(nest.loops)
    indent, index = "  " * depth, f"i{depth - 1}"
    yield from indented(written(body, 0), "    ")
    yield from _outer(scope, nest, body, range(depth - 1))
    if not depth:
        return
    yield from (*indented(pointers(body), indent), opened(scope, nest, depth - 1))
    if len(nest.parts) <= 1:
        rows = written(body, depth)
        if marks_of(nest).usual:
            usual = all_rows(thread_body(scope, settled_nest(nest)))
            rows = either(usual_test(body, nest, "i"), usual, rows)
        yield from indented(rows, f"{indent}    ")
    for part, range_ in enumerate(nest.parts if len(nest.parts) > 1 else ()):
        start, stop = scope.ends(range_)
        head = f"if ({index} >= {start} && {index} < {stop})"
        rows = indented(written(body, depth, part))
        yield from indented(braced(head, rows), f"{indent}  ")
    yield "  " + "}" * depth


def _outer(
    scope: Scope, nest: Nest, body: Body, levels: range, unrolled: Collection[int] = ()
) -> Iterator[str]:
    """Open the outer loops of a thread, with the rows inside each of them.

    Loops `unrolled`, and those in them, lead to the first point of a thread, `f<level>`.
    """
    letter = "f" if unrolled else "i"
    yield from flat_places(scope, nest, letter) if is_flat(nest) else ()
    for level in levels:
        yield opened(scope, nest, level, letter)
        if unrolled and nest.loops[level].kind == "thread" and level not in unrolled:
            yield f"{'  ' * (level + 1)}  const s64 i{level} = f{level};"
        if not unrolled or level < min(unrolled):
            yield from indented(written(body, level + 1), "  " * (level + 3))


def _several(scope: Scope, nest: Nest) -> Iterator[str]:
    """Write the loops of a thread that has several points: all at once, or one by one at the ends.

    Unrolled code needs all points of a thread inside, and aligned memory or a version of its own
    for other memory.
    """
    marks, one = marks_of(nest), thread_body(scope, nest)
    usual = settled_nest(nest) if marks.usual else nest
    every = thread_body(
        scope, classes.evolve(usual, body=unrolled(usual, marks.points, scope.by_name))
    )
    packs = packs_of(every, marks.points[0])
    versions = [("aligned", packed(every, packs, starts_of(every, packs)))]
    if packs and marks.unaligned and not scope.clamped:
        versions.append(("", every))
    own = [axis for axis in axes_of(nest) if axis.points > 1 or axis.level == len(nest.loops) - 1]
    yield from indented(written(one, 0), "    ")
    yield f"  const bool aligned = {aligned(every, packs)};"
    yield from _outer(scope, nest, one, range(len(nest.loops)), [axis.level for axis in own])
    indent = "  " * (len(nest.loops) + 1)
    inside = list(_all_inside(scope, nest, own))
    if marks.usual:
        inside.append(usual_test(one, nest, "f"))
    for number, (test, body) in enumerate(versions):
        tests = " && ".join([test, *inside] if test else inside) or "true"
        yield from (
            f"{indent}{'} else ' if number else ''}if ({tests}) {{",
            *(f"{indent}  const s64 i{axis.level} = f{axis.level};" for axis in reversed(own)),
            *indented(all_rows(body), f"{indent}  "),
        )
    yield from (
        f"{indent}}} else {{",
        *_one_by_one(scope, nest, one, own[::-1], indent),
        f"{indent}}}",
        "  " + "}" * len(nest.loops),
    )


def _all_inside(scope: Scope, nest: Nest, own: Sequence[Axis]) -> Iterator[str]:
    """Yield the tests that all points of a thread lie inside."""
    for axis in own:
        range_ = nest.loops[axis.level].range
        if axis.level == len(nest.loops) - 1 and axis.points > 1:
            yield f"f{axis.level} >= {scope.bound(range_.start)}"
        if axis.points > 1:
            yield f"f{axis.level} + {axis.points} <= {scope.bound(range_.stop)}"


def _one_by_one(
    scope: Scope, nest: Nest, body: Body, axes: Sequence[Axis], indent: str
) -> Iterator[str]:
    """Write loops over the points of a thread that lie inside."""
    points = {axis.level: axis.points for axis in axes}
    last = len(nest.loops) - 1
    for level in range(axes[0].level, len(nest.loops)):
        if level == last:
            yield from indented(pointers(body), f"{indent}  ")
        if level in points:
            start, stop = scope.ends(nest.loops[level].range)
            first = f"f{level}"
            if level == last and points[level] > 1:
                first = f"f{level} < {start} ? {start} : f{level}"
            yield "#pragma unroll 1"
            yield (
                f"{indent}  for (s64 i{level} = {first}; "
                f"i{level} < f{level} + {points[level]} && i{level} < {stop}; ++i{level}) {{"
            )
        rows: Iterable[str] = written(body, level + 1)
        if level == last and _tests_single_points(nest):
            single = marked(nest, points=())
            usual = all_rows(thread_body(scope, settled_nest(nest)))
            rows = either(usual_test(body, single, "i"), usual, rows)
        yield from indented(rows, "  " * (level + 4))
    yield f"{indent}  " + "}" * len(axes)


def _tests_single_points(nest: Nest) -> bool:
    """Tell whether points one by one may have the usual conditions.

    They are the ends of rows where a version for all memory is there. With tables, the test reads
    entries, and the second body takes registers of the first.
    """
    return marks_of(nest).usual and not (marks_of(nest).unaligned or gathers(nest))
