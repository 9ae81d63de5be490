"""Write scans over long columns: the last levels of arrays in shared memory, the others in memory.

Level `n` of the first scan, from 0 on, has place `n % levels` of an array in shared memory, if it
is not one of the first `rest`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from .....runtime.process import classes
from ....ir.loops import Nest, Range
from ....ir.loops.gpu import Columns, Long
from ...rows import NAMELESS, Scope, pointers, states
from .lines import braced
from .scan import first_elements, outside, rounds, scoped, write_scan
from .windows import SharedLevels, scan_of, shared_levels


def write_long(
    scope: Scope, nests: Sequence[Nest], columns: Columns, once: Sequence[Collection[str]]
) -> Iterator[str]:
    """Write the scans of a column, after what `level_arrays` defines and the arrays in memory.

    `once` has of each scan what it touches last.
    """
    yield from _first(scope, nests[0], columns, once[0])
    for nest, own in zip(nests[1:], once[1:], strict=True):
        yield from _later(scope, nest, columns, own)


def level_arrays(
    scope: Scope, columns: Columns, load: Long, arrays: Iterable[str]
) -> Iterator[str]:
    """Define the arrays in shared memory, by their lines, and which levels they have where."""
    start, threads = scope.bound(load.outside.start), columns.threads
    stop = scope.bound(columns.scans[0].loops[-1].range.stop)
    yield from (
        f"const s32 levels = s32({scope.bound(load.levels)});",
        f"const s32 rest = s32({scope.bound(load.rest)});",
        *arrays,
        f"const s32 wrap = (s32({stop} - {start}) - 1) / levels * levels;",
        "const auto kept = [&](s64 level) {",
        f"  const s32 place = s32(level - {start}) - wrap;",
        f"  return (place < 0 ? place + levels : place) * {threads} + s32(threadIdx.x);",
        "};",
    )


def _shared(nest: Nest, columns: Columns, place: str) -> dict[int, SharedLevels]:
    return shared_levels(nest, {name: f"h{n}" for n, name in enumerate(columns.arrays)}, place)


def _first(scope: Scope, nest: Nest, columns: Columns, once: Collection[str]) -> Iterator[str]:
    """Write the first scan: rounds that store to memory, then to shared memory."""
    far = scan_of(scope, nest, {}, once)
    near = classes.evolve(
        far,
        shared=_shared(nest, columns, f"(place + {{step}}) * {columns.threads} + threadIdx.x"),
        opening=("const s32 place = s32(u32(first) % u32(levels));",),
    )
    yield from scoped(far, (*first_elements(far), *rounds(far, "rest"), *rounds(near, "total")))


def _later(scope: Scope, nest: Nest, columns: Columns, once: Collection[str]) -> Iterator[str]:
    """Write a scan after the first: levels in shared memory and those outside, in its order."""
    range_, load = nest.loops[-1].range, columns.load
    assert isinstance(load, Long)
    near = _over(nest, Range(range_.dim, load.outside.stop, range_.stop))
    shared = _shared(nest, columns, f"kept(i{len(nest.loops) - 1})")
    parts = [
        scan_of(scope, near, shared, once, unroll=8),
        scan_of(scope, _over(nest, load.outside), {}, once),
    ]
    blocks = (
        braced("", outside(scan), pointers(scan.body), write_scan(scan))
        for scan in (parts if nest.loops[-1].backward else reversed(parts))
    )
    first = parts[0].body
    is_loaded = any(not isinstance(first.rows[row], NAMELESS) for _, row in first.states)
    yield from braced("", outside(parts[0]) if is_loaded else (), states(first), *blocks)


def _over(nest: Nest, range_: Range) -> Nest:
    *around, inner = nest.loops
    return classes.evolve(nest, loops=(*around, classes.evolve(inner, range=range_)))
