"""`field_operator`, `program` and `scan_operator`: from a Python function to an entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.language.capture import capture
from ...runtime.language.definition import Kind, ScanOptions
from ...runtime.process.settings import current
from ..backends.backend import Backend
from ..backends.ready_made import find_backend
from ..builds.building import check, summary
from .compilation_options import CompilationOptions, changed_options, grid_name
from .decorated import Made, check_grid
from .field_operator import FieldOperator
from .program import Program
from .rebinding import watch
from .scan_operator import ScanOperator
from .static_arguments import check_names

DEFAULT_BACKEND: Backend | str | None = None
"""What functions get that are decorated without `backend=`; None leaves it to the settings."""


class _Unset:
    """Stands for an argument that was not given, where None means something."""

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
    """Make an operator on fields of a function, checked at once.

    Args:
        function: left out where the decorator is written with arguments.
        backend: what compiles it; None runs embedded.
        grid_type: 'cartesian' or 'unstructured' instead of what is deduced.
        options: compilation options, see `CompilationOptions`.

    """

    def decorate(function: Callable[..., Any]) -> FieldOperator:
        return FieldOperator(_made(function, "field_operator", backend, grid_type, options))

    return decorate if function is None else decorate(function)


def program(
    function: Callable[..., Any] | None = None,
    *,
    backend: Backend | str | _Unset | None = UNSET,
    grid_type: Any = None,
    **options: Any,
) -> Any:
    """Make a program, a sequence of operator calls, of a function, checked at once.

    The arguments are those of `field_operator`.
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
    """Make a scan of a function on the scalars of one point, checked at once.

    The first parameter is the state: what the function returns at one level is the result there,
    and the state at the next.

    Args:
        function: left out where the decorator is written with arguments.
        axis: the vertical dimension to walk along.
        forward: whether indices grow on the way.
        init: the first state, of exactly the type of the first parameter.
        backend: what compiles direct calls; None runs embedded.
        grid_type: as for `field_operator`.
        options: compilation options, see `CompilationOptions`.

    """
    scan = ScanOptions(axis, forward, init)

    def decorate(function: Callable[..., Any]) -> ScanOperator:
        return ScanOperator(_made(function, "scan_operator", backend, grid_type, options, scan))

    return decorate if function is None else decorate(function)


def _made(
    function: Callable[..., Any],
    kind: Kind,
    backend: Backend | str | _Unset | None,
    grid_type: Any,
    options: dict[str, Any],
    scan: ScanOptions | None = None,
) -> Made:
    definition = capture(function, kind, scan=scan, grid_type=grid_name(grid_type))
    check(definition)
    check_grid(definition)
    chosen = changed_options(CompilationOptions(enable_jit=current().enable_jit), options)
    if chosen.static_params:
        types = dict(summary(definition).signature.parameters)
        check_names(types, chosen.static_params, definition.name)
    found = find_backend(_default() if isinstance(backend, _Unset) else backend)
    return Made(definition, watch(definition), found, chosen)


def _default() -> Backend | str | None:
    return DEFAULT_BACKEND if DEFAULT_BACKEND is not None else current().backend
