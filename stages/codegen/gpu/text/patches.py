"""Write nests as one kernel, each block of which computes a patch of a mesh by its lists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .....runtime.process import classes
from ....ir.loops import (
    ITEMSIZES,
    Access,
    Bound,
    Choice,
    Const,
    Each,
    Load,
    Nest,
    Node,
    PatchBound,
    Seq,
    Store,
    accesses,
    arrays_of,
    nodes_of,
    steps_of,
)
from ....ir.loops.gpu import Patches
from ...rows import Scope, stored_type
from ..passes.sharing_in_patches import fillers_of
from .lines import arrays as define, buffers_of, indented, shared_arrays
from .near import PatchArrays, all_at_once, one_by_one

# Words of each nest at the begin of the lists: where its near indices and its elements begin, and
# the most elements of a patch; see `patches.h`.
HEADER = 3


@classes.frozen
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
    range_, levels, points = nests[0].loops[-1].range, patches.levels, patches.points
    address = scope.bound(PatchBound("address", patches.order))
    start, count, lanes = scope.bound(range_.start), len(patches.order.members), levels // points
    fillers = fillers_of(patches)
    arrays = {name: f"h{place}" for place, name in enumerate(patches.arrays)}
    yield from define(scope, nests, patches.arrays)
    yield from indented((
        f"const u32* const lists = (const u32*){address};",
        f"const u32 parts = u32({scope.bound(patches.parts)}), patch = blockIdx.x / parts;",
        f"const u32 lane = threadIdx.x % {lanes}, own = threadIdx.x / {lanes};",
        f"const s64 start = ({start} & -{points}) + s64(blockIdx.x - patch * parts) * {levels};",
        f"const s64 f1 = start + lane * {points};",
        f"const u32* const firsts = lists + {HEADER * count} + patch * {count};",
        "u32 turn = 0;  // of the threads that take the first elements of a loop",
        *shared_arrays(
            (
                own, stored_type(scope.by_name[name]),
                f"lists[{HEADER * fillers[name] + 2}] * {levels}",
                ITEMSIZES[scope.by_name[name].dtype],
            )
            for name, own in arrays.items()
        ),
    ))  # fmt: skip
    fresh: set[str] = set()  # filled since the last barrier
    for loop in loops:
        waits = not fresh.isdisjoint(arrays_of(loop.each.nest, Load))
        fresh = (set() if waits else fresh) | arrays_of(loop.each.nest, Store) & arrays.keys()
        others = [each for each in loops if each is not loop and {each.only, loop.only} != {0, 1}]
        once = frozenset(_once(scope, loop.each, others))
        yield from _loop(
            scope, patches, loop, _arrays_of(patches, loop.each, arrays, once), waits=waits
        )


def _loops(body: Node) -> Iterator[_Loop]:
    """Yield the loops of a patch: of a choice, both sides; one of its loops is on both."""
    steps = list(steps_of(body))
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


def _loop(
    scope: Scope, patches: Patches, loop: _Loop, arrays: PatchArrays, *, waits: bool
) -> Iterator[str]:
    """Write a loop over the elements of a list that a patch has.

    Each thread knows its first element before it `waits` for the others, and the next one early.
    """
    tests: list[str] = []
    if loop.joint is not None and loop.only is not None:
        tests = [f"{'' if loop.only else '!'}({scope.bound(loop.joint)} > 0)"]
    nest, step = loop.each.nest, patches.threads * patches.points // patches.levels
    done = f"(turn + to - from) % {step}"
    yield from (
        *(("  turn = 0;",) if waits else ()),
        "  {",
        *_list(scope, len(patches.order.members), loop, is_near=bool(arrays.near)),
        f"    u32 q = from + (own >= turn ? own - turn : own + {step} - turn);",
        "    u32 next = q < to ? lists[q] : 0;",
        *(("    ff::barrier();",) if waits else ()),
        *_versions(scope, nest, arrays, patches.points, tests, list(_elements(scope, nest, step))),
        f"    turn = {f'{tests[0]} ? {done} : turn' if tests else done};",
        "  }",
    )


def _list(scope: Scope, count: int, loop: _Loop, *, is_near: bool) -> Iterator[str]:
    """Define where the list of a loop begins and ends, and where it tells what lies near."""
    place = loop.each.elements
    if is_near:
        yield from (
            f"    const u16* const near = (const u16*)(lists + lists[{HEADER * place}]);",
            f"    const u32 base = lists[{HEADER * place + 1}];",
        )
    yield f"    const u32 begin = firsts[{place}], to = firsts[{place + count}];"
    if loop.joint is not None and loop.only is None:
        others = f"firsts[{loop.others + count}] - firsts[{loop.others}]"
        yield f"    const u32 from = {scope.bound(loop.joint)} > 0 ? begin + ({others}) : begin;"
    else:
        yield "    const u32 from = begin;"


def _versions(
    scope: Scope,
    nest: Nest,
    arrays: PatchArrays,
    points: int,
    tests: Sequence[str],
    opening: Sequence[str],
) -> Iterator[str]:
    """Write a loop for threads that have all of their levels inside, and one for others."""
    start, stop = scope.ends(nest.loops[1].range)
    if not scope.clamped:
        aligned, lines = all_at_once(scope, nest, arrays, points, " " * 10)
        all_ = f"f1 >= {start} && f1 + {points} <= {stop}"
        yield from (
            f"    if ({' && '.join([*tests, aligned, all_])}) {{",
            "      const s64 i1 = f1;",
            *opening,
            *lines,
            "      }}",
            "    } else",
        )
    yield from (
        f"    if ({' && '.join([*tests, f'f1 < {stop}'])}) {{  // one by one at the ends",
        *opening,
        *one_by_one(scope, nest, arrays, points, " " * 10),
        "      }}",
        "    }",
    )


def _arrays_of(
    patches: Patches, each: Each, arrays: Mapping[str, str], once: frozenset[str]
) -> PatchArrays:
    near = {way: number for number, way in enumerate(patches.order.members[each.elements].readings)}
    own = frozenset(arrays_of(each.nest, Store) & arrays.keys())
    return PatchArrays(arrays, fillers_of(patches), near, own, once, patches.levels)


def _once(scope: Scope, each: Each, others: Sequence[_Loop]) -> Iterator[str]:
    """Yield the fields that a loop reads or writes and no other does, each element once."""
    elsewhere = buffers_of(*(other.each.nest for other in others))
    for name in buffers_of(each.nest):
        is_own = all(not row.is_told for row in accesses(each, Access) if row.buffer == name)
        if is_own and name not in elsewhere and scope.by_name[name].memory == "field":
            yield name


def _elements(scope: Scope, nest: Nest, step: int) -> Iterator[str]:
    """Open the loop of a thread over elements, and the test that an element is inside."""
    range_ = nest.loops[0].range
    inside = [
        f"i0 >= {scope.bound(range_.start)}",
        f"i0 < {scope.bound(range_.stop)}",
        *(
            f"{scope.bound(each.start)} < {scope.bound(each.stop)}"
            for each in scope.kernel.groups[nest.group].box
            if each not in nest.box
        ),
    ]
    yield from (
        "#pragma unroll 1",
        f"      for (; q < to; q += {step}) {{",
        "        const s64 i0 = s64(next);",
        f"        next = q + {step} < to ? lists[q + {step}] : 0;",
        f"        if ({' && '.join(inside)}) {{",
    )
