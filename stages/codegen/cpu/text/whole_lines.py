"""Write rows past the caches: the test for it, and the points before their first whole line.

Rows of fields with halos begin and end inside of a line. These ends are written by other stores, as
a part of a line that is written past the caches takes longer than to read the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ....ir.loops import ITEMSIZES, LINE, Nest, marks_of
from ...rows import Scope
from .simd import registers_of
from .streams import Stored, is_far
from .threads import points


def begin_at_line(
    scope: Scope, nest: Nest, stored: Stored, stop: str, lanes: int, call: str
) -> Iterator[str]:
    """Define the test for non-temporal stores, and let `b` be where the first whole line begins.

    They are worth it where a call touches more than the caches hold, and rows are long: much of a
    short one is its ends. To `call` a strip for the points before the line is not worth it where
    points are functions: these take longer than memory does.
    """
    left = f"{stop} - b - head"
    tests = [is_far(scope, nest, points(scope, nest.box)), *_are_rows_alike(scope, stored)]
    tests.append(f"({left} == {lanes} || {left} >= {2 * lanes})")
    computes = registers_of(nest.body) > 1
    yield from first_line(stored, [*tests, *["head == 0"] * computes], ("b", "head", "past"))
    if computes:
        return
    yield f"for (const s64 line = b + head; past && b < line; b = earlier(b + {lanes}, line))"
    yield f"  {call}"
    for test, last in (("head", "b"), (f"({stop} - b) % {lanes}", stop)):
        places = [f"{place} + {last} - 1" for place in later_rows(scope, nest, stored)]
        if places:
            asked = " ".join(f"{scope.ask('ask')}<3>({place});" for place in places)
            yield f"if (past && {test}) {{ {asked} }}"


def first_line(stored: Stored, tests: Iterable[str], names: tuple[str, str, str]) -> Iterator[str]:
    """Define how many points of a row lie before its first whole line, and the test for its stores.

    The test is that of `tests`, and that a line begins there in all stored rows. The names are
    those of the first point, the number and the test.
    """
    at, head, past = names
    row, (_, buffer) = next(iter(stored.items()))
    alike = (f"((s64)({each} + {at} + {head}) & {LINE - 1}) == 0" for each in stored)
    yield f"const s64 {head} = (-(s64)({row} + {at}) & {LINE - 1}) / {ITEMSIZES[buffer.dtype]};"
    yield f"const bool {past} = {' && '.join((*tests, *alike))};"


def _are_rows_alike(scope: Scope, stored: Stored) -> Sequence[str]:
    """Return the tests that all rows of the stored fields begin with a line if one does.

    Where only some do, the processor fetches lines ahead that are then stored past the caches.
    """
    return tuple(
        dict.fromkeys(
            f"({scope.stride(buffer, axis)} & {LINE // ITEMSIZES[buffer.dtype] - 1}) == 0"
            for _, buffer in stored.values()
            for axis, dim in enumerate(buffer.dims)
            if dim is not buffer.unit
        )
    )


def later_rows(scope: Scope, nest: Nest, stored: Stored) -> Iterator[str]:
    """Yield the rows that a later iteration of the next outer loop stores, if the nest prefetches.

    Stores leave a processor in their order: those past the caches would wait for the ends of rows.
    """
    around, ahead = nest.loops[-2], marks_of(nest).ahead
    places = ahead * around.step * (-1 if around.backward else 1)
    for row, (_, buffer) in stored.items():
        if ahead and around.range.dim in buffer.dims:
            axis = buffer.dims.index(around.range.dim)
            yield f"{row} + {places} * {scope.stride(buffer, axis)}"
