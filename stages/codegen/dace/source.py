"""From DaCe's text to one translation unit with our entry point, free of DaCe's headers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ....runtime.process import classes
from ...ir.loops import Bound, Kernel, maximum, steps_of
from ..arena import lives_of, placed
from ..gpu.text.spellings import dialect_of, on_device
from ..rows import TYPES, cpp, functions as check_functions, missing_values, tested_stores
from .entry import Entry
from .graph import build_graph
from .loops import SdfgLoops, SdfgRules
from .names import SDFG_NAME, SdfgNames, TileCount
from .passes import Watch, run_passes
from .rare import rare_version
from .rooms import Build
from .settings import dace_defaults
from .text import show_graph, viewer_page

if TYPE_CHECKING:
    from .generators import Written

# The definitions that generated code of maps, tasklets and arrays needs from DaCe's headers, which
# take seconds to read. The library exports the entry point only.
PRELUDE: Final = (
    *(f"typedef __{name.upper()}_TYPE__ {name}_t;" for name in TYPES if "int" in name),
    "#define DACE_ALIGN(bytes)",
    "namespace dace { typedef uint32_t uint; }",
    f"struct {SDFG_NAME}_state_t;",
)
# Functions of DaCe's headers that bounds of loops may call.
FUNCTIONS: Final = (
    "s64 Min(s64 a, s64 b) { return a < b ? a : b; }",
    "s64 Max(s64 a, s64 b) { return a < b ? b : a; }",
    "s64 int_floor(s64 a, s64 b) { return a / b - (a % b < 0); }",
    "s64 int_ceil(s64 a, s64 b) { return a / b + (a % b > 0); }",
)
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
# The function of an SDFG and its names that lets the generators of a platform write it. They are
# imported with DaCe.
Write: TypeAlias = "Callable[[Any, SdfgNames], Written]"


@classes.frozen
class DaceText:
    """What DaCe writes: its code, the arguments of the program, the listing.

    `left` is the kernel with the arrays that its passes have left, `loops` are those of a call,
    with `workspace` bytes in the arena. `build` has the names and functions of tasklets.
    """

    code: str
    signature: tuple[str, ...]
    listing: str
    left: Kernel
    loops: SdfgLoops
    workspace: Bound
    build: Build

    def missing(self, text: str, rules: SdfgRules) -> list[str]:
        """Define the value of missing neighbours in a checked program, for each type."""
        found = missing_values(self.build.names.kernel) if rules.writer.checked else []
        return [text.format(TYPES[dtype][0]) for dtype in found]


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


def dace_text(loops: SdfgLoops, rules: SdfgRules, write: Write) -> DaceText:
    """Let DaCe write the code of a program, by `write` of a platform."""
    with dace_defaults(rules.config):
        build = _build(loops, rules)
        sdfg = _optimised(loops, rules, build, lambda *_: None)
        left = _with_arrays_left(loops.kernel, build.names, sdfg)
        written = write(sdfg, build.names)
        listing = show_graph(sdfg, loops.kernel, build.names)
    after, most = loops.after(left), left.workspace
    if after.clamping is not None and not rules.writer.checked:  # it has two versions
        most = maximum(most, after.kernel.workspace)
    return DaceText(written.code, written.arguments, listing, left, after, most, build)


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
    rare = rare_version(text.loops, writer)
    entry = Entry(text.left, names, rare.integers, build.tests)
    source = [
        *PRELUDE,
        *(f"typedef {meaning} {name};" for name, meaning in TYPES.values()),
        "",
        *([ALONE] if "#pragma omp parallel" in text.code else []),
        *([COUNTED] if any(isinstance(m, TileCount) for m in names.symbols.values()) else []),
        *(f"static inline {each}" for each in FUNCTIONS),
        *check_functions(entry.scope),
        *text.missing('static const {0} nothing_{0} = __builtin_nan("");', rules),
        *(each for _, each in sorted({**rare.functions, **build.functions}.items())),
        "namespace {",
        text.code,
        "}",
        "",
        *rare.lines,
        *entry.write(rare.opening, text.signature),
        "",
    ]
    return "\n".join(source)
