"""Lines of C++ that a GPU's kernels share: rows of nests, quotients, arrays, blocks in braces.

CUDA's `a / b` is a reciprocal, four or five steps of Newton and Markstein, and a test whether the
operands are too far from 1 for them; then it calls a function. The compiler cannot join two such
quotients across their calls. Here all take one reciprocal and one test; where it fails, they
are `a / b`. Within the ranges that the tests allow no step over- or underflows, and the
quotient is rounded as IEEE 754 says, as CUDA's is from the same steps.

CUDA's test fails for 0, which is common: a limiter at an extremum, a tracer where there is none.
One thread with a 0 lets its warp call the function. Here the first product is the quotient of 0.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, Final

from .....runtime.process import classes
from ....ir.loops import (
    Act,
    Column,
    Compute,
    Load,
    Nest,
    Row,
    Store,
    Sweep,
    While,
    instructions,
)
from ....ir.loops.gpu import marks_of
from ...acts.act_trees import below
from ...rows import (
    NAMELESS,
    TYPES,
    Body,
    Scope,
    array,
    body_of,
    name,
    operand,
    pointers,
    surroundings,
    written,
)


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
    for touched in buffers_of(*nests):
        buffer = scope.by_name[touched]
        if buffer.memory == "arena" and touched not in besides:
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
    for held, type_, count, size in arrays:
        yield f"const ff::shared_array<{type_}> {held}({place.format(room)}, {count});"
        room += f" + {count} * {size}"


FUNCTION: Final = """\
#ifdef __CUDA_ARCH__
DEVICE bool reciprocal(f64 b, f64& r) {
  f64 e;
  asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
  r = __hiloint2double(__double2hiint(r), 1);
  e = fma(-b, r, 1.0), e = fma(e, e, e), r = fma(r, e, r);
  e = fma(-b, r, 1.0), r = fma(r, e, r);
  return fabsf(__int_as_float(__double2hiint(b))) < 1e38f;
}
DEVICE bool quotient(f64 a, f64 b, f64 r, f64& q) {
  const f64 first = a * r;
  q = fma(r, fma(-b, first, a), first);
  const bool fits = (fabsf(__int_as_float(__double2hiint(a))) >= 6.5827683646048100446e-37f) &
                    (fabsf(__int_as_float(__double2hiint(q))) > 1.469367938527859385e-39f);
  if (a == 0.0) q = first;
  return fits | ((first == 0.0) & (a == 0.0));
}
DEVICE bool reciprocal(f32 b, f32& r) {
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(b));
  r = fmaf(r, fmaf(-b, r, 1.0f), r);
  return (fabsf(b) > 0x1p-60f) & (fabsf(b) < 0x1p60f);
}
DEVICE bool quotient(f32 a, f32 b, f32 r, f32& q) {
  const f32 first = a * r;
  q = fmaf(r, fmaf(-b, first, a), first);  // -0.0 / b has another sign
  return (__float_as_int(a) == 0) | ((fabsf(a) > 0x1p-60f) & (fabsf(a) < 0x1p60f));
}
template <typename T, int N> DEVICE void divide(T (&q)[N], T b) {
  T r, found[N];
  bool fits = reciprocal(b, r);
#pragma unroll
  for (int i = 0; i < N; ++i) fits = fits & quotient(q[i], b, r, found[i]);
  if (!fits) {
#pragma unroll
    for (int i = 0; i < N; ++i) found[i] = q[i] / b;
  }
#pragma unroll
  for (int i = 0; i < N; ++i) q[i] = found[i];
}
#else
template <typename T, int N> DEVICE void divide(T (&q)[N], T b) {
  for (int i = 0; i < N; ++i) q[i] = q[i] / b;
}
#endif"""


def with_reciprocals(body: Body, acts: Sequence[Act] = ()) -> Body:
    """Return a body, of a column with its acts, that computes quotients by one number at once."""
    instead = dict(body.instead)
    for place, rows in _divisions(body, acts):
        body.scope.uses.functions["divide"] = FUNCTION
        first = body.rows[rows[0]]
        over = ", ".join(operand(body, body.rows[row].operands[0]) for row in rows)
        type_, found = TYPES[first.dtype][0], f"d{place}"
        lines = [
            f"{type_} {found}[] = {{{over}}};",
            f"divide({found}, {operand(body, first.operands[1])});",
            *(f"const {type_} {name(body, row)} = {found}[{n}];" for n, row in enumerate(rows)),
        ]
        instead |= dict.fromkeys(rows, "") | {place: " ".join(lines)}
    return classes.evolve(body, instead=instead)


def _divisions(body: Body, acts: Sequence[Act]) -> Iterator[tuple[Row, list[Row]]]:
    """Yield the quotients by one number, with the row where they are computed.

    They wait for the last of them, if nothing between uses them, or come with the first one, if
    what they divide is known there. Others are alone: inside all loops of a nest, or in a loop of a
    column around which the divisor is known. The steps of a scan wait for one another: there the
    test for 0 costs more than it saves.
    """
    around = dict.fromkeys(range(len(body.rows)), ()) | surroundings(acts, 0).blocks
    loops = {id(act) for act in below(acts) if isinstance(act, Sweep | While)}
    nameless = {n for n, row in enumerate(body.rows) if isinstance(row, NAMELESS)}
    found: dict[tuple[Any, ...], list[Row]] = {}
    for number, row in enumerate(body.rows):
        if isinstance(row, Compute) and row.op == "div" and row.dtype in ("float32", "float64"):
            place = row.args[1], row.level, row.part, around[number], row.dtype
            found.setdefault(place, []).append(number)
    for (divisor, level, _, blocks, _), rows in found.items():
        between = (body.rows[number] for number in range(rows[0] + 1, rows[-1] + 1))
        divided = {body.rows[row].operands[0] for row in rows} - nameless
        if all(set(rows).isdisjoint(row.operands) for row in between):
            groups = [(rows[-1], rows)]
        elif acts and max(divided, default=-1) < rows[0]:
            groups = [(rows[0], rows)]
        else:
            groups = [(row, [row]) for row in rows]
        inner = blocks[len(around[divisor]) :]
        is_known = divisor not in nameless and not loops.isdisjoint(inner)
        inside = is_known if acts else level == body.depth and not body.states
        yield from (group for group in groups if len(group[1]) > 1 or inside)


def all_rows(body: Body) -> Iterator[str]:
    """Write all rows of a body, those around its loops too."""
    around = (row for level in range(body.depth) for row in written(body, level))
    return filter(None, (*around, *pointers(body), *written(body, body.depth)))
