"""Connectivities: maps from indices to indices, to which fields are applied.

`I + 1` is the map i -> i + 1, a `CartesianConnectivity`; a `FieldOffset` names
a map that the offset provider gives at the call. The tables there are `Connectivity`
objects, see `neighbour_table`.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Mapping
from typing import Any, TypeAlias

from ..process import DomainError, classes
from .axes import CartesianConnectivity, Dimension, DimensionKind, as_non_staggered, shift

__all__ = [
    "CartesianConnectivity",
    "Displacement",
    "FieldOffset",
    "GridType",
    "NeighbourOffset",
    "OffsetProvider",
    "is_neighbour_table",
    "is_table",
    "shift",
]


class GridType(enum.StrEnum):
    """Whether neighbours follow from indices or from tables.

    >>> GridType("unstructured") is GridType.UNSTRUCTURED
    True
    """

    CARTESIAN = "cartesian"
    UNSTRUCTURED = "unstructured"


OffsetProvider: TypeAlias = Mapping[str, Any]


def is_neighbour_table(value: object) -> bool:
    """Say whether `value` is a table of neighbours, with a local dimension at the end."""
    dims: tuple[Dimension, ...] = getattr(value, "dims", ()) if is_table(value) else ()
    return len(dims) == 2 and dims[1].kind is DimensionKind.LOCAL


def is_table(value: object) -> bool:
    """Say whether `value` is a `Connectivity`, of whatever dimensions."""
    return getattr(type(value), "__fieldforge_table__", False) is True


@classes.frozen(init=False)
class FieldOffset:
    """A named map: `target=(D, L)` to neighbours in L, `target=(D,)` along D itself.

    A field on `source` that is applied to it becomes a field on D. The tag `value`
    is looked up in the offset provider; a Cartesian offset needs no entry there.

    >>> I = Dimension("I")
    >>> FieldOffset("Ioff", source=I, target=(I,))[2] == I + 2
    True
    """

    value: str
    source: Dimension
    target: tuple[Dimension, ...]

    def __init__(self, value: str, source: Dimension, target: tuple[Dimension, ...]) -> None:
        target = tuple(target) if isinstance(target, tuple | list) else (target,)
        if not all(isinstance(dim, Dimension) for dim in (source, *target)):
            raise DomainError(f"The source and target of offset '{value}' must be dimensions.")
        self.__attrs_init__(str(value), source, target)
        match target:
            case (only,) if as_non_staggered(only) is not as_non_staggered(source):
                raise DomainError(
                    f"The Cartesian offset '{value}' must stay on '{source}', got target '{only}'.",
                    hints=["The target of a neighbour offset is a pair '(dimension, local)'."],
                )
            case (_, local) if local.kind is not DimensionKind.LOCAL:
                raise DomainError(
                    f"The second target of offset '{value}' must be a local dimension, "
                    f"got '{local}'."
                )
            case () | (_, _, _, *_):
                raise DomainError(
                    f"Offset '{value}' must have one or two targets, got {len(target)}."
                )

    @property
    def is_cartesian(self) -> bool:
        """Say whether the offset is a displacement along a dimension, not a neighbour table."""
        return len(self.target) == 1

    def __getitem__(self, index: int) -> CartesianConnectivity | NeighbourOffset:
        if self.is_cartesian:
            return CartesianConnectivity(self.target[0], index, codomain=self.source)
        return NeighbourOffset(self, operator.index(index))

    def __str__(self) -> str:
        return f"Offset[{self.value}]"


@classes.frozen
class NeighbourOffset:
    """`E2C[k]`: the k-th neighbour in a table that the offset provider has."""

    of: FieldOffset
    index: int

    def __str__(self) -> str:
        return f"{self.of.value}[{self.index}]"


@classes.frozen(eq=False)
class Displacement:
    """`as_offset(Koff, by)`: i -> i + by(i) along the dimension of a Cartesian offset."""

    dim: Dimension
    by: Any

    def __str__(self) -> str:
        return f"as_offset({self.dim.value}, {self.by})"
