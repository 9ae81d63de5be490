"""Lines of C++ that a GPU's kernels share: rows of nests, arrays, blocks in braces."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ....ir.loops import Column, Load, Nest, Row, Store, instructions
from ....ir.loops.gpu import marks_of
from ...rows import Body, Scope, array, body_of
from .quotients import with_reciprocals


def thread_body(scope: Scope, nest: Nest, besides: Collection[Row] = ()) -> Body:
    """Return the body of a nest for one thread; accesses `besides` get no addresses yet."""
    body = body_of(scope, nest, besides)
    return with_reciprocals(body) if marks_of(nest).reciprocals else body


def buffers_of(*nests: Nest | Column) -> list[str]:
    """Return the buffers that nests touch, each once, in order."""
    rows = (row for nest in nests for row in instructions(nest))
    return list(dict.fromkeys(row.buffer for row in rows if isinstance(row, Load | Store)))


def arrays(
    scope: Scope, nests: Iterable[Nest | Column], besides: Collection[str] = ()
) -> Iterator[str]:
    """Define the arrays of the arena that nests touch, but those `besides`."""
    for name in buffers_of(*nests):
        buffer = scope.by_name[name]
        if buffer.memory == "arena" and name not in besides:
            yield from (line for _, line in array(scope, buffer))


def indented(lines: Iterable[str], by: str = "  ") -> Iterator[str]:
    """Indent lines."""
    return (by + line for line in lines)


def braced(head: str, *lines: Iterable[str]) -> Iterator[str]:
    """Write lines in braces after a head."""
    yield f"{head} {{" if head else "{"
    for each in lines:
        yield from indented(each)
    yield "}"


def either(test: str, then: Iterable[str], otherwise: Iterable[str]) -> Iterator[str]:
    """Write the lines for calls where a test holds, and for others."""
    yield from (f"if ({test}) {{", *indented(then), "} else {", *indented(otherwise), "}")


def shared_arrays(
    arrays: Iterable[tuple[str, str, str, int]], place: str = "u32({})"
) -> Iterator[str]:
    """Define arrays in shared memory one after the other: names, types, counts, sizes of items."""
    room = "0"
    for name, type_, count, size in arrays:
        yield f"const ff::shared_array<{type_}> {name}({place.format(room)}, {count});"
        room += f" + {count} * {size}"
