"""`field_operator`, `program` and `scan_operator`: from a Python function to an entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.language import Kind, ScanOptions
from ...runtime.language.capture import capture
from ...runtime.language.generics import instances
from ...runtime.process.settings import current
from ..backends.backend import Backend
from ..builds.building import check, summary
from ..options.tags import backend_for
from ..variants.call_shape import check_names
from .decorated import CompilationOptions, Made, address_of, changed_options, check_grid, grid_name
from .field_operator import FieldOperator
from .program import Program
from .rebinding import watch

DEFAULT_BACKEND: Backend | str | None = None
"""The backend of functions decorated without `backend=`; None uses the settings."""


class _Unset:
    """Marks an argument that was not given, where None has a meaning."""

    def __repr__(self) -> str:
        return "the default backend"


UNSET = _Unset()


def field_operator(
    function: Callable[..., Any] | None = None,
    *,
    backend: Backend | str | _Unset | None = UNSET,
    grid_type: Any = None,
    **options: Any,
) -> Any:
    """Turn a function into an operator on fields, and check it.

    A call takes the parameters, then `out=` for the field or fields that receive the result,
    `domain=` to write a part of them, and `offset_provider=` for neighbour tables.

    Args:
        function: absent if the decorator has arguments.
        backend: compiles the function; None runs embedded.
        grid_type: 'cartesian' or 'unstructured'; deduced by default.
        options: compilation options, see `CompilationOptions`.

    Raises:
        DSLError: for a function that is not in the language, with the line.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator(backend=ff.cpu)
    ... def rise(u: Line) -> Line:
    ...     return u(I + 1) - u
    >>> out = ff.zeros({I: 3})
    >>> rise(ff.as_field([I], [1.0, 2.0, 4.0, 7.0]), out=out)
    >>> out.asnumpy()
    array([1., 2., 3.])
    """

    def decorate(function: Callable[..., Any]) -> FieldOperator:
        return _operator_of(_made(function, "field_operator", backend, grid_type, options))

    return decorate if function is None else decorate(function)


def program(
    function: Callable[..., Any] | None = None,
    *,
    backend: Backend | str | _Unset | None = UNSET,
    grid_type: Any = None,
    **options: Any,
) -> Any:
    """Turn a function into a program, a sequence of operator calls, and check it.

    A call takes the parameters, by position or by name, and `offset_provider=` for neighbour
    tables. It writes into the fields that its statements name with `out=`.

    Args:
        function: absent if the decorator has arguments.
        backend: compiles the program; None runs embedded.
        grid_type: 'cartesian' or 'unstructured'; deduced by default.
        options: compilation options, see `CompilationOptions`.

    Raises:
        DSLError: for a function that is not in the language, with the line.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> Line = ff.Field[ff.Dims[I], ff.float64]
    >>> @ff.field_operator
    ... def rise(u: Line) -> Line:
    ...     return u(I + 1) - u
    >>> @ff.program(backend=ff.cpu)
    ... def climb(u: Line, out: Line, n: ff.int32):
    ...     rise(u, out=out, domain={I: (0, n)})
    >>> out = ff.zeros({I: 3})
    >>> climb(ff.as_field([I], [1.0, 2.0, 4.0, 7.0]), out, 2)
    >>> out.asnumpy()
    array([1., 2., 0.])
    """

    def decorate(function: Callable[..., Any]) -> Program:
        return Program(_made(function, "program", backend, grid_type, options))

    return decorate if function is None else decorate(function)


def scan_operator(
    function: Callable[..., Any] | None = None,
    *,
    axis: Any = None,
    forward: Any = True,
    init: Any = 0.0,
    backend: Backend | str | _Unset | None = UNSET,
    grid_type: Any = None,
    **options: Any,
) -> Any:
    """Turn a function on the scalars of one point into a vertical scan, and check it.

    The first parameter is the state: the value that the function returns at one level is the result
    there and the state at the next.

    Args:
        function: absent if the decorator has arguments.
        axis: the vertical dimension to scan along.
        forward: whether the scan goes towards larger indices.
        init: the first state, of exactly the type of the first parameter.
        backend: compiles direct calls; None runs embedded.
        grid_type: as for `field_operator`.
        options: compilation options, see `CompilationOptions`.

    Raises:
        DSLError: for a function that is not in the language, with the line.

    >>> import fieldforge as ff
    >>> K = ff.Dimension("K", ff.DimensionKind.VERTICAL)
    >>> @ff.scan_operator(axis=K, forward=True, init=0.0)
    ... def total(above: float, rain: float) -> float:
    ...     return above + rain
    >>> out = ff.zeros({K: 3})
    >>> total(ff.as_field([K], [1.0, 2.0, 4.0]), out=out)
    >>> out.asnumpy()
    array([1., 3., 7.])
    """
    scan = ScanOptions(axis, forward, init)

    def decorate(function: Callable[..., Any]) -> FieldOperator:
        return _operator_of(_made(function, "scan_operator", backend, grid_type, options, scan))

    return decorate if function is None else decorate(function)


def _operator_of(made: Made) -> FieldOperator:
    """Return the object that a decorator of an operator gives; the rarer kinds come when needed."""
    if made.definition.variables:
        from .generic_operator import GenericOperator

        return GenericOperator(made)
    if made.definition.scan is None:
        return FieldOperator(made)
    from .scan_operator import ScanOperator

    return ScanOperator(made)


def _made(
    function: Callable[..., Any],
    kind: Kind,
    backend: Backend | str | _Unset | None,
    grid_type: Any,
    options: dict[str, Any],
    scan: ScanOptions | None = None,
) -> Made:
    definition = capture(function, kind, scan=scan, grid_type=grid_name(grid_type))
    chosen = changed_options(CompilationOptions(enable_jit=current().enable_jit), options)
    checked = None
    for each in instances(definition):
        checked = check(each)
        check_grid(each)
        if chosen.static_params:
            types = dict(summary(each).signature.parameters)
            check_names(types, chosen.static_params, definition.name)
    asked = _default() if isinstance(backend, _Unset) else backend
    found = backend_for(asked, address_of(definition))
    return Made(definition, watch(definition), found, chosen, checked=checked)


def _default() -> Backend | str | None:
    return DEFAULT_BACKEND if DEFAULT_BACKEND is not None else current().backend
