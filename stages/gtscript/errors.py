"""The errors of GTScript by gt4py's names, each with the place in the user's file.

GTError
  GTSyntaxError
    GTScriptSyntaxError
      GTScriptSymbolError          a name that nothing defines
      GTScriptDefinitionError      a parameter or constant that is not one
        GTScriptValueError
      GTScriptDataTypeError
  GTSpecificationError
    GTScriptAssertionError         a 'compile_assert' that does not hold
  StencilRefusedError              a ValueError: well written, but without a meaning
    NotYetSupportedError           a part of GTScript that fieldforge does not have yet
"""

from __future__ import annotations

from typing import Any

from ...runtime.process import DSLError, Span


class GTError(DSLError):
    """The base of all errors of GTScript."""

    @property
    def loc(self) -> Span | None:
        """The place, by the name that gt4py uses."""
        return self.location


class GTSyntaxError(GTError):
    """Something is written that GTScript does not have."""


class GTScriptSyntaxError(GTSyntaxError):
    """Something in the text of a stencil or function is not GTScript."""


class GTScriptSymbolError(GTScriptSyntaxError):
    """A name that nothing defines."""

    def __init__(self, location: Span | None, name: str, message: str = "", **rest: Any) -> None:
        super().__init__(location, message or f"Unknown symbol '{name}'.", **rest)
        self.name = name


class GTScriptDefinitionError(GTScriptSyntaxError):
    """A parameter, a constant or an import with a definition that does not fit."""

    def __init__(
        self, location: Span | None, name: str, value: Any, message: str, **rest: Any
    ) -> None:
        super().__init__(location, message, **rest)
        self.name = name
        self.value = value


class GTScriptValueError(GTScriptDefinitionError):
    """A parameter or constant with a value or type that GTScript does not have."""


class GTScriptDataTypeError(GTScriptSyntaxError):
    """A type that GTScript does not have."""


class GTSpecificationError(GTError):
    """A stencil that contradicts itself."""


class GTScriptAssertionError(GTSpecificationError):
    """A 'compile_assert' that does not hold."""


class StencilRefusedError(GTError, ValueError):
    """A stencil that is well written, but has no meaning."""


class NotYetSupportedError(StencilRefusedError, NotImplementedError):
    """A part of GTScript that fieldforge does not have yet."""
