"""Counterpart of `gt4py.eve.concepts`: nodes of trees as classes with fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, dataclass_transform

import attrs

__all__ = ["FrozenNode", "Node"]


@dataclass_transform(kw_only_default=True)
class Node:
    """A node of a tree: annotations of a subclass are its fields, given by keyword.

    Values are not checked against the annotations.

    >>> class Constant(Node):
    ...     value: float
    ...     unit: str = "m"
    >>> Constant(value=2.0)
    Constant(value=2.0, unit='m')
    >>> dict(Constant(value=2.0).iter_children_items())
    {'value': 2.0, 'unit': 'm'}
    """

    def __init_subclass__(cls, *, frozen: bool = False, **options: Any) -> None:
        super().__init_subclass__(**options)
        frozen = frozen or any(getattr(base, "_is_frozen", False) for base in cls.__bases__)
        cls._is_frozen = frozen
        attrs.define(cls, slots=False, kw_only=True, frozen=frozen, auto_attribs=True)

    _is_frozen = False

    def iter_children_items(self) -> Iterator[tuple[str, Any]]:
        """Yield the fields with their names."""
        kind: type[Any] = type(self)
        for field in attrs.fields(kind):
            yield field.name, getattr(self, field.name)

    def iter_children_values(self) -> Iterator[Any]:
        """Yield the values of the fields."""
        for _, value in self.iter_children_items():
            yield value


class FrozenNode(Node, frozen=True):
    """A node whose fields cannot be set."""
