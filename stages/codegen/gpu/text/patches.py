"""Write nests as one kernel, each block of which computes a patch of a mesh by its lists."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence

import attrs

from ....ir.bounds import Bound, Const, PatchBound
from ....ir.loops.gpu import Patches
from ....ir.loops.kernel import Choice, Node, Seq
from ....ir.loops.nest import Each, Load, Nest, Store
from ....ir.loops.traverse import nodes_of
from ...rows.scope import Scope, stored_type
from ...schedule.costs import ITEMSIZES
from ..passes.sharing_in_patches import fillers_of
from .body import arrays as define
from .body import buffers_of
from .near import Room, all_at_once, one_by_one
from .wide import together as all_aligned

# Words of each nest at the begin of the lists: where its near indices and its elements begin, and
# the most elements of a patch; see `patches.h`.
HEADER = 3


@attrs.frozen
class _Loop:
    """A loop over the elements of a list, with `others` that one loop takes where `joint` is 1.

    Then it is `only` a loop of these calls (1), of others (0), or of all; the rest of its list
    follows the others.
    """

    each: Each
    joint: Bound | None = None
    others: int = -1
    only: int | None = None


def write_patches(scope: Scope, patches: Patches) -> Iterator[str]:
    """Write the statements of one thread: in order the loops over the elements of lists."""
    loops = list(_loops(patches.body))
    nests = [loop.each.nest for loop in loops]
    levels = nests[0].loops[-1].range
    address = scope.bound(PatchBound("address", patches.order))
    parts = scope.bound(patches.parts(levels))
    first = f"({scope.bound(levels.start)} & -{patches.points})"
    yield from define(scope, nests, patches.arrays)
    count = len(patches.order.members)
    yield f"  const u32* const lists = (const u32*){address};"
    yield f"  const u32 parts = u32({parts}), patch = blockIdx.x / parts;"
    lanes = patches.levels // patches.points
    yield f"  const u32 lane = threadIdx.x % {lanes}, own = threadIdx.x / {lanes};"
    yield f"  const s64 start = {first} + s64(blockIdx.x - patch * parts) * {patches.levels};"
    yield f"  const s64 f1 = start + lane * {patches.points};"
    yield f"  const u32* const firsts = lists + {HEADER * count} + patch * {count};"
    yield "  u32 turn = 0;  // of the threads that take the first elements of a loop"
    arrays = yield from _shared(scope, patches)
    fresh: set[str] = set()  # filled since the last barrier
    for loop in loops:
        waits = any(isinstance(row, Load) and row.buffer in fresh for row in loop.each.nest.body)
        fresh = (set() if waits else fresh) | _stored(loop.each.nest) & arrays.keys()
        others = [other for other in loops if other is not loop and not _excludes(other, loop)]
        once = frozenset(_once(scope, loop.each, others))
        yield from _loop(scope, patches, loop, _room(patches, loop.each, arrays, once), waits=waits)


def _loops(body: Node) -> Iterator[_Loop]:
    """Yield the loops of a patch: of a choice, both sides; one of its loops is on both."""
    steps = list(body.steps if isinstance(body, Seq) else (body,))
    while steps:
        step = steps.pop(0)
        if isinstance(step, Each) and step.part == "all":
            yield _Loop(step)
            continue
        joint = step.when if isinstance(step, Choice) else Const(1)
        pair = step.then if isinstance(step, Choice) else Seq((step, steps.pop(0)))
        owned, rest = nodes_of(pair, Each)
        yield _Loop(owned, joint, rest.elements, only=1)
        yield _Loop(rest, joint, owned.elements)
        if isinstance(step, Choice):
            _, apart = nodes_of(step.otherwise, Each)
            yield _Loop(apart, joint, rest.elements, only=0)


def _excludes(loop: _Loop, other: _Loop) -> bool:
    return {loop.only, other.only} == {0, 1}


def _stored(nest: Nest) -> set[str]:
    return {row.buffer for row in nest.body if isinstance(row, Store)}


def _shared(scope: Scope, patches: Patches) -> Generator[str, None, dict[str, str]]:
    """Define the arrays in shared memory, one after the other; return their scope."""
    found: dict[str, str] = {}
    fillers = fillers_of(patches)
    room = "0"
    for name in patches.arrays:
        buffer = scope.by_name[name]
        elements = f"lists[{HEADER * fillers[name] + 2}] * {patches.levels}"
        found[name] = f"h{len(found)}"
        type_ = stored_type(buffer)
        yield f"  const ff::shared_array<{type_}> {found[name]}(u32({room}), {elements});"
        room += f" + {elements} * {ITEMSIZES[buffer.dtype]}"
    return found


def _loop(scope: Scope, patches: Patches, loop: _Loop, room: Room, *, waits: bool) -> Iterator[str]:
    """Write a loop over the elements of a list that a patch has.

    Each thread knows its first element before it `waits` for the others, and the next one early.
    """
    tests: list[str] = []
    if loop.joint is not None and loop.only is not None:
        tests = [f"{'' if loop.only else '!'}({scope.bound(loop.joint)} > 0)"]
    step = patches.threads * patches.points // patches.levels
    if waits:
        yield "  turn = 0;"
    yield "  {"
    yield from _list(scope, len(patches.order.members), loop, is_near=bool(room.near))
    yield f"    u32 q = from + (own >= turn ? own - turn : own + {step} - turn);"
    yield "    u32 next = q < to ? lists[q] : 0;"
    if waits:
        yield "    ff::barrier();"
    nest = loop.each.nest
    opening = list(_elements(scope, nest, step))
    yield from _versions(scope, nest, room, patches.points, tests, opening)
    done = f"(turn + to - from) % {step}"
    yield f"    turn = {f'{tests[0]} ? {done} : turn' if tests else done};"
    yield "  }"


def _list(scope: Scope, count: int, loop: _Loop, *, is_near: bool) -> Iterator[str]:
    """Define where the list of a loop begins and ends, and where it tells what lies near."""
    place = loop.each.elements
    if is_near:
        yield f"    const u16* const near = (const u16*)(lists + lists[{HEADER * place}]);"
        yield f"    const u32 base = lists[{HEADER * place + 1}];"
    yield f"    const u32 begin = firsts[{place}], to = firsts[{place + count}];"
    if loop.joint is not None and loop.only is None:
        others = f"firsts[{loop.others + count}] - firsts[{loop.others}]"
        yield f"    const u32 from = {scope.bound(loop.joint)} > 0 ? begin + ({others}) : begin;"
    else:
        yield "    const u32 from = begin;"


def _versions(
    scope: Scope, nest: Nest, room: Room, points: int, tests: Sequence[str], opening: Sequence[str]
) -> Iterator[str]:
    """Write a loop for threads that have all of their levels inside, and one for others."""
    start, stop = scope.ends(nest.loops[1].range)
    if not scope.clamped:
        addresses, lines = all_at_once(scope, nest, room, points, " " * 10)
        all_ = f"f1 >= {start} && f1 + {points} <= {stop}"
        yield f"    if ({' && '.join([*tests, all_aligned(addresses), all_])}) {{"
        yield "      const s64 i1 = f1;"
        yield from (*opening, *lines, "      }}", "    } else")
    yield f"    if ({' && '.join([*tests, f'f1 < {stop}'])}) {{  // one by one at the ends"
    yield from (*opening, *one_by_one(scope, nest, room, points, " " * 10), "      }}", "    }")


def _room(patches: Patches, each: Each, arrays: Mapping[str, str], once: frozenset[str]) -> Room:
    near = {way: number for number, way in enumerate(patches.order.members[each.elements].readings)}
    own = frozenset(_stored(each.nest) & arrays.keys())
    return Room(arrays, fillers_of(patches), near, own, once, patches.levels)


def _once(scope: Scope, each: Each, others: Sequence[_Loop]) -> Iterator[str]:
    """Yield the fields that a loop reads or writes and no other does, each element once."""
    elsewhere = buffers_of(*(other.each.nest for other in others))
    for name in buffers_of(each.nest):
        rows = (row for row in each.nest.body if isinstance(row, Load | Store))
        is_own = all(set(row.rows) <= {None} for row in rows if row.buffer == name)
        if is_own and name not in elsewhere and scope.by_name[name].memory == "field":
            yield name


def _elements(scope: Scope, nest: Nest, step: int) -> Iterator[str]:
    """Open the loop of a thread over elements, and the test that an element is inside."""
    range_ = nest.loops[0].range
    inside = [f"i0 >= {scope.bound(range_.start)}", f"i0 < {scope.bound(range_.stop)}"]
    inside += [
        f"{scope.bound(each.start)} < {scope.bound(each.stop)}"
        for each in scope.kernel.groups[nest.group].box
        if each not in nest.box
    ]
    yield "#pragma unroll 1"
    yield f"      for (; q < to; q += {step}) {{"
    yield "        const s64 i0 = s64(next);"
    yield f"        next = q + {step} < to ? lists[q + {step}] : 0;"
    yield f"        if ({' && '.join(inside)}) {{"
