"""Dimensions: the named axes of fields."""

from __future__ import annotations

import enum
from typing import Any, Final


class DimensionKind(str, enum.Enum):
    """What an axis counts: cells of the mesh, levels of the column, or neighbours."""

    HORIZONTAL = "horizontal"
    LOCAL = "local"
    VERTICAL = "vertical"

    def __str__(self) -> str:
        return self.value


class Dimension:
    """A named axis; two dimensions of one name and kind are the same object.

    >>> I = Dimension("I")
    >>> I is Dimension("I"), str(I)
    (True, 'I[horizontal]')
    """

    __slots__ = ("kind", "value")
    value: Final[str]
    kind: Final[DimensionKind]
    _interned: dict[tuple[str, DimensionKind], Dimension] = {}

    def __new__(cls, value: str, kind: DimensionKind = DimensionKind.HORIZONTAL) -> Dimension:
        key = (value, DimensionKind(kind))
        found = cls._interned.get(key)
        if found is None:
            made = super().__new__(cls)
            object.__setattr__(made, "value", value)
            object.__setattr__(made, "kind", key[1])
            found = cls._interned.setdefault(key, made)
        return found

    def __setattr__(self, name: str, _: Any) -> None:
        raise AttributeError(f"A Dimension is immutable; cannot set '{name}'.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self.value, self.kind)

    def __str__(self) -> str:
        return f"{self.value}[{self.kind}]"

    def __repr__(self) -> str:
        return f"Dimension({self.value!r}, {self.kind!s})"
