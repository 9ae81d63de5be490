"""Write non-temporal stores: whole registers past the caches, where a call touches many bytes.

A strip stores its points to an array, which then goes to memory as a whole. Each row is named by
its pointer, and has an array and a buffer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from .....runtime.language.dimension import flip_staggered
from ....ir.loops.buffers import Buffer
from ....ir.loops.nest import Nest
from ....ir.loops.traverse import arrays_of
from ...rows.scope import Scope, stored_type
from ...schedule.costs import ITEMSIZES

LINE: Final = 64
LONG: Final = 3072  # bytes of a row from which its ends do not count
HELD: Final = 512  # bytes of a row that wait for non-temporal stores
_STORES: Final = {16: "movntdq", 32: "movntdq256", 64: "movntdq512"}
Stored: TypeAlias = Mapping[str, tuple[str, Buffer]]
# The names of the first point of a strip, of the first aligned one, of the test for such stores.
StripNames: TypeAlias = tuple[str, str, str]
NAMES: Final[StripNames] = ("b", "f", "past")


def stream_function(vector_bytes: int, linkage: str = "inline") -> str:
    """Return the function that writes registers with non-temporal stores.

    A locked instruction drains the store buffers, so that other threads see the data at the next
    barrier.
    """
    return f"""\
typedef long long line __attribute__((vector_size({vector_bytes})));
static {linkage} void stream(void* to, const void* from, s64 bytes) {{
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


def aligned(
    scope: Scope, stored: Stored, far: str, stop: str, names: StripNames = NAMES
) -> Iterator[str]:
    """Find the first point at which strips are aligned for non-temporal stores.

    They are worth it where a call touches `far` more than the caches hold, and rows consist of
    whole registers or are long: the ends of others take masked lanes and lines that are not stored
    as a whole.
    """
    rows, edge, (at, first, past) = list(stored), scope.options.vector_bytes, names
    size = ITEMSIZES[stored[rows[0]][1].dtype]
    alike = [f"((s64)({row} + {first}) & {edge - 1}) == 0" for row in rows]
    count = f"({stop} - {at})"
    ends = f"({count} * {size} >= {LONG} || ({first} == {at} && {count} % {edge // size} == 0))"
    yield from (
        f"const s64 {first} = {at} + (-(s64)({rows[0]} + {at}) & {edge - 1}) / {size};",
        f"const bool {past} = {' && '.join([far, ends, *alike])};",
    )


def buffers_of(stored: Stored, lanes: int) -> Iterator[str]:
    """Define arrays that hold some strips of each row.

    Loads that follow a non-temporal store wait for it where both addresses have the same last
    bits, as those of arrays of one shape have. So strips go to memory many at a time.
    """
    for array, buffer in stored.values():
        count = most_held(stored, lanes)
        yield f"alignas({LINE}) {stored_type(buffer)} h{array}[{count}];"


def most_held(stored: Stored, lanes: int) -> int:
    """Return how many points of a row the arrays hold: whole strips."""
    widest = max(ITEMSIZES[buffer.dtype] for _, buffer in stored.values())
    return max(1, HELD // widest // lanes) * lanes


def until_full(stored: Stored, lanes: int) -> Iterator[str]:
    """Tell where strips are stored, and up to which point the arrays hold them."""
    most = most_held(stored, lanes)
    yield f"const s64 held = b, full = past ? earlier(whole, b + {most}) : whole;"
    for row, (array, buffer) in stored.items():
        yield f"{stored_type(buffer)}* const t{array} = past ? h{array} - b : {row};"


def emptied(stored: Stored) -> Iterator[str]:
    """Write the arrays to memory."""
    calls = (
        f"stream({row} + held, h{array}, (b - held) * {ITEMSIZES[buffer.dtype]});"
        for row, (array, buffer) in stored.items()
    )
    yield f"if (past) {{ {' '.join(calls)} }}"


def stored_strips(stored: Stored, lanes: int, names: StripNames = NAMES) -> Iterator[str]:
    """Write the arrays that hold a strip, with non-temporal stores where rows are long enough."""
    at, _, test = names
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
    touched = arrays_of(scope.kernel)
    loops = [{loop.range.dim, flip_staggered(loop.range.dim)} for loop in nest.loops]
    size = sum(
        ITEMSIZES[buffer.dtype]
        for buffer in scope.kernel.buffers
        if buffer.name in touched
        and buffer.memory == "field"
        and not any(dims.isdisjoint(buffer.dims) for dims in loops)
    )
    known = scope.options.stream_from
    return f"{count} * {size} >= {scope.ask('far') if known is None else known}"
