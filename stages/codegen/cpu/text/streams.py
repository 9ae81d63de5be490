"""Write non-temporal stores: whole lines past the caches, where a call touches many bytes.

A strip stores its points to an array, which then goes to memory as a whole. Each row is named by
its pointer, and has an array and a buffer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from .....runtime.language import flip_staggered
from ....ir.loops import Buffer, Nest, arrays_of
from ...rows.scope import Scope
from ...schedule.costs import ITEMSIZES

LINE: Final = 64
_STORES: Final = {16: "movntdq", 32: "movntdq256", 64: "movntdq512"}
Stored: TypeAlias = Mapping[str, tuple[str, Buffer]]
# The names of the first point of a strip, and of the test for such stores.
StripNames: TypeAlias = tuple[str, str]
NAMES: Final[StripNames] = ("b", "past")


def stream_function(vector_bytes: int) -> str:
    """Return the function that writes registers with non-temporal stores.

    A locked instruction drains the store buffers, so that other threads see the data at the next
    barrier.
    """
    return f"""\
typedef long long line __attribute__((vector_size({vector_bytes})));
static inline void stream(void* to, const void* from, s64 bytes) {{
  line* const d = (line*)to;
  const line* const s = (const line*)from;
  for (s64 i = 0; i < bytes / {vector_bytes}; ++i) {{
#ifdef __clang__
    __builtin_nontemporal_store(s[i], d + i);
#else
    __builtin_ia32_{_STORES[vector_bytes]}(d + i, s[i]);
#endif
  }}
}}"""


def aligned(stored: Stored, far: str, names: StripNames = NAMES) -> str:
    """Define the test for non-temporal stores: rows begin with a line of the caches.

    They are worth it where a call touches `far` more than the caches hold. Other rows would write
    parts of lines past the caches, which takes longer than to read them.
    """
    at, test = names
    alike = (f"((s64)({row} + {at}) & {LINE - 1}) == 0" for row in stored)
    return f"const bool {test} = {' && '.join((far, *alike))};"


def are_rows_alike(scope: Scope, stored: Stored) -> Sequence[str]:
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


def stored_strips(stored: Stored, lanes: int, names: StripNames = NAMES) -> Iterator[str]:
    """Write the arrays that hold a strip, with non-temporal stores where rows are long enough."""
    at, test = names
    sizes = {row: lanes * ITEMSIZES[buffer.dtype] for row, (_, buffer) in stored.items()}
    past, here = (
        " ".join(f"{call}({row} + {at}, {stored[row][0]}, {size});" for row, size in sizes.items())
        for call in ("stream", "__builtin_memcpy")
    )
    if stored:
        yield from (f"if ({test}) {{ {past} }}", f"else {{ {here} }}")


def is_far(scope: Scope, nest: Nest, count: str) -> str:
    """Return the test that a call touches more bytes of fields than the caches hold.

    The test takes each field to be as large as the domain of the nest, of `count` points.
    """
    loops = [{loop.range.dim, flip_staggered(loop.range.dim)} for loop in nest.loops]
    return _beyond(
        scope,
        count,
        lambda each: (
            each.memory == "field" and not any(dims.isdisjoint(each.dims) for dims in loops)
        ),
    )


def leaves_caches(scope: Scope, nest: Nest, count: str) -> str:
    """Return that test for fields and arrays, also those on other locations of a mesh."""
    kinds = Counter(loop.range.dim.kind for loop in nest.loops)
    return _beyond(
        scope,
        count,
        lambda each: (
            each.memory in ("field", "arena") and kinds <= Counter(dim.kind for dim in each.dims)
        ),
    )


def _beyond(scope: Scope, count: str, has_points: Callable[[Buffer], bool]) -> str:
    touched = arrays_of(scope.kernel)
    buffers = (each for each in scope.kernel.buffers if each.name in touched and has_points(each))
    size = sum(ITEMSIZES[each.dtype] for each in buffers)
    known = scope.options.stream_from or None  # no call streams from 0 bytes on
    return f"{count} * {size} >= {scope.ask('far') if known is None else known}"
