"""From DaCe's text for GPUs to one translation unit with our entry point."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from ....ir.flat_kernel import Kernel
from ....ir.nests import Constant
from ....vendors.vendor import Vendor
from ...gpu.text.spellings import on_device
from ...rows.checks import is_nothing, tested_stores
from ..arrangement import as_steps
from ..checks import finite_functions, status_of
from ..entry import Entry
from ..names import SDFG_NAME, Names, type_name
from ..settings import dace_defaults
from ..source import Plan, Written, clamping_after, optimised, with_arrays_left
from ..text import show_graph
from .opening import FUNCTIONS, opening
from .rare_kernels import RareKernels
from .text import gpu_text

# Kernels go to the stream that is given; DaCe makes none, and waits for none.
_NO_STREAMS: Final = -1


def gpu_source(kernel: Kernel, plan: Plan, vendor: Vendor) -> Written:
    """Return the source of a kernel for GPUs, as DaCe writes it."""
    names = Names(kernel)
    tests = tested_stores(kernel) if plan.style.checked else {}
    with dace_defaults():
        from dace.codegen.codegen import generate_code

        _choose_vendor(vendor)
        graph = optimised(kernel, names, plan, lambda *_: None)
        left = with_arrays_left(kernel, names, graph)
        objects = generate_code(graph.sdfg, validate=False)
        signature = list(graph.sdfg.arglist())
        listing = show_graph(graph.sdfg, kernel, names)
    frame = objects[0].clean_code
    device = "\n".join(each.clean_code for each in objects if each.language in ("cu", "cpp")
                       and each.name == f"{SDFG_NAME}_cuda")  # fmt: skip
    text = gpu_text(frame, device, names.symbols, vendor).text
    plan = attrs.evolve(plan, clamping=clamping_after(plan.clamping, kernel, left))
    rare = RareKernels(kernel, plan, vendor)
    entry = Entry(left, names, rare.integers)
    called = set(re.findall(r"\b(\w+)\(", text))
    source = [
        opening(vendor),
        *(line for name, line in FUNCTIONS.items() if name in called),
        *_check_functions(kernel, tests, plan),
        *rare.functions(dict(graph.functions)),
        text,
        "",
        *rare.lines,
        *entry.write_for_gpu(
            signature,
            tested=len(tests),
            is_host=vendor.in_turn,
            waits=not plan.asynchronous,
            status=status_of(kernel, tests),
            rare=rare.opening,
        ),
        "",
    ]
    joined = rare.joined(as_steps(left, graph.together))
    return Written("\n".join(source), listing, joined, plan.clamping)


def _choose_vendor(vendor: Vendor) -> None:
    """Let DaCe write for a vendor; the configuration is that of this thread and build."""
    from dace.config import Config

    Config.set("compiler", "cuda", "max_concurrent_streams", value=_NO_STREAMS)
    Config.set("compiler", "cuda", "backend", value="cuda" if vendor.in_turn else vendor.language)
    # DaCe would look for a GPU of AMD and count its chiplets: the text may not depend on that.
    Config.set("compiler", "cuda", "chiplet_number", value=1)


def _check_functions(
    kernel: Kernel, tests: Mapping[tuple[int, str], int], plan: Plan
) -> Iterator[str]:
    """Write the functions that kernels of a checked program call; the prelude has `note`."""
    if not plan.style.checked:
        return
    yield from (on_device(line) for line in finite_functions(kernel, tests))
    rows = (row for nest in kernel.nests for row in nest.body)
    missing = {r.dtype for r in rows if isinstance(r, Constant) and is_nothing(r.text, r.dtype)}
    for dtype in sorted(missing):
        yield f"#define nothing_{type_name(dtype)} NOT_A_NUMBER_{type_name(dtype)}"
