"""From DaCe's text to one translation unit with our entry point, free of DaCe's headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import attrs

from ...artifacts import Lowered, Variant
from ...ir.bounds import Bound
from ...ir.flat_kernel import Kernel
from ...ir.loops.flat import flat
from ...ir.loops.lift import lift
from ...ir.strides import Stride
from ..arena import plan_slots
from ..cpu.text.strips import SIMD, stream_function
from ..integers import integers
from ..interface import step_numbers, step_place
from ..pass_list import PLAN_ONLY, PassName, without
from ..passes import make_loops
from ..rows.checks import tested_stores
from ..rows.names import WriterOptions
from ..rows.operations import TYPES
from ..schedule.drafts import Group
from ..schedule.rules import Rules
from ..soft_reads import Clamping, clamping_of
from .arrangement import Together, as_steps, has_tile_arrays, needs_guard
from .checks import check_functions, status_of
from .entry import Entry
from .errors import DaceTextError
from .graph import Graph, build_graph
from .grid import Grid
from .names import SDFG_NAME, GuardedStop, Names, TileCount
from .nests import MARK
from .pass_list import SdfgPass
from .passes import Settings, run_passes
from .rare import RareVersion
from .settings import dace_defaults
from .strips import Strips
from .tasklet import Style
from .text import show_graph, viewer_page

# The definitions that generated code of maps, tasklets and arrays needs from DaCe's headers, which
# take seconds to read. The library exports the entry point only.
PRELUDE: Final = (
    *(f"typedef __{name.upper()}_TYPE__ {name}_t;" for name in TYPES if "int" in name),
    "#define DACE_EXPORTED",
    "#define DACE_ALIGN(bytes)",
    "namespace dace { typedef uint32_t uint; }",
)
# Functions of DaCe's headers that bounds of blocked loops may call.
FUNCTIONS: Final = {
    "Min": "static inline s64 Min(s64 a, s64 b) { return a < b ? a : b; }",
    "Max": "static inline s64 Max(s64 a, s64 b) { return a < b ? b : a; }",
    "int_floor": "static inline s64 int_floor(s64 a, s64 b) { return a / b - (a % b < 0); }",
    "int_ceil": "static inline s64 int_ceil(s64 a, s64 b) { return a / b + (a % b > 0); }",
}
THREADS: Final = "-fopenmp"  # for DaCe's pragmas; no other backend uses the threads of OpenMP
WRAPPED: Final = ("-Wl,--wrap=GOMP_parallel",)  # by the function in `ALONE`
# Entering the OpenMP runtime takes 0.4 us, including a system call, even for one thread. Inside a
# parallel region of the caller, the loops would wait for threads that never reach this code.
ALONE: Final = """\
#if !defined(__clang__) && !defined(FIELDFORGE_ALONE)
#define FIELDFORGE_ALONE
extern "C" s32 omp_in_parallel(void) noexcept;
extern "C" s32 omp_get_max_threads(void) noexcept;
extern "C" void __real_GOMP_parallel(void (*)(void*), void*, unsigned, unsigned);
extern "C" __attribute__((visibility("hidden")))
void __wrap_GOMP_parallel(void (*region)(void*), void* data, unsigned count, unsigned flags) {
  const bool alone = (count ? s32(count) : omp_get_max_threads()) == 1 && !omp_in_parallel();
  if (alone) region(data);
  else __real_GOMP_parallel(region, data, count, flags);
}
#endif"""
COUNTED: Final = 'extern "C" s32 omp_get_max_threads(void) noexcept;'
HEADERS: Final = ("#include <dace/dace.h>", '#include "../../include/hash.h"')
STATE: Final = f"{SDFG_NAME}_state_t"
_PARALLEL: Final = re.compile(r"#pragma omp parallel for(.*?) num_threads\((\d+)\)")


@attrs.frozen
class Written:
    """The source of a kernel, the listing of its SDFG, and the kernel after DaCe's passes.

    `clamping` has the integers that this kernel needs besides.
    """

    source: str
    listing: str
    kernel: Kernel
    clamping: Clamping | None


@attrs.frozen
class Plan:
    """The options of an SDFG and its passes, and the points from which threads share a nest.

    `steps` are the numbers of the groups' statements, if a call may run a single one. `loop_passes`
    run before the SDFG is made; with `strips` vector loops are walked strip by strip.
    """

    rules: Rules
    style: Style
    passes: tuple[SdfgPass, ...]
    blocking_dims: tuple[str, ...]
    settings: Settings
    parallel_from: int
    grid: Grid | None = None
    asynchronous: bool = True
    steps: tuple[int, ...] = ()
    clamping: Clamping | None = None
    loop_passes: tuple[PassName, ...] = PLAN_ONLY
    strips: WriterOptions | None = None


def with_loops(
    lowered: Lowered, variant: Variant, plan: Plan
) -> tuple[Kernel, tuple[Group, ...], Plan]:
    """Return the loops of a program, its groups of stores, and the plan with their statements."""
    tree, groups = make_loops(lowered, variant, plan.rules, plan.loop_passes)
    kernel = flat(tree)
    ints = integers(tree)
    clamping = clamping_of(lowered.program, groups, ints)
    if has_tile_arrays(kernel) or (kernel.tilings and clamping is not None):
        untiled = without(plan.loop_passes, "tile")
        return with_loops(lowered, variant, attrs.evolve(plan, loop_passes=untiled))
    plan = attrs.evolve(plan, clamping=clamping)
    if step_place(ints, groups) is not None:
        plan = attrs.evolve(plan, steps=step_numbers(groups))
    return kernel, groups, plan


def after_passes(kernel: Kernel, plan: Plan, *, as_pages: bool = False) -> dict[str, str]:
    """Return the listing of the SDFG of a kernel as it is made, and after each pass.

    `as_pages` returns pages for DaCe's viewer instead.
    """
    texts: dict[str, str] = {}
    names = Names(kernel)

    def keep(name: str, sdfg: Any) -> None:
        text = viewer_page(sdfg) if as_pages else show_graph(sdfg, kernel, names)
        texts[name if name not in texts else f"{name}_{len(texts)}"] = text

    with dace_defaults():
        optimised(kernel, names, plan, keep)
    return texts


def optimised(kernel: Kernel, names: Names, plan: Plan, watch: Callable[[str, Any], None]) -> Graph:
    """Return the SDFG of a kernel after the passes; `watch` sees it after each."""
    tests = tested_stores(kernel) if plan.style.checked else {}
    graph = build_graph(kernel, names, plan.style, tests, plan.steps, plan.grid)
    loops = names.loops_over(plan.blocking_dims)
    settings = attrs.evolve(plan.settings, block_loops=loops)
    return attrs.evolve(graph, sdfg=run_passes(graph.sdfg, plan.passes, settings, watch))


@attrs.frozen
class _Text:
    """What DaCe writes: its C++, the arguments of its functions, the listing of the SDFG.

    `left` is the kernel with the arrays that its passes have left, `graph` the SDFG after them.
    """

    code: str
    init: tuple[str, ...]
    signature: list[str]
    listing: str
    left: Kernel
    graph: Graph


def _text(kernel: Kernel, names: Names, plan: Plan) -> _Text:
    """Let DaCe write the code of a kernel."""
    with dace_defaults():
        from dace.codegen.codegen import generate_code

        graph = optimised(kernel, names, plan, lambda *_: None)
        left = with_arrays_left(kernel, names, graph)
        frame = generate_code(graph.sdfg, validate=False)[0]
        init = graph.sdfg.init_signature(for_call=True)
        signature = list(graph.sdfg.arglist())
        listing = show_graph(graph.sdfg, kernel, names)
    arguments = tuple(name for name in init.split(", ") if name)
    return _Text(frame.clean_code, arguments, signature, listing, left, graph)


def sdfg_source(kernel: Kernel, plan: Plan) -> Written:
    """Return the source of a kernel as DaCe writes it, with our entry point."""
    names, style = Names(kernel), plan.style
    tests = tested_stores(kernel) if style.checked else {}
    text = _text(kernel, names, plan)
    clamping = clamping_after(plan.clamping, kernel, text.left)
    rare = RareVersion(kernel, clamping, style, plan.steps)
    called = set(re.findall(r"\b(\w+)\(", text.code))
    functions = [each for name, each in FUNCTIONS.items() if name in called]
    functions += [*check_functions(kernel, tests, style.checked)]
    functions += rare.functions(dict(text.graph.functions))
    lines = list(_annotated(_plain(text.code), names, text.signature, plan.parallel_from))
    if plan.strips is not None:
        strips = Strips(kernel, names, plan.strips)
        lines = list(strips.written(lines))
        functions += [stream_function(plan.strips.vector_bytes)] if strips.streams else []
    head = [f"  s32 first = {len(tests)};"] if tests else []
    opening = [*rare.opening, *_handle(text)]
    entry = Entry(text.left, names, rare.integers)
    threads = any("#pragma omp parallel" in line for line in lines)
    source = [
        *PRELUDE,
        *(f"typedef {meaning} {name};" for name, meaning in TYPES.values()),
        "",
        *([ALONE] if threads else []),
        *([COUNTED] if any(isinstance(m, TileCount) for m in names.symbols.values()) else []),
        *functions,
        "namespace {",
        *lines,
        "}",
        "",
        *rare.lines,
        *entry.write(opening, text.signature, head, status_of(kernel, tests)),
        "",
    ]
    joined = rare.joined(as_steps(text.left, text.graph.together))
    return Written("\n".join(source), text.listing, joined, clamping)


def _handle(text: _Text) -> list[str]:
    """Return the lines that make the state of DaCe's program once, and free it at the end."""
    zeros = ", ".join("0" for _ in text.init)
    return [
        f"  struct Handle {{ {STATE}* state; ~Handle() {{ __dace_exit_{SDFG_NAME}(state); }} }};",
        f"  static Handle handle = {{__dace_init_{SDFG_NAME}({zeros})}};",
    ]


def with_arrays_left(kernel: Kernel, names: Names, graph: Graph) -> Kernel:
    """Make arguments of the arrays that remain after DaCe's passes, and plan their slots."""
    from dace import dtypes

    data = {name: buffer for buffer, name in names.data.items()}
    left = set()
    for name, desc in graph.sdfg.arrays.items():
        if name in data:
            desc.transient = False
            left.add(data[name])
    for sdfg in graph.sdfg.all_sdfgs_recursive():
        for desc in sdfg.arrays.values():
            if desc.transient and desc.total_size == 1:
                desc.storage = dtypes.StorageType.Register
    buffers = [
        buffer for buffer in kernel.buffers if buffer.memory != "arena" or buffer.name in left
    ]
    planned = plan_slots(
        attrs.evolve(kernel, buffers=tuple(buffers), nests=_merged(kernel, graph.together))
    )
    return attrs.evolve(
        kernel, buffers=planned.buffers, slots=planned.slots, workspace=planned.workspace
    )


def clamping_after(clamping: Clamping | None, kernel: Kernel, left: Kernel) -> Clamping | None:
    """Add the integers that only the kernel `left` by DaCe's passes needs: sizes of its slots."""
    if clamping is None:
        return None
    known = {*integers(lift(kernel)), *clamping.integers}
    bounds = (each for each in integers(lift(left)) if not isinstance(each, Stride))
    more = (each for each in bounds if each not in known)
    return attrs.evolve(clamping, integers=(*clamping.integers, *more))


def _merged(kernel: Kernel, together: Sequence[Together]) -> tuple[Any, ...]:
    """Return one nest for each state with the accesses of all its nests, which DaCe orders."""
    return tuple(
        attrs.evolve(
            kernel.nests[each.first],
            body=tuple(row for nest in kernel.nests[each.first : each.last] for row in nest.body),
        )
        for each in together
    )


def _plain(frame: str) -> list[str]:
    """Return the lines of DaCe's text without its headers."""
    lines = [line.rstrip() for line in frame.splitlines()]
    for header in HEADERS:
        if lines.count(header) != 1:
            raise DaceTextError(
                f"The code of this version of DaCe does not have the line '{header}' once.",
                hint="Install the version of DaCe that fieldforge was tested with: 2.0.0b1.",
            )
        lines.remove(header)
    return lines


def _annotated(
    lines: Iterable[str], names: Names, signature: Sequence[str], parallel_from: int
) -> Iterator[str]:
    """Add to loops what an SDFG cannot express: the size from which threads pay, and SIMD."""
    known = set(signature)
    pending = ""
    for line in lines:
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)]
        found = _PARALLEL.match(bare)
        if bare.startswith("#pragma unroll"):
            yield f"{indent}#pragma GCC {bare.removeprefix('#pragma ')}"
            continue
        if found:
            pending = f"{found[1]} schedule(static){_limit(found[2], names, known, parallel_from)}"
            continue
        vector = bare.startswith("for (int64_t v_")
        if pending:
            yield f"{indent}#pragma omp parallel for{' simd' if vector else ''}{pending}"
            pending = ""
        elif vector:
            yield indent + SIMD
        yield line


def _limit(mark: str, names: Names, known: set[str], parallel_from: int) -> str:
    """Return the clause with the number of points from which threads share a nest."""
    nest = names.kernel.nests[int(mark) - MARK]
    factors = []
    for loop in nest.loops:
        stop: Bound | GuardedStop = loop.range.stop
        if loop is nest.loops[0] and needs_guard(nest):
            stop = GuardedStop(loop.range.start, loop.range.stop, nest.guard)
        texts = [names.end(end) for end in (stop, loop.range.start)]
        words = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}
        if words <= known:
            factors.append(f"({texts[0]} - {texts[1]})")
    return f" if ({' * '.join(factors)} >= {parallel_from})" if factors else ""
