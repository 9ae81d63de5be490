"""Write innermost loops strip by strip; a strip has as many points as a register has lanes.

The number of points in a strip is constant, so that compilers add no code around its vectors. The
end of a row is a strip with some lanes masked. Non-temporal stores write whole registers, and each
strip prefetches the rows that the next outer loop reads soon.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from ....ir.nests import Compute, Load, Nest, Store
from ...rows.body import BodyText
from ...rows.names import Names, stored_type
from ...schedule.costs import ITEMSIZES, TRANSCENDENTAL, operations
from ..passes.streaming import SMALLEST
from ..passes.tiling import USUAL
from .sliding import Slides

SIMD: Final = "#pragma omp simd"
LINE: Final = 64
_STORES: Final = {16: "movntdq", 32: "movntdq256", 64: "movntdq512"}
_SHORT: Final = 16  # bytes of a register
_POINTERS: Final = 16  # registers for pointers
_FIRST: Final = 32 << 10  # bytes of the first-level cache

CALLED: Final = "masked(few);"
MASKED: Final = """\
template <class Body>
static __attribute__((noinline)) void masked(const Body& given) {
  const Body body = given;
  body();
}"""


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


class Strips:
    """The innermost loop of one nest."""

    def __init__(self, names: Names, nest: Nest, body: BodyText, indent: str) -> None:
        self.names = names
        self.nest = nest
        self.body = body
        self.indent = indent
        self.level = len(nest.loops) - 1
        self.lanes = lanes_of(names, nest)
        self.later = body.for_later()
        self.stored = {
            row: (f"k{place}", names.by_name[buffer])
            for place, (row, buffer) in enumerate(body.stored().items())
        }
        self.slides = self._slides()
        self.apart = _apart(names, nest)

    def _slides(self) -> Slides | None:
        """Return the values that slide, if a strip of them is one register."""
        wide, nest = self.names.options.vector_bytes, self.nest
        fits = all(
            self.lanes * ITEMSIZES[nest.body[row].dtype] == wide for row, _, _ in nest.slides
        )
        if not nest.slides or self.names.options.checked or not fits:
            return None
        slides = Slides(nest, self.body, self.lanes)
        self.names.functions.update(slides.functions(wide))
        return slides

    def before(self) -> Iterator[str]:
        """Name the rows to prefetch, which all parts share."""
        if self.later.rows:
            yield f"{self.indent}const bool asks = {self.names.leaves_core(self.nest)};"
            yield f"{self.indent}{self.later.ahead()}"
            yield from self.later.pointers(self.indent)

    def walk(self, ends: tuple[str, str], part: int, clause: str = "") -> Iterator[str]:
        """Write one part of the loop; `clause` is what its lanes reduce.

        The last strip of a row ends with it and computes points of the one before again. Rows that
        are shorter than a strip, or whose values the loop changes, end with masked lanes.
        """
        start, stop = ends
        indent, lanes = self.indent, self.lanes
        again = self._again(stop)
        yield f"{indent}{{"
        yield f"{indent}  s64 b = {start};"
        if self.stored:
            yield from self._aligned()
        yield f"{indent}  const bool again = {again};"
        if self.stored:
            yield f"{indent}  for (s64 e = past ? earlier({stop}, f) : b;; e = {stop}) {{"
            yield from self._masked("e", part, clause)
            yield f"{indent}  b = later(b, e);"
        yield f"{indent}  const s64 whole = {stop} - (again ? 0 : ({stop} - b) % {lanes});"
        if self.slides:
            yield from self.slides.before(f"{indent}  ")
        yield f"{indent}  for (; b < whole; b += {lanes}) {{"
        yield from self._held(stop)
        yield from self._whole(part, clause)
        yield f"{indent}  }}"
        if self.stored:
            yield f"{indent}  if (b >= {stop}) break;"
            yield f"{indent}  }}"
        else:
            yield from self._masked(stop, part, clause)
        yield f"{indent}}}"

    def _again(self, stop: str) -> str:
        """Return the test that a row may end with a strip that overlaps the one before.

        Rows of non-temporal stores are written once; strips with slides follow each other.
        """
        if self.apart is None or self.slides:
            return "false"
        tests = [f"{stop} - b >= {self.lanes}", *self.apart]
        return " && ".join(["!past", *tests] if self.stored else tests)

    def _held(self, stop: str) -> Iterator[str]:
        """Let the last strip end with the row; keep `b` where registers are few.

        From a loop that only counts, compilers make a pointer for each row. An empty instruction
        that could change `b` keeps them from it.
        """
        if not self.slides:
            yield f"{self.indent}    b = earlier(b, {stop} - {self.lanes});"
        elif len(self.body.rows) > _POINTERS:
            yield f'{self.indent}    asm("" : "+r"(b));'

    def _masked(self, end: str, part: int, clause: str) -> Iterator[str]:
        """Write a strip that ends before its last lane, as a function of its own.

        Compilers keep something in the lanes that are not loaded: whole registers, which would
        occupy the registers of the strips without masks.
        """
        called = not clause  # what lanes reduce is a variable of the row
        yield f"{self.indent}  if (b < {end}) {{"
        if called:
            yield f"{self.indent}    const auto few = [=]() __attribute__((always_inline)) {{"
        yield from self._strip(part, {}, f"if (l < {end} - b) {{", clause)
        if called:
            yield f"{self.indent}    }};"
            yield f"{self.indent}    {CALLED}"
        yield f"{self.indent}  }}"

    def _whole(self, part: int, clause: str) -> Iterator[str]:
        """Write a strip without masks."""
        indent = self.indent
        yield from self._asked()
        yield from self._kept()
        kept = {row: array for row, (array, _) in self.stored.items()}
        if self.nest.usual:
            yield f"{indent}      if ({self.body.is_usual()}) {{"
            yield from self.body.usual(f"{indent}        ")
            yield from self._strip(part, kept, "{", clause)
            yield f"{indent}      }} else {{"
        if self.slides:
            yield from self.slides.first(f"{indent}      ")
            yield from self.slides.strip(kept, SIMD, f"{indent}      ")
        else:
            yield from self._strip(part, kept, "{", clause)
        if self.nest.usual:
            yield f"{indent}      }}"
        yield from self._written()

    def _strip(self, part: int, kept: Mapping[str, str], lane: str, clause: str) -> Iterator[str]:
        indent = f"{self.indent}      "
        yield SIMD + clause
        yield f"{indent}for (s64 l = 0; l < {self.lanes}; ++l) {lane}"
        yield f"{indent}  const s64 i{self.level} = b + l;"
        yield from self.body.at(self.level + 1, part, kept, deeper=3)
        yield f"{indent}}}"

    def _aligned(self) -> Iterator[str]:
        """Find the first point at which strips are aligned for non-temporal stores."""
        rows = list(self.stored)
        size, edge = ITEMSIZES[self.stored[rows[0]][1].dtype], self.names.options.vector_bytes
        ahead = f"(-(s64)({rows[0]} + b) & {edge - 1}) / {size}"
        alike = [f"((s64)({row} + f) & {edge - 1}) == 0" for row in rows]
        past = " && ".join([self.names.is_far(self.nest), *alike])
        yield f"{self.indent}  const s64 f = b + {ahead};"
        yield f"{self.indent}  const bool past = {past};"

    def _asked(self) -> Iterator[str]:
        """Prefetch the lines of a strip, unless the second-level cache holds all of the call."""
        near = 3 if self._is_near() else 2  # the cache to prefetch into
        if self.later.rows:
            yield f"{self.indent}      if (asks) {{"
        for (name, _), row in self.later.rows.items():
            size = ITEMSIZES[self.names.by_name[name].dtype]
            for line in range(0, self.lanes * size, LINE):
                at = f"{row} + b + {line // size}" if line else f"{row} + b"
                yield f"{self.indent}        __builtin_prefetch({at}, 0, {near});"
        if self.later.rows:
            yield f"{self.indent}      }}"

    def _is_near(self) -> bool:
        """Tell whether the first-level cache keeps a usual row until the loop reads it.

        Half of this cache holds what the loop touches between prefetch and load.
        """
        size = sum(ITEMSIZES[self.names.by_name[name].dtype] for name, _ in self.body.rows)
        return USUAL[self.nest.loops[-1].range.dim.kind] * size * self.nest.ahead < _FIRST // 2

    def _kept(self) -> Iterator[str]:
        """Define the arrays that hold a strip before non-temporal stores write it."""
        for array, buffer in self.stored.values():
            yield f"{self.indent}      alignas({LINE}) {stored_type(buffer)} {array}[{self.lanes}];"

    def _written(self) -> Iterator[str]:
        """Write these arrays, with non-temporal stores where rows are long enough."""
        sizes = {row: self.lanes * ITEMSIZES[b.dtype] for row, (_, b) in self.stored.items()}
        past = [f"stream({r} + b, {self.stored[r][0]}, {n});" for r, n in sizes.items()]
        here = [f"__builtin_memcpy({r} + b, {self.stored[r][0]}, {n});" for r, n in sizes.items()]
        if self.stored:
            yield f"{self.indent}      if (past) {{ {' '.join(past)} }}"
            yield f"{self.indent}      else {{ {' '.join(here)} }}"


def _apart(names: Names, nest: Nest) -> list[str] | None:
    """Return the tests that a loop may compute points twice; None where it never may.

    It must not change what it loads. Calls may write to the memory of an input that the loop reads
    at the same points: both are then the same view, at one address.
    """
    stores = dict.fromkeys(row.buffer for row in nest.body if isinstance(row, Store))
    loads = dict.fromkeys(row.buffer for row in nest.body if isinstance(row, Load))
    if not stores.keys().isdisjoint(loads):
        return None
    fields = [each for each in names.kernel.buffers if each.memory == "field"]
    return [
        f"{names.buffers[output.name]} != {names.buffers[each.name]}"
        for output in fields
        if output.name in stores
        for each in fields
        if each.name in loads and (each.dtype, each.dims) == (output.dtype, output.dims)
    ]


def lanes_of(names: Names, nest: Nest) -> int:
    """Return the points of a strip: as many as a register holds of the smallest elements.

    Functions are long chains of operations; with a second register, the two chains overlap. Where
    registers are short, a strip is a cache line.
    """
    touched = [names.by_name[row.buffer] for row in nest.body if isinstance(row, Load | Store)]
    inner = nest.loops[-1].range.dim
    sizes = [max(SMALLEST, ITEMSIZES[each.dtype]) for each in touched if inner in each.dims]
    chains = any(
        isinstance(row, Compute) and operations(row.op) >= TRANSCENDENTAL for row in nest.body
    )
    width = names.options.vector_bytes if names.options.vector_bytes > _SHORT else LINE
    return max(1, (1 + chains) * width // min(sizes, default=8))
