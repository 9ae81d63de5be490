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

import attrs

from ..process.errors import DomainError, OptionError
from . import domain as domains
from .dimension import Dimension, DimensionKind, as_non_staggered, flip_staggered, is_staggered
from .ranges import UnitRange


class GridType(enum.StrEnum):
    """Whether neighbours follow from indices or from tables."""

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


@attrs.frozen(init=False)
class CartesianConnectivity:
    """The map i -> i + offset from `domain_dim` to `codomain`, which is the same by default.

    >>> I = Dimension("I")
    >>> shift = CartesianConnectivity(I, 1)
    >>> shift == I + 1, str(shift.inverse_image(UnitRange(2, 7))[0])
    (True, 'I[horizontal]=(1:6)')
    """

    domain_dim: Dimension
    offset: int
    codomain: Dimension

    def __init__(
        self, domain_dim: Dimension, offset: int = 0, *, codomain: Dimension | None = None
    ) -> None:
        self.__attrs_init__(domain_dim, operator.index(offset), codomain or domain_dim)

    @classmethod
    def for_translation(cls, dimension: Dimension, offset: int) -> CartesianConnectivity:
        """Return the shift along one dimension: i -> i + offset."""
        return cls(dimension, offset)

    @classmethod
    def for_relocation(cls, old: Dimension, new: Dimension) -> CartesianConnectivity:
        """Return the map that moves fields on `old` to `new` without changing an index."""
        return cls(new, codomain=old)

    @property
    def domain(self) -> domains.Domain:
        """All indices of `domain_dim`."""
        return domains.Domain(dims=(self.domain_dim,), ranges=(UnitRange.infinite(),))

    def inverse_image(
        self, image_range: UnitRange | domains.NamedRange
    ) -> tuple[domains.NamedRange]:
        """Return the indices that are mapped into a range of the codomain."""
        if isinstance(image_range, domains.NamedRange):
            if image_range.dim is not self.codomain:
                raise DomainError(
                    f"Expected a range along '{self.codomain}', got one along '{image_range.dim}'."
                )
            image_range = image_range.unit_range
        return (domains.NamedRange(self.domain_dim, image_range - self.offset),)

    def __str__(self) -> str:
        moved = f" to {self.codomain.value}" if self.codomain is not self.domain_dim else ""
        return (
            f"{self.domain_dim.value} {'-' if self.offset < 0 else '+'} {abs(self.offset)}{moved}"
        )


def shift(dim: Dimension, offset: float) -> CartesianConnectivity:
    """Return what `dim + offset` means: a shift by cells, or by half cells to the counterpart.

    Index i of a staggered dimension lies half a cell below index i of its base, so
    `I + 0.5` on the base is index i + 1 of the staggered one.

    >>> I = Dimension("I")
    >>> str(shift(I, -2)), str(shift(I, 0.5)), str(shift(flip_staggered(I), 0.5))
    ('I - 2', 'I + 1 to _StaggeredI', '_StaggeredI + 0 to I')
    """
    if not isinstance(offset, float):
        return CartesianConnectivity(dim, offset)
    halves = offset * 2
    if not (halves.is_integer() and halves % 2):
        raise OptionError(
            f"Invalid offset '{offset}' for a Cartesian shift, expected an integer or a half such "
            f"as 0.5 or -1.5.",
        )
    cells = int(halves - 1) // 2 if is_staggered(dim) else int(halves + 1) // 2
    return CartesianConnectivity(dim, cells, codomain=flip_staggered(dim))


@attrs.frozen(init=False)
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


@attrs.frozen
class NeighbourOffset:
    """`E2C[k]`: the k-th neighbour in a table that the offset provider has."""

    of: FieldOffset
    index: int

    def __str__(self) -> str:
        return f"{self.of.value}[{self.index}]"


@attrs.frozen(eq=False)
class Displacement:
    """`as_offset(Koff, by)`: i -> i + by(i) along the dimension of a Cartesian offset."""

    dim: Dimension
    by: Any

    def __str__(self) -> str:
        return f"as_offset({self.dim.value}, {self.by})"
