"""Counterpart of `gt4py.next.instrumentation.hooks`: the places that callbacks register for."""

from ..runtime.process.hooks import (
    compile_variant_hook,
    compiled_program_call_context,
    embedded_program_call_context,
    program_call_context,
)

__all__ = [
    "compile_variant_hook",
    "compiled_program_call_context",
    "embedded_program_call_context",
    "program_call_context",
]
