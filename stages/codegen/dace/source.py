"""From DaCe's text to one translation unit with our entry point, free of DaCe's headers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ....runtime.process import classes
from ...ir.bounds import Bound, maximum
from ...ir.loops.kernel import Kernel, steps_of
from ..arena import lives_of, placed
from ..cpu.text.streams import stream_function
from ..cpu.text.strips import SIMD
from ..gpu.text.spellings import dialect_of, on_device
from ..rows.checks import tested_stores
from ..rows.dialect import cpp
from ..rows.expressions import TYPES
from .checks import check_functions
from .entry import Entry
from .graph import build_graph
from .loops import SdfgLoops, SdfgRules
from .names import SDFG_NAME, SdfgNames, TileCount
from .nests import MARK
from .passes import Watch, run_passes
from .rare import rare_version
from .rooms import Build
from .settings import DaceTextError, dace_defaults
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


@classes.frozen
class DaceText:
    """What DaCe writes: its objects of code, the arguments of its functions, the listing.

    `left` is the kernel with the arrays that its passes have left, `loops` are those of a call,
    with `workspace` bytes in the arena. `build` has the names and functions of tasklets.
    """

    objects: tuple[Any, ...]
    init: tuple[str, ...]
    signature: tuple[str, ...]
    listing: str
    left: Kernel
    loops: SdfgLoops
    workspace: Bound
    build: Build


def after_passes(loops: SdfgLoops, rules: SdfgRules, *, as_pages: bool = False) -> dict[str, str]:
    """Return the listing of the SDFG of a program as it is made, and after each pass.

    `as_pages` returns pages for DaCe's viewer instead.
    """
    texts: dict[str, str] = {}
    with dace_defaults():
        build = _build(loops, rules)

        def keep(name: str, sdfg: Any) -> None:
            text = viewer_page(sdfg) if as_pages else show_graph(sdfg, loops.kernel, build.names)
            texts[name if name not in texts else f"{name}_{len(texts)}"] = text

        _optimised(loops, rules, build, keep)
    return texts


def _build(loops: SdfgLoops, rules: SdfgRules) -> Build:
    """Return what the nests share; tasklets on a device have the functions of the device."""
    import dace

    dialect = cpp(rules.writer)
    if rules.grid is not None:
        on_host = dialect.constant
        dialect = classes.evolve(
            dialect_of(rules.writer),
            constant=lambda text, dtype: on_device(on_host(text, dtype)),
        )
    tests = tested_stores(loops.kernel) if rules.writer.checked else {}
    return Build(dace, SdfgNames(loops.kernel), dialect, tests, rules.grid)


def _optimised(loops: SdfgLoops, rules: SdfgRules, build: Build, watch: Watch) -> Any:
    """Return the SDFG of a program after the passes; `watch` sees it after each."""
    graph, options = build_graph(loops, build), rules.options
    blocked = build.names.loops_over(options.blocking_dims)
    return run_passes(graph, classes.evolve(options, blocking_dims=blocked), watch)


def dace_text(loops: SdfgLoops, rules: SdfgRules) -> DaceText:
    """Let DaCe write the code of a program."""
    with dace_defaults(rules.config):
        from dace.codegen.codegen import generate_code

        build = _build(loops, rules)
        sdfg = _optimised(loops, rules, build, lambda *_: None)
        left = _with_arrays_left(loops.kernel, build.names, sdfg)
        objects = generate_code(sdfg, validate=False)
        init = sdfg.init_signature(for_call=True).split(", ")
        signature = tuple(sdfg.arglist())
        listing = show_graph(sdfg, loops.kernel, build.names)
    after, most = loops.after(left), left.workspace
    if after.clamping is not None and not rules.writer.checked:  # it has two versions
        most = maximum(most, after.kernel.workspace)
    return DaceText(
        tuple(objects), tuple(filter(None, init)), signature, listing, left, after, most, build
    )


def _with_arrays_left(kernel: Kernel, names: SdfgNames, whole: Any) -> Kernel:
    """Make arguments of the arrays that remain after DaCe's passes, and plan their slots."""
    from dace import dtypes

    left = {name for name in whole.arrays if name in names.buffers}
    for name in left:
        whole.arrays[name].transient = False
    for sdfg in whole.all_sdfgs_recursive():
        for desc in sdfg.arrays.values():
            if desc.transient and desc.total_size == 1:
                desc.storage = dtypes.StorageType.Register
    remaining = [
        each for each in kernel.buffers if each.memory != "arena" or names.data[each.name] in left
    ]
    turns = (node for step in kernel.steps for node in steps_of(step.body))
    buffers, slots = placed(remaining, lives_of(turns))
    return classes.evolve(kernel, buffers=buffers, slots=slots)


def sdfg_source(text: DaceText, rules: SdfgRules) -> str:
    """Return the source of a program as DaCe writes it, with our entry point."""
    build, names, writer = text.build, text.build.names, rules.writer
    code = text.objects[0].clean_code
    rare = rare_version(text.loops, writer)
    functions = functions_of_dace(code)
    functions += check_functions(names.kernel, build.tests, writer.checked)
    functions += [each for _, each in sorted({**rare.functions, **build.functions}.items())]
    lines = list(_annotated(_plain(code), names, text.signature, writer.parallel_from))
    if not writer.checked:
        strips = SdfgStrips(names, writer)
        lines = list(strips.written(lines))
        functions += [stream_function(writer.vector_bytes)] if strips.streams else []
    zeros = ", ".join("0" for _ in text.init)
    opening = [  # make the state of DaCe's program once, and free it at the end
        *rare.opening,
        f"  struct Handle {{ {STATE}* state; ~Handle() {{ __dace_exit_{SDFG_NAME}(state); }} }};",
        f"  static Handle handle = {{__dace_init_{SDFG_NAME}({zeros})}};",
    ]
    entry = Entry(text.left, names, rare.integers, build.tests)
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
        *entry.write(opening, text.signature),
        "",
    ]
    return "\n".join(source)


def functions_of_dace(code: str) -> list[str]:
    """Return the functions of DaCe's headers that a text calls."""
    called = set(re.findall(r"\b(\w+)\(", code))
    return [each for name, each in FUNCTIONS.items() if name in called]


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
    lines: Iterable[str], names: SdfgNames, signature: Sequence[str], parallel_from: int | None
) -> Iterator[str]:
    """Add to loops what an SDFG cannot express: the size from which threads pay, and SIMD."""
    known = set(signature)
    pending = ""
    for line in lines:
        bare = line.lstrip()
        indent = line[: len(line) - len(bare)]
        if bare.startswith("#pragma unroll"):
            yield f"{indent}#pragma GCC {bare.removeprefix('#pragma ')}"
            continue
        if found := _PARALLEL.match(bare):
            pending = f"{found[1]} schedule(static){_limit(found[2], names, known, parallel_from)}"
            continue
        vector = bare.startswith("for (int64_t v_")
        if pending:
            yield f"{indent}#pragma omp parallel for{' simd' if vector else ''}{pending}"
            pending = ""
        elif vector:
            yield indent + SIMD
        yield line


def _limit(mark: str, names: SdfgNames, known: set[str], parallel_from: int | None) -> str:
    """Return the clause with the number of points from which threads share a nest."""
    nest = names.nests[int(mark) - MARK]
    factors = []
    for loop in nest.loops:
        start, stop = names.ends(nest, loop)
        words = {word for text in (start, stop) for word in re.findall(r"[A-Za-z_]\w*", text)}
        if words <= known:
            factors.append(f"({stop} - {start})")
    return f" if ({' * '.join(factors)} >= {parallel_from})" if factors else ""
