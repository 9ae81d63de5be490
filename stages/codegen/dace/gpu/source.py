"""From DaCe's text for GPUs to one translation unit with our entry point."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from ....ir.loops.kernel import Kernel
from ....vendors.vendor import Vendor
from ...gpu.text.spellings import on_device
from ...rows.checks import tested_stores
from ...rows.scope import WITHIN
from ..checks import finite_functions, missing_values, status_of
from ..entry import Entry
from ..loops import SdfgLoops, SdfgRules
from ..names import SDFG_NAME, SdfgNames, type_name
from ..source import SdfgSource, dace_text
from .opening import FUNCTIONS, opening
from .rare_kernels import rare_kernels
from .text import gpu_text

# Kernels go to the stream that is given; DaCe makes none, and waits for none.
_NO_STREAMS: Final = -1


def gpu_source(loops: SdfgLoops, rules: SdfgRules, vendor: Vendor) -> SdfgSource:
    """Return the source of a program for GPUs, as DaCe writes it."""
    kernel, names = loops.kernel, SdfgNames(loops.kernel)
    tests = tested_stores(loops.kernel) if rules.style.checked else {}
    text = dace_text(loops, rules, names, lambda: _choose_vendor(vendor))
    frame = text.objects[0].clean_code
    device = "\n".join(each.clean_code for each in text.objects if each.language in ("cu", "cpp")
                       and each.name == f"{SDFG_NAME}_cuda")  # fmt: skip
    code = gpu_text(frame, device, names.symbols, vendor).text
    rare = rare_kernels(text.loops, rules, vendor)
    functions = {**rare.functions, **{n: on_device(each) for n, each in text.functions.items()}}
    entry = Entry(text.left, names, rare.integers)
    called = set(re.findall(r"\b(\w+)\(", code))
    source = [
        opening(vendor),
        *(line for name, line in FUNCTIONS.items() if name in called),
        *(_check_functions(kernel, tests) if rules.style.checked else ()),
        *([on_device(WITHIN)] if rare.lines else []),
        *(each for _, each in sorted(functions.items())),
        code,
        "",
        *rare.lines,
        *entry.write_for_gpu(
            text.signature,
            tested=len(tests),
            is_host=vendor.in_turn,
            waits=not rules.asynchronous,
            status=status_of(kernel, tests),
            rare=rare.opening,
        ),
        "",
    ]
    return text.finished("\n".join(source), checked=rules.style.checked)


def _choose_vendor(vendor: Vendor) -> None:
    """Let DaCe write for a vendor; the configuration is that of this thread and build."""
    from dace.config import Config

    Config.set("compiler", "cuda", "max_concurrent_streams", value=_NO_STREAMS)
    Config.set("compiler", "cuda", "backend", value="cuda" if vendor.in_turn else vendor.language)
    # DaCe would look for a GPU of AMD and count its chiplets: the text may not depend on that.
    Config.set("compiler", "cuda", "chiplet_number", value=1)


def _check_functions(kernel: Kernel, tests: Mapping[tuple[int, str], int]) -> Iterator[str]:
    """Write the functions that kernels of a checked program call; the prelude has `note`."""
    yield from (on_device(line) for line in finite_functions(kernel, tests))
    for dtype in missing_values(kernel):
        yield f"#define nothing_{type_name(dtype)} NOT_A_NUMBER_{type_name(dtype)}"
