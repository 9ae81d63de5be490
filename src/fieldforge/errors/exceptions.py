"""Counterpart of `gt4py.next.errors.exceptions`; the same as `fieldforge.errors`."""

from ..runtime.process.errors import (
    CompilationError,
    DSLError,
    DSLTypeError,
    FieldforgeError as GT4PyError,
    InvalidAnnotationError,
    InvalidParameterAnnotationError,
    MissingArgumentError,
    MissingAttributeError,
    MissingParameterAnnotationError,
    UndefinedSymbolError,
    UnsupportedPythonFeatureError,
)

__all__ = [
    "CompilationError",
    "DSLError",
    "DSLTypeError",
    "GT4PyError",
    "InvalidAnnotationError",
    "InvalidParameterAnnotationError",
    "MissingArgumentError",
    "MissingAttributeError",
    "MissingParameterAnnotationError",
    "UndefinedSymbolError",
    "UnsupportedPythonFeatureError",
]
