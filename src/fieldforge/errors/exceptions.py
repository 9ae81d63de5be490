"""Counterpart of `gt4py.next.errors.exceptions`; the same as `fieldforge.errors`."""

from ..runtime.process.errors import (
    CompilationError,
    DSLError,
    DSLTypeError,
    InvalidAnnotationError,
    InvalidParameterAnnotationError,
    MissingArgumentError,
    MissingAttributeError,
    MissingParameterAnnotationError,
    UndefinedSymbolError,
    UnsupportedPythonFeatureError,
)
from ..runtime.process.errors import FieldforgeError as GT4PyError

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
