"""`stencil`, `lazy_stencil`, `function` and `enum`: from Python definitions to GTScript."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from enum import IntEnum
from inspect import currentframe
from typing import Any, Final, TypeVar

from ...stages.gtscript import FunctionDefinition, capture_function
from ..backends.backend import Backend as Compiling
from .backends import Backend, class_for
from .build_times import TIMES
from .builder import StencilBuilder
from .definitions import LITERAL_FLOAT_PRECISION, LITERAL_INT_PRECISION, BuildOptions
from .lazy import LazyStencil

Enumeration = TypeVar("Enumeration", bound=type[IntEnum])
Subroutine = TypeVar("Subroutine", bound=Callable[..., Any])
FUNCTION: Final = "__gtscript_function__"

_enumerations: Final[dict[str, type[IntEnum]]] = {}


def stencil(
    backend: Any,
    definition: Any = None,
    *,
    build_info: dict[str, Any] | None = None,
    dtypes: Mapping[Any, Any] | None = None,
    externals: Mapping[str, Any] | None = None,
    format_source: bool = True,
    name: str | None = None,
    rebuild: bool = False,
    cache_settings: dict[str, Any] | None = None,
    raise_if_not_cached: bool = False,
    literal_int_precision: int = LITERAL_INT_PRECISION,
    literal_float_precision: int = LITERAL_FLOAT_PRECISION,
    **kwargs: Any,
) -> Any:
    """Turn a definition in GTScript into a stencil object, and check it.

    Args:
        backend: gt4py's name of a backend, or one of fieldforge; None is 'numpy'.
        definition: a function or a stencil object; absent where this is a decorator.
        build_info: receives the seconds of the build, when it is done.
        dtypes: types by the names that annotations use; by `int` and `float`, those of literals.
        externals: what the definition may import from `__externals__`.
        format_source: without effect; part of the identity.
        name: the name of the stencil, with its module before a dot.
        rebuild: whether to run all stages again though the store has their results, for the layout
            that the backend recommends.
        cache_settings: without effect; results lie in the store of fieldforge.
        raise_if_not_cached: whether to refuse a stencil that has to be built.
        literal_int_precision: the bits of integer literals.
        literal_float_precision: the bits of float literals.
        kwargs: options of the backend.

    Raises:
        GTError: the definition is no GTScript, or has no meaning.
        ValueError: an option is none.

    >>> import numpy as np
    >>> from fieldforge.cartesian import gtscript
    >>> from fieldforge.cartesian.gtscript import PARALLEL, Field, computation, interval
    >>> @gtscript.stencil(backend="numpy")
    ... def double(a: Field[float], b: Field[float]):
    ...     with computation(PARALLEL), interval(...):
    ...         b = 2.0 * a
    >>> a, b = np.ones((2, 2, 3)), np.zeros((2, 2, 3))
    >>> double(a, b)
    >>> b.sum()
    np.float64(24.0)
    """
    given = {
        "build_info": build_info,
        "dtypes": dtypes,
        "externals": externals,
        "cache_settings": cache_settings,
    }
    flags = {
        "format_source": format_source,
        "rebuild": rebuild,
        "raise_if_not_cached": raise_if_not_cached,
    }
    options = _options(name, _module_of_caller(), kwargs, given, flags)
    options.literal_int_precision = _precision("literal_int_precision", literal_int_precision)
    options.literal_float_precision = _precision("literal_float_precision", literal_float_precision)
    if build_info is not None:
        build_info.update(dict.fromkeys(TIMES, 0.0))

    def decorate(function: Any) -> Any:
        return _builder(function, backend, options, externals, dtypes).build()()

    return decorate if definition is None else decorate(definition)


def lazy_stencil(
    backend: Any = None,
    definition: Any = None,
    *,
    build_info: dict[str, Any] | None = None,
    dtypes: Mapping[Any, Any] | None = None,
    externals: Mapping[str, Any] | None = None,
    format_source: bool = True,
    name: str | None = None,
    rebuild: bool = False,
    raise_if_not_cached: bool = False,
    eager: bool = False,
    check_syntax: bool = True,
    **kwargs: Any,
) -> Any:
    """Turn a definition in GTScript into a stencil that is built when it is first used.

    Args:
        backend: as for `stencil`, as are all arguments that are not named here.
        definition: a function or a stencil object; absent where this is a decorator.
        build_info: receives the times of the build.
        dtypes: types by the names that annotations use.
        externals: what the definition may import from `__externals__`.
        format_source: without effect; part of the identity.
        name: the name of the stencil.
        rebuild: whether to run all stages again.
        raise_if_not_cached: whether to refuse a stencil that has to be built.
        eager: whether to build it at once and return the stencil object.
        check_syntax: whether to read the definition at once, and raise the errors in it.
        kwargs: options of the backend.

    >>> from fieldforge.cartesian import gtscript
    >>> from fieldforge.cartesian.gtscript import FORWARD, Field, computation, interval
    >>> @gtscript.lazy_stencil(backend="numpy")
    ... def accumulate(a: Field[float]):
    ...     with computation(FORWARD), interval(1, None):
    ...         a = a + a[0, 0, -1]
    >>> accumulate.field_info["a"].boundary.lower_indices
    (0, 0, 0)
    """
    given = {"build_info": build_info, "dtypes": dtypes, "externals": externals}
    flags = {
        "format_source": format_source,
        "rebuild": rebuild,
        "raise_if_not_cached": raise_if_not_cached,
    }
    options = _options(name, _module_of_caller(), kwargs, given, flags)

    def decorate(function: Any) -> Any:
        made = LazyStencil(_builder(function, backend, options, externals, dtypes))
        if eager:
            return made.implementation
        if check_syntax:
            made.check_syntax()
        return made

    return decorate if definition is None else decorate(definition)


def function(func: Subroutine) -> Subroutine:
    """Mark a function of GTScript, and bind the globals that it names as they are now.

    >>> from fieldforge.cartesian import gtscript
    >>> @gtscript.function
    ... def half(x):
    ...     return 0.5 * x
    >>> half.__gtscript_function__.name
    'half'
    """
    setattr(func, FUNCTION, capture_function(func))
    return func


def lazy_function(
    *,
    before_annotation: Callable[[Any], None] | None = None,
    after_annotation: Callable[[Any], None] | None = None,
) -> Callable[[Callable[..., Any]], Callable[[], Any]]:
    """Mark a function of GTScript that is bound when a stencil first uses it.

    Args:
        before_annotation: called with the function before it is bound.
        after_annotation: called with the function afterwards.

    >>> from fieldforge.cartesian import gtscript
    >>> @gtscript.lazy_function()
    ... def half(x):
    ...     return 0.5 * x
    >>> half().__gtscript_function__.name
    'half'
    """

    def decorate(func: Callable[..., Any]) -> Callable[[], Any]:
        def bound() -> Any:
            if not hasattr(func, FUNCTION):
                if before_annotation is not None:
                    before_annotation(func)
                function(func)
                if after_annotation is not None:
                    after_annotation(func)
            return func

        def definition() -> FunctionDefinition:
            found: FunctionDefinition = getattr(bound(), FUNCTION)
            return found

        bound.__name__ = func.__name__
        setattr(bound, FUNCTION, definition)
        return bound

    return decorate


def enum(class_: Enumeration) -> Enumeration:
    """Mark an enumeration of integers whose members stencils may name.

    >>> from enum import IntEnum
    >>> from fieldforge.cartesian import gtscript
    >>> @gtscript.enum
    ... class PhaseOfWater(IntEnum):
    ...     LIQUID = 0
    ...     ICE = 1
    """
    name = class_.__name__
    if not issubclass(class_, IntEnum):
        raise ValueError(f"Enum {name} needs to derive from `enum.IntEnum`.")
    if _enumerations.get(name, class_) is not class_ or name in _enumerations:
        raise ValueError(f"Enum names must be unique. @gtscript.enum {name} is already taken.")
    _enumerations[name] = class_
    return class_


def _builder(
    definition: Any,
    backend: Any,
    options: BuildOptions,
    externals: Mapping[str, Any] | None,
    dtypes: Mapping[Any, Any] | None,
) -> StencilBuilder:
    found = _function_of(definition)
    options.name = options.name or found.__name__
    made = StencilBuilder(found, backend=_backend(backend), options=options)
    return made.with_externals(externals or {}).with_dtypes(dtypes or {})


def _backend(given: Any) -> str | type[Backend] | None:
    return class_for(given) if isinstance(given, Compiling) else given


def _function_of(definition: Any) -> types.FunctionType:
    """Return the Python function of a definition: itself, a stencil's, or its `__call__`."""
    found = definition
    if not isinstance(definition, types.FunctionType):
        call = getattr(type(definition), "__call__", None)  # noqa: B004  (the function itself)
        found = getattr(definition, "definition_func", call)
    if not isinstance(found, types.FunctionType):
        raise ValueError(f"Invalid stencil definition object ({definition})")
    return found


def _module_of_caller() -> str:
    frame = currentframe()
    assert frame is not None, "CPython has frames"
    caller = frame.f_back.f_back if frame.f_back is not None else None
    return str(caller.f_globals.get("__name__", "__main__")) if caller is not None else "__main__"


def _options(
    name: str | None,
    module: str,
    more: Mapping[str, Any],
    given: Mapping[str, Any],
    flags: Mapping[str, bool],
) -> BuildOptions:
    """Check what `stencil` is called with; `more` are options of the backend."""
    _check(given, flags, name)
    above, _, own = (name or "").rpartition(".")
    return BuildOptions(
        own,
        above or module,
        backend_opts={key: value for key, value in more.items() if not key.startswith("_")},
        impl_opts={key: value for key, value in more.items() if key.startswith("_")},
        build_info=given["build_info"],
        cache_settings=given.get("cache_settings") or {},
        **flags,
    )


def _check(dictionaries: Mapping[str, Any], flags: Mapping[str, Any], name: Any) -> None:
    for key, value in dictionaries.items():
        if value is not None and not isinstance(value, dict):
            raise ValueError(f"Invalid '{key}' dictionary ('{value}')")
    for key, value in flags.items():
        if not isinstance(value, bool):
            raise ValueError(f"Invalid '{key}' bool value ('{value}')")
    if name is not None and not isinstance(name, str):
        raise ValueError(f"Invalid 'name' string ('{name}')")


def _precision(name: str, bits: Any) -> int:
    if bits not in (32, 64):
        raise ValueError(f"Invalid '{name}'. Got '{bits}', expected 32 or 64.")
    return int(bits)
