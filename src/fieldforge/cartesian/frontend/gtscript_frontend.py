"""Counterpart of `gt4py.cartesian.frontend.gtscript_frontend`."""

from ...stages.gtscript.errors import (
    GTScriptAssertionError,
    GTScriptDataTypeError,
    GTScriptDefinitionError,
    GTScriptSymbolError,
    GTScriptSyntaxError,
    GTScriptValueError,
)
from ...workflows.cartesian.loading import GTScriptFrontend

__all__ = [
    "GTScriptAssertionError",
    "GTScriptDataTypeError",
    "GTScriptDefinitionError",
    "GTScriptFrontend",
    "GTScriptSymbolError",
    "GTScriptSyntaxError",
    "GTScriptValueError",
]
