"""`field_operator`, `program` and `scan_operator`: from a Python function to an entry point."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..runtime.capture import capture
from ..runtime.definition import Definition, Kind
from ..runtime.errors import UnsupportedPythonFeatureError
from ..runtime.settings import current
from .backend import Backend
from .backends import find_backend
from .building import check
from .entry_point import CompilationOptions, Made, changed_options, grid_name
from .field_operator import FieldOperator
from .program import Program, make_program

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
        return make_program(_made(function, "program", backend, grid_type, options))

    return decorate if function is None else decorate(function)


def scan_operator(function: Callable[..., Any] | None = None, **_: Any) -> Any:
    """Refuse scans, which are not supported yet."""

    def decorate(function: Callable[..., Any]) -> Any:
        definition = capture(function, "scan_operator")
        lines = definition.source.text.splitlines()
        place = definition.source.span(1, 0, 1, len(lines[0]))
        raise UnsupportedPythonFeatureError(
            place,
            "scan_operator",
            notes=[f"Scans are not supported yet, so '{definition.name}' cannot be used."],
        )

    return decorate if function is None else decorate(function)


def _made(
    function: Callable[..., Any],
    kind: Kind,
    backend: Backend | str | _Unset | None,
    grid_type: Any,
    options: dict[str, Any],
) -> Made:
    definition: Definition = capture(function, kind, grid_type=grid_name(grid_type))
    check(definition)
    chosen = changed_options(CompilationOptions(), options)
    return Made(
        definition, find_backend(_default() if isinstance(backend, _Unset) else backend), chosen
    )


def _default() -> Backend | str | None:
    return DEFAULT_BACKEND if DEFAULT_BACKEND is not None else current().backend
