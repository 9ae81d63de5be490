"""`Definition`: a decorated function as a value, the input of `parse`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from ..process import SourceText, classes

Kind: TypeAlias = Literal["field_operator", "scan_operator", "program"]


@classes.frozen
class ScanOptions:
    """How a scan walks: the vertical axis, upwards or downwards in index, and its first state."""

    axis: Any
    forward: Any
    init: Any


@classes.frozen(eq=False)
class Definition:
    """A decorated function as a frozen value: source, closure, kind and options.

    `closure` holds every resolved name that the function can see, sorted by name; an operator
    among them is the decorated object, which offers its own `Definition` as `__definition__`.
    `annotations` are the evaluated annotations in the order of the parameters, 'return' last if
    there is one. `variables` are the type variables in them; an instance of a generic definition
    has none, and `types` that it was made for, see `generics`. A derivative has the body of its
    `origin`, and parameters of its own.
    """

    name: str
    kind: Kind
    source: SourceText
    function: Callable[..., Any]
    closure: tuple[tuple[str, Any], ...]
    annotations: tuple[tuple[str, Any], ...]
    scan: ScanOptions | None = None
    grid_type: str | None = None
    variables: tuple[Any, ...] = ()
    types: tuple[tuple[Any, str], ...] = ()
    origin: Definition | None = None
