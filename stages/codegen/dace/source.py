"""From DaCe's text to one translation unit with our entry point, free of DaCe's headers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from ...ir.bounds import Bound, maximum
from ...ir.loops.kernel import Kernel, steps_of
from ..arena import lives_of, placed
from ..cpu.text.streams import stream_function
from ..cpu.text.strips import SIMD
from ..rows.checks import tested_stores
from ..rows.expressions import TYPES
from .arrangement import needs_guard
from .checks import check_functions, status_of
from .entry import Entry
from .errors import DaceTextError
from .graph import Graph, build_graph
from .loops import SdfgLoops, SdfgRules
from .names import SDFG_NAME, GuardedStop, SdfgNames, TileCount
from .nests import MARK
from .passes import run_passes
from .rare import rare_version
from .settings import dace_defaults
from .strips import SdfgStrips
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
class SdfgSource:
    """The source of a program by DaCe, the listing of its SDFG, and the loops of a call.

    `workspace` are the bytes of its arena.
    """

    source: str
    listing: str
    loops: SdfgLoops
    workspace: Bound


@attrs.frozen
class DaceText:
    """What DaCe writes: its objects of code, the arguments of its functions, the listing.

    `left` is the kernel with the arrays that its passes have left, `loops` are those of a call.
    """

    objects: tuple[Any, ...]
    init: tuple[str, ...]
    signature: tuple[str, ...]
    listing: str
    left: Kernel
    loops: SdfgLoops
    functions: Mapping[str, str]

    def finished(self, source: str, *, checked: bool) -> SdfgSource:
        """Return the source with what describes its calls; a checked one has one version."""
        most = self.left.workspace
        if self.loops.clamping is not None and not checked:
            most = maximum(most, self.loops.kernel.workspace)
        return SdfgSource(source, self.listing, self.loops, most)


def after_passes(loops: SdfgLoops, rules: SdfgRules, *, as_pages: bool = False) -> dict[str, str]:
    """Return the listing of the SDFG of a program as it is made, and after each pass.

    `as_pages` returns pages for DaCe's viewer instead.
    """
    texts: dict[str, str] = {}
    names = SdfgNames(loops.kernel)

    def keep(name: str, sdfg: Any) -> None:
        text = viewer_page(sdfg) if as_pages else show_graph(sdfg, loops.kernel, names)
        texts[name if name not in texts else f"{name}_{len(texts)}"] = text

    with dace_defaults():
        optimised(loops, rules, names, keep)
    return texts


def optimised(
    loops: SdfgLoops, rules: SdfgRules, names: SdfgNames, watch: Callable[[str, Any], None]
) -> Graph:
    """Return the SDFG of a program after the passes; `watch` sees it after each."""
    tests = tested_stores(loops.kernel) if rules.style.checked else {}
    graph = build_graph(loops, rules, names, tests)
    blocked = names.loops_over(rules.blocking_dims)
    settings = attrs.evolve(rules.settings, block_loops=blocked)
    return attrs.evolve(graph, sdfg=run_passes(graph.sdfg, rules.passes, settings, watch))


def dace_text(
    loops: SdfgLoops,
    rules: SdfgRules,
    names: SdfgNames,
    configure: Callable[[], None] = lambda: None,
) -> DaceText:
    """Let DaCe write the code of a program; `configure` sets options of it."""
    with dace_defaults():
        from dace.codegen.codegen import generate_code

        configure()
        graph = optimised(loops, rules, names, lambda *_: None)
        left = _with_arrays_left(loops.kernel, names, graph.sdfg)
        objects = generate_code(graph.sdfg, validate=False)
        init = graph.sdfg.init_signature(for_call=True).split(", ")
        signature = tuple(graph.sdfg.arglist())
        listing = show_graph(graph.sdfg, loops.kernel, names)
    return DaceText(
        tuple(objects), tuple(filter(None, init)), signature, listing, left, loops.after(left),
        graph.functions,
    )  # fmt: skip


def _with_arrays_left(kernel: Kernel, names: SdfgNames, whole: Any) -> Kernel:
    """Make arguments of the arrays that remain after DaCe's passes, and plan their slots."""
    from dace import dtypes

    data = {name: buffer for buffer, name in names.data.items()}
    left = set()
    for name, desc in whole.arrays.items():
        if name in data:
            desc.transient = False
            left.add(data[name])
    for sdfg in whole.all_sdfgs_recursive():
        for desc in sdfg.arrays.values():
            if desc.transient and desc.total_size == 1:
                desc.storage = dtypes.StorageType.Register
    remaining = [each for each in kernel.buffers if each.memory != "arena" or each.name in left]
    turns = (node for step in kernel.steps for node in steps_of(step.body))
    buffers, slots = placed(remaining, lives_of(turns))
    return attrs.evolve(kernel, buffers=buffers, slots=slots)


def sdfg_source(loops: SdfgLoops, rules: SdfgRules) -> SdfgSource:
    """Return the source of a program as DaCe writes it, with our entry point."""
    kernel, names, style = loops.kernel, SdfgNames(loops.kernel), rules.style
    tests = tested_stores(loops.kernel) if style.checked else {}
    text = dace_text(loops, rules, names)
    code = text.objects[0].clean_code
    rare = rare_version(text.loops, style)
    called = set(re.findall(r"\b(\w+)\(", code))
    functions = [each for name, each in FUNCTIONS.items() if name in called]
    functions += check_functions(kernel, tests, style.checked)
    functions += [each for _, each in sorted({**rare.functions, **text.functions}.items())]
    lines = list(_annotated(_plain(code), names, text.signature, rules.parallel_from))
    if rules.strips is not None:
        strips = SdfgStrips(names, rules.strips)
        lines = list(strips.written(lines))
        functions += [stream_function(rules.strips.vector_bytes)] if strips.streams else []
    head = [f"  s32 first = {len(tests)};"] if tests else []
    opening = [*rare.opening, *_handle(text.init)]
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
    return text.finished("\n".join(source), checked=style.checked)


def _handle(init: Sequence[str]) -> list[str]:
    """Return the lines that make the state of DaCe's program once, and free it at the end."""
    zeros = ", ".join("0" for _ in init)
    return [
        f"  struct Handle {{ {STATE}* state; ~Handle() {{ __dace_exit_{SDFG_NAME}(state); }} }};",
        f"  static Handle handle = {{__dace_init_{SDFG_NAME}({zeros})}};",
    ]


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
    lines: Iterable[str], names: SdfgNames, signature: Sequence[str], parallel_from: int
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


def _limit(mark: str, names: SdfgNames, known: set[str], parallel_from: int) -> str:
    """Return the clause with the number of points from which threads share a nest."""
    nest = names.nests[int(mark) - MARK]
    factors = []
    for loop in nest.loops:
        stop: Bound | GuardedStop = loop.range.stop
        if loop is nest.loops[0] and needs_guard(nest, names.guard(nest)):
            stop = GuardedStop(loop.range.start, loop.range.stop, names.guard(nest))
        texts = [names.end(end) for end in (stop, loop.range.start)]
        words = {word for text in texts for word in re.findall(r"[A-Za-z_]\w*", text)}
        if words <= known:
            factors.append(f"({texts[0]} - {texts[1]})")
    return f" if ({' * '.join(factors)} >= {parallel_from})" if factors else ""
