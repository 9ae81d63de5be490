"""Counterpart of `gt4py.cartesian.frontend.exceptions`."""

from ...stages.gtscript.errors import (
    GTScriptAssertionError,
    GTScriptDataTypeError,
    GTScriptDefinitionError,
    GTScriptSymbolError,
    GTScriptSyntaxError,
    GTScriptValueError,
)

__all__ = [
    "GTScriptAssertionError",
    "GTScriptDataTypeError",
    "GTScriptDefinitionError",
    "GTScriptSymbolError",
    "GTScriptSyntaxError",
    "GTScriptValueError",
]
