"""The integers that a call passes to generated code: strides, bounds, sizes of slots."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.inside import bounds_of, values_of
from ..ir.loops import (
    Apply,
    Bound,
    Choice,
    Column,
    Const,
    Kernel,
    Loop,
    Number,
    Range,
    Stride,
    arrays_of,
    groups_of,
    nests_of,
    nodes_of,
)
from ..ir.settled import shared


def integers(kernel: Kernel) -> tuple[Bound | Stride, ...]:
    """Return the bound or stride behind each integer of the entry point, each once.

    The source contains constants as numbers; bounds that differ by a constant share one integer.
    """
    found: dict[Bound | Stride, None] = {}
    touched = arrays_of(kernel)
    for buffer in kernel.buffers:
        if buffer.memory in ("field", "table") and buffer.name in touched:
            for axis, dim in enumerate(buffer.dims):
                if dim is not buffer.unit:
                    found[Stride(buffer.name, axis)] = None
    symbols = dict.fromkeys(split(bound)[0] for bound in _bounds(kernel))
    known = [symbol for symbol in symbols if symbol is not None]
    found |= dict.fromkeys(shared(known))
    found |= dict.fromkeys(known)
    return tuple(found)


def split(bound: Bound) -> tuple[Bound | None, int]:
    """Split a bound into a part that only the call knows (None if there is none) and a constant.

    >>> from ..ir.bounds import ScalarSymbol, add
    >>> symbol, constant = split(add(ScalarSymbol("n"), 2))
    >>> str(symbol), constant
    ('n', 2)
    """
    if isinstance(bound, Const):
        return None, bound.value
    if isinstance(bound, Apply) and bound.op == "add" and isinstance(bound.args[-1], Const):
        rest = bound.args[:-1]
        return (rest[0] if len(rest) == 1 else Apply("add", rest)), bound.args[-1].value
    return bound, 0


def _bounds(kernel: Kernel) -> Iterator[Bound]:
    on_gpu = any(loop.kind == "thread" for nest in nests_of(kernel) for loop in nest.loops)
    for nest in nests_of(kernel):
        yield from bounds_of((kernel.groups[nest.group].box, nest.box, nest.parts))
        yield from (row.bound for row in nest.body if isinstance(row, Number))
    yield from bounds_of((tuple(buffer.box for buffer in kernel.buffers), kernel.slots))
    yield from (bound for group in groups_of(kernel) for bound in group.bounds)
    if not on_gpu:  # there launches choose
        yield from (choice.when for choice in nodes_of(kernel, Choice))
    yield from bounds_of(tuple(loop.range for loop in nodes_of(kernel, Loop)))
    for column in nodes_of(kernel, Column):
        yield from bounds_of((kernel.groups[column.group].box, column.box))
        yield from bounds_of(tuple(values_of(column.acts, Range)))
        yield from (row.bound for row in values_of(column.acts, Number))
