"""Make stencils by gt4py's lower functions: loaders and front ends by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from ...stages.gtscript.capture import capture
from .backends import Registry
from .builder import StencilBuilder
from .definitions import BuildOptions
from .stencil_object import StencilObject


class GTScriptFrontend:
    """The front end of GTScript; there is no other."""

    name: ClassVar[str] = "gtscript"

    @classmethod
    def prepare_stencil_definition(
        cls, definition: Callable[..., Any], externals: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """Read a definition, raise what is wrong with its names, and return it."""
        capture(definition, externals=externals)
        return definition


FRONTENDS: Final = Registry[type[GTScriptFrontend]]()
FRONTENDS.register(GTScriptFrontend.name, GTScriptFrontend)


def frontend_from_name(name: str) -> type[GTScriptFrontend]:
    """Return a front end by name.

    >>> frontend_from_name("gtscript").name
    'gtscript'
    """
    if name not in FRONTENDS:
        raise ValueError(
            f"Frontend '{name}' is not registered. Valid options are: {FRONTENDS.names}."
        )
    return FRONTENDS[name]


def load_stencil(
    frontend_name: str,
    backend_name: str,
    definition_func: Callable[..., Any],
    externals: Mapping[str, Any],
    dtypes: Mapping[Any, Any],
    build_options: BuildOptions,
) -> type[StencilObject]:
    """Return the class of a stencil."""
    frontend = frontend_from_name(frontend_name)
    made = StencilBuilder(
        definition_func, backend=backend_name, options=build_options, frontend=frontend
    )
    return made.with_externals(externals).with_dtypes(dtypes).build()


def gtscript_loader(
    definition_func: Callable[..., Any],
    backend: str,
    build_options: BuildOptions,
    externals: Mapping[str, Any],
    dtypes: Mapping[Any, Any],
) -> StencilObject:
    """Return a stencil object."""
    build_options.name = build_options.name or definition_func.__name__
    return load_stencil("gtscript", backend, definition_func, externals, dtypes, build_options)()
