"""The version of a kernel for calls whose soft reads lead out of a field: written without DaCe.

It clamps the indices of loads (see `soft_reads`). Few calls need it, so it is plain C++ of the
backend `cpu`, on one thread, in memory of its own plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ....runtime.process import classes
from ...ir.loops import (
    Bound,
    Choice,
    Column,
    Kernel,
    Nest,
    NestGroup,
    Node,
    Seq,
    Stride,
    in_order,
    rewrite,
)
from ..cpu.text.kernel import ENDS, Writing, definitions, write_steps
from ..cpu.text.units import defined, flat
from ..entry_point import UNUSED
from ..rows import WITHIN, Scope, Steps, WriterOptions, beyond, cpp, places_of
from .loops import SdfgLoops

# Few calls run it, so it is optimised for size and compiles fast.
HEAD: Final = """\
#ifdef __clang__
__attribute__((cold, noinline, minsize))
#else
__attribute__((cold, noinline, optimize("O1", "fp-contract=off")))
#endif
static s32 clamped(const void* const* ptrs, const s64* ints, const void* scalars, void* arena) {"""


@classes.frozen
class RareVersion:
    """The text of that version, empty where a program has no soft reads.

    `opening` calls it, before DaCe's program; `lines` are it, and call `functions`. `integers` are
    those of the call, with those of the ends of fields.
    """

    integers: tuple[Bound | Stride, ...]
    opening: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    functions: Mapping[str, str] = classes.field(factory=dict)


def rare_version(loops: SdfgLoops, writer: WriterOptions) -> RareVersion:
    """Write that version; a checked program refuses such calls."""
    if (clamping := loops.clamping) is None:
        return RareVersion(loops.integers)
    ints = (*loops.integers, *clamping.integers)
    flag = f"  if (ints[{clamping.flag}]) return "
    if writer.checked:
        return RareVersion(ints, (f"{flag}{beyond(loops.kernel)};",))
    options = WriterOptions(0, vector_math=False, own_math=writer.own_math)
    kernel = rewrite(ungrouped(loops.kernel), _on_one_thread)
    scope = Scope(kernel, places_of(ints), options, cpp(options), clamped=clamping.ends)
    steps = Steps(len(ints), loops.steps) if loops.steps else None
    nests = list(flat(write_steps(scope, kernel, Writing(steps))))
    known = defined(definitions(scope, steps))
    return RareVersion(
        ints,
        (f"{flag}clamped(ptrs, ints, scalars, arena);",),
        (ENDS, WITHIN, HEAD, *known, UNUSED, *nests, "  return 0;", "}", ""),
        scope.uses.functions,
    )


def _on_one_thread(node: Node) -> Node:
    if not isinstance(node, Nest | Column):
        return node
    loops = tuple(classes.evolve(loop, kind="sequential") for loop in node.loops)
    return classes.evolve(node, loops=loops)


def ungrouped(kernel: Kernel) -> Kernel:
    """Return a kernel that does the same, one nest after the other, as no platform decided on it.

    A kernel has none if a group that runs in every call has arrays that are not in the arena.
    """
    return rewrite(kernel, _ungrouped)


def _ungrouped(node: Node) -> Node:
    match node:
        case Choice(otherwise=otherwise):
            return otherwise
        case NestGroup(members=members):
            return in_order(*(member.nest for member in members))
        case Seq(steps=steps):
            return in_order(*steps)
        case Nest():
            return classes.evolve(node, marks=None)
    return node
