"""From DaCe's text for GPUs to one translation unit with our entry point."""

from __future__ import annotations

from ....vendors.vendor import Vendor
from ...gpu.text.spellings import on_device
from ...rows import NOTE, WITHIN, functions
from ..entry import Entry
from ..loops import SdfgRules
from ..settings import DaceConfig
from ..source import FUNCTIONS, DaceText
from .opening import opening
from .rare_kernels import rare_kernels


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
    chosen = {
        # Kernels go to the stream that is given; DaCe makes none, and waits for none.
        "max_concurrent_streams": -1,
        "backend": "cuda" if vendor.in_turn else vendor.language,
        # DaCe would look for a GPU of AMD and count its chiplets: the text may not depend on that.
        "chiplet_number": 1,
    }
    return {("compiler", "cuda", name): value for name, value in chosen.items()}
