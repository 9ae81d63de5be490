"""From DaCe's text for GPUs to one translation unit with our entry point.

Calls whose soft reads lead out of a field (see `soft_reads`) have a version without DaCe, which
clamps the indices of loads. Few calls need it, so it is one plain kernel of the backend `gpu` for
each nest, with a point or a column for each thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ....ir.loops import Nest
from ....ir.loops.gpu import marks_of
from ....vendors.vendor import Vendor
from ...cpu.text.threads import guard
from ...gpu.kernels import parts
from ...gpu.passes.thread_blocks import spread
from ...gpu.text.grid import MOST_BLOCKS, axes_of
from ...gpu.text.kernel import Written, write_version
from ...gpu.text.spellings import dialect_of, on_device
from ...rows import NOTE, WITHIN, Scope, WriterOptions, beyond, functions, places_of
from ..entry import Entry, defined
from ..loops import SdfgLoops, SdfgRules
from ..rare import RareVersion, ungrouped
from ..settings import DaceConfig
from ..source import FUNCTIONS, DaceText
from .opening import launched, opening


def gpu_source(text: DaceText, rules: SdfgRules, vendor: Vendor, *, waits: bool) -> str:
    """Return the source of a program for GPUs, as DaCe writes it."""
    build = text.build
    rare = rare_kernels(text.loops, rules, vendor)
    entry = Entry(text.left, build.names, rare.integers, build.tests)
    source = [
        opening(vendor),
        *(f"BOTH {each}" for each in FUNCTIONS),
        *(on_device(line) for line in functions(entry.scope) if line != NOTE),  # the opening has it
        *text.missing("#define nothing_{0} NOT_A_NUMBER_{0}", rules),
        *([on_device(WITHIN)] if rare.lines else []),
        *(each for _, each in sorted({**rare.functions, **build.functions}.items())),
        text.code,
        "",
        *rare.lines,
        *entry.write_for_gpu(rare.opening, text.signature, is_host=vendor.in_turn, waits=waits),
        "",
    ]
    return "\n".join(source)


def dace_config(vendor: Vendor) -> DaceConfig:
    """Return the options by which DaCe writes for a vendor."""
    return {
        # Kernels go to the stream that is given; DaCe makes none, and waits for none.
        ("compiler", "cuda", "max_concurrent_streams"): -1,
        ("compiler", "cuda", "backend"): "cuda" if vendor.in_turn else vendor.language,
        # DaCe would look for a GPU of AMD and count its chiplets: the text may not depend on that.
        ("compiler", "cuda", "chiplet_number"): 1,
    }


_HEAD = (
    "static void clamped(kernel_state_t* state, const void* const* ptrs, const s64* ints,",
    "                    const void* scalars, void* arena) {",
    "  (void)state, (void)ptrs, (void)ints, (void)scalars, (void)arena;",
)
_NAMES = {"pointer": "p", "slot": "slot", "int": "n", "scalar": "x"}


def rare_kernels(loops: SdfgLoops, rules: SdfgRules, vendor: Vendor) -> RareVersion:
    """Write that version; a checked program refuses such calls."""
    if (clamping := loops.clamping) is None:
        return RareVersion(loops.integers)
    ints = (*loops.integers, *clamping.integers)
    flag = f"  if (ints[{clamping.flag}])"
    if rules.writer.checked:
        return RareVersion(ints, (f"{flag} return {beyond(loops.kernel)};",))
    options = WriterOptions(0, vector_math=False, own_math=rules.writer.own_math)
    tree = spread(ungrouped(loops.kernel), rules.schedule)
    scope = Scope(tree, places_of(ints), options, dialect_of(options), clamped=clamping.ends)
    return RareVersion(
        ints,
        (f"{flag} clamped(&state, ptrs, ints, scalars, arena);", "  else"),
        tuple(_lines(scope, loops.steps, vendor)),
        scope.uses.functions,
    )


def _lines(scope: Scope, steps: Sequence[int], vendor: Vendor) -> Iterator[str]:
    """Write the kernels, and the function that launches them in order."""
    launches: list[str] = []
    for text, written in write_version(scope, parts(scope.kernel), "c", vendor):
        if vendor.in_turn:  # without the function by which the null platform runs a grid
            yield from (text.partition('\nextern "C" void grid_of')[0], _on_host(written))
        else:
            yield text
        launches += _launch(scope, steps, written, vendor)
    yield from (*_HEAD, *defined(scope), *launches, "}")


def _launch(scope: Scope, steps: Sequence[int], written: Written, vendor: Vendor) -> list[str]:
    nest = written.part.first
    given = [f"(void*)&{_NAMES[kind]}{place}" for kind, place in written.arguments]
    blocks = [_blocks(scope, nest, axis) for axis in range(len(axes_of(nest)))]
    grid = ", ".join([*blocks, "1", "1", "1"][:3])
    threads = ", ".join(map(str, (*marks_of(nest).block, 1, 1, 1)[:3]))
    only, test = f"ints[{len(scope.places)}]", guard(scope, scope.kernel.groups[nest.group].box)
    test += f" && (!{only} || {only} == {steps[nest.group]})" if steps else ""
    return [
        f"  if ({test}) {{",
        f"    void* args[] = {{{', '.join([*given, 'nullptr'])}}};",
        "    s64 first_y = 0, first_z = 0;",
        f"    launch(state, {launched(vendor, _name(written))}, Blocks{{{grid}}}, "
        f"dim3({threads}), args, 0, first_y, first_z);",
        "  }",
    ]


def _name(written: Written) -> str:
    return f"c{written.part.nests[0]}"


def _blocks(scope: Scope, nest: Nest, place: int) -> str:
    """Return how many blocks a grid has; along y and z the threads of so many share all indices."""
    axis = axes_of(nest)[place]
    range_ = nest.loops[axis.level].range
    extent = f"later({scope.bound(range_.stop)} - {scope.bound(range_.start)}, 0)"
    count = f"({extent} + {axis.threads - 1}) / {axis.threads}"
    return f"earlier({count}, {MOST_BLOCKS})" if place else count


def _on_host(written: Written) -> str:
    """Return the function that gives a thread its arguments."""
    values = ", ".join(f"*({each}*)args[{place}]" for place, each in enumerate(written.types))
    kernel = _name(written)
    return f"static void thread_of_{kernel}(void** args) {{ (void)args; {kernel}({values}); }}"
