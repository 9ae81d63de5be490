"""Write rows past the caches: put together in a buffer, then stored by whole cache lines."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from ..ir.loops import Nest
from .costs import ITEMSIZES
from .cpp_names import Names, stored_type

SIMD: Final = "#pragma omp simd"
LINE: Final = 64
PIECE: Final = 512  # bytes of a buffer: it stays in the first-level cache
_STORES: Final = {16: "movntdq", 32: "movntdq256", 64: "movntdq512"}


def stream_function(vector_bytes: int) -> str:
    """Return the function that stores whole lines past the caches.

    What other threads are to see is complete when the threads meet: a locked instruction empties
    the buffers of such stores.
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


def streamed(
    names: Names,
    nest: Nest,
    level: int,
    ends: tuple[str, str],
    rows: Mapping[str, str],
    body: Iterable[str],
    indent: str,
) -> Iterator[str]:
    """Write the innermost loop of a nest piece by piece, `rows` being where its stores go.

    Pieces that are no whole lines, at the ends of a row, are stored the usual way.
    """
    start, stop = ends
    types = [stored_type(names.by_name[name]) for name in nest.streams]
    sizes = [ITEMSIZES[names.by_name[name].dtype] for name in nest.streams]
    first, own = rows[nest.streams[0]], sizes[0]
    line, most = LINE // min(sizes), PIECE // max(sizes)
    alike = [
        f"(((s64)({first} + b) ^ (s64)({rows[name]} + b)) & {LINE - 1}) == 0"
        for name in nest.streams[1:]
    ]
    alike += ["false"] * (len(set(sizes)) > 1)
    yield f"{indent}{{ const bool far = {names.is_far(nest)};"
    yield f"{indent}for (s64 b = {start}, e; b < {stop}; b = e) {{"
    yield f"{indent}  const s64 ahead = (-(s64)({first} + b) & {LINE - 1}) / {own};"
    yield f"{indent}  const s64 rest = {stop} - b;"
    yield f"{indent}  const bool whole = {' && '.join(['far', f'rest >= {line}', *alike])};"
    yield f"{indent}  const bool past = whole && !ahead;"
    piece = f"earlier({most}, rest / {line} * {line})"
    yield f"{indent}  e = !whole ? {stop} : b + (ahead ? ahead : {piece});"
    for place, (name, type_) in enumerate(zip(nest.streams, types, strict=True)):
        yield f"{indent}  alignas({LINE}) {type_} x{place}_[{most}];"
        yield f"{indent}  {type_}* const w{place} = past ? x{place}_ - b : {rows[name]};"
    yield SIMD
    yield f"{indent}  for (s64 i{level} = b; i{level} < e; ++i{level}) {{"
    yield from body
    yield f"{indent}  }}"
    yield f"{indent}  if (past) {{"
    for place, (name, size) in enumerate(zip(nest.streams, sizes, strict=True)):
        yield f"{indent}    stream({rows[name]} + b, x{place}_, (e - b) * {size});"
    yield f"{indent}  }}"
    yield f"{indent}}}}}"
