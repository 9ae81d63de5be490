"""Counterpart of `gt4py.cartesian.type_hints`."""

from collections.abc import Callable
from typing import Any, TypeAlias

StencilFunc: TypeAlias = Callable[..., Any]
AnnotatedStencilFunc: TypeAlias = Callable[..., Any]
AnyStencilFunc: TypeAlias = Callable[..., Any]
