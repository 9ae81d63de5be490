"""Pickle stencils: the definition as a value, options, and the name of the Python function.

What a stencil names is bound when it is decorated, so a pickle holds these constants. Another
process imports the function by its name, and compares its text.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, Self

from ...runtime.language.capture import source_of
from ...runtime.process import classes
from ...stages.gtscript.definition import StencilDefinition
from ..backends.backend import Backend as Compiling
from ..entries.pickling import check_importable, imported, other_definition
from .backends import REGISTRY, Backend, class_for
from .definitions import BuildOptions


@classes.frozen
class Address:
    """Where a Python function is imported from, and its text."""

    module: str
    name: str
    text: str

    @classmethod
    def of(cls, function: Callable[..., Any], text: str) -> Self:
        """Return the address of a function; without an importable name it is an error."""
        module, name = function.__module__, function.__qualname__
        check_importable(module, name, lambda value: _function_of(value) is function)
        return cls(module, name, text)

    @property
    def value(self) -> Any:
        """What is imported: a stencil, a lazy one, or the function."""
        return imported(self.module, self.name)

    @property
    def function(self) -> FunctionType:
        """The Python function; another text than that of the address is an error."""
        found = _function_of(self.value)
        if found is None or source_of(found).text != self.text:
            reason = "there is no stencil under this name, or its text has changed"
            raise other_definition(self.module, self.name, reason)
        return found


@classes.frozen
class PickledStencil:
    """The content of a pickled stencil; `backend` is a registered name, or one of fieldforge."""

    address: Address
    definition: StencilDefinition
    backend: str | Compiling
    options: BuildOptions

    @classmethod
    def of(
        cls,
        function: Callable[..., Any],
        definition: StencilDefinition,
        backend: type[Backend],
        options: BuildOptions,
    ) -> Self:
        """Return the content for a stencil; what concerns its build alone stays behind."""
        is_known = REGISTRY.get(backend.name) is backend
        return cls(
            Address.of(function, definition.source.text),
            definition,
            backend.name if is_known else backend.selected(),
            classes.evolve(options, build_info=None, rebuild=False),
        )

    @property
    def backend_class(self) -> str | type[Backend]:
        """The backend as builders take it."""
        found = self.backend
        return found if isinstance(found, str) else class_for(found)


def _function_of(value: Any) -> FunctionType | None:
    """Return the Python function of a stencil, of a lazy one, or of one that is not decorated."""
    builder = getattr(value, "builder", None)
    found = getattr(value, "definition_func", value if builder is None else builder.definition)
    return found if isinstance(found, FunctionType) else None
