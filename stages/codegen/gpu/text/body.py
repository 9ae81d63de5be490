"""Write the rows of a nest for a thread of a GPU, with indentation, and the arrays they touch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ....ir.loops.column import Column
from ....ir.loops.gpu import marks_of
from ....ir.loops.nest import Load, Nest, Row, Store
from ....ir.loops.traverse import instructions
from ...rows.body import Body, body_of, written
from ...rows.definitions import array
from ...rows.scope import Scope
from .quotients import with_reciprocals


def thread_body(scope: Scope, nest: Nest, besides: Collection[Row] = ()) -> Body:
    """Return the body of a nest for one thread; accesses `besides` get no addresses yet."""
    body = body_of(scope, nest, besides)
    return with_reciprocals(body) if marks_of(nest).reciprocals else body


def at(body: Body, level: int, indent: str, part: int = 0) -> Iterator[str]:
    """Write the rows inside `level` loops."""
    yield from (indent + line for line in written(body, level, part))


def within(body: Body, level: int, indent: str) -> Iterator[str]:
    """Write those rows without lines for what is written elsewhere."""
    yield from (indent + line for line in written(body, level) if line)


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
