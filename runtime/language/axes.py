"""The three types of index space: dimensions, domains over them, shifts between them.

The operators of each type make values of the others: `I < 3` is a `Domain`, `I + 1` is a
`CartesianConnectivity`, and both are made of dimensions. One module holds all three, because
three modules would import each other. `dimension`, `domain` and `connectivity` add the functions
on them, and other modules import the types from there.
"""

from __future__ import annotations

import enum
import math
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final, Literal, NamedTuple, cast, overload

from ..process import DomainError, OptionError, classes
from .ranges import Infinity, RangeLike, UnitRange, as_bound, unit_range

STAGGERED: Final = "_Staggered"
SUFFIX: Final = "_staggered"


# --- dimensions ---------------------------------------------------------------------------------


class DimensionKind(enum.StrEnum):
    """What an axis counts: cells of the mesh, levels of the column, or neighbours."""

    HORIZONTAL = "horizontal"
    LOCAL = "local"
    VERTICAL = "vertical"


class Dimension:
    """A named axis; two dimensions of one name and kind are the same object.

    >>> I = Dimension("I")
    >>> I is Dimension("I"), str(I), str(I < 3)
    (True, 'I[horizontal]', 'Domain(I[horizontal]=(-inf:3))')
    """

    __slots__ = ("__weakref__", "kind", "value")
    __array_ufunc__ = None  # so that 'np.int32(3) < I' uses our operators
    value: str
    kind: DimensionKind
    _interned: ClassVar[dict[tuple[str, DimensionKind], Dimension]] = {}

    def __new__(cls, value: str, kind: DimensionKind = DimensionKind.HORIZONTAL) -> Dimension:
        """Return the one dimension of this name and kind."""
        if not isinstance(value, str):
            raise TypeError(f"The name of a dimension must be a string, got '{value!r}'.")
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

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"A Dimension is immutable; cannot delete '{name}'.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Dimension, (self.value, self.kind)

    def __str__(self) -> str:
        return f"{axis_name(self)}[{self.kind}]"

    def __repr__(self) -> str:
        return f"Dimension({axis_name(self)!r}, {self.kind!s})"

    def __call__(self, index: int) -> NamedIndex:
        """Name an index along the dimension."""
        return NamedIndex(self, operator.index(index))

    def __add__(self, offset: float) -> CartesianConnectivity:
        return shift(self, offset) if _is_number(offset) else NotImplemented

    def __sub__(self, offset: float) -> CartesianConnectivity:
        return shift(self, -offset) if _is_number(offset) else NotImplemented

    def __lt__(self, bound: int) -> Domain:
        return self._where(Infinity.NEGATIVE, bound, 0, 0)

    def __le__(self, bound: int) -> Domain:
        return self._where(Infinity.NEGATIVE, bound, 0, 1)

    def __gt__(self, bound: int) -> Domain:
        return self._where(bound, Infinity.POSITIVE, 1, 0)

    def __ge__(self, bound: int) -> Domain:
        return self._where(bound, Infinity.POSITIVE, 0, 0)

    def __eq__(self, other: object) -> Any:
        return self is other if isinstance(other, Dimension) else self._where(other, other, 0, 1)

    def __ne__(self, other: object) -> Any:
        if _is_index(other):
            raise NotImplementedError(
                f"'{self.value} != {other}' has two disjoint parts, and a domain has one; write "
                f"'({self.value} < {other}) | ({self.value} > {other})' in a compiled operator."
            )
        return self is not other if isinstance(other, Dimension) else NotImplemented

    __hash__ = object.__hash__

    def _where(self, start: Any, stop: Any, after_start: int, after_stop: int) -> Domain:
        if not (_is_index(start) and _is_index(stop)):
            return cast("Domain", NotImplemented)
        indices = UnitRange(as_bound(start) + after_start, as_bound(stop) + after_stop)
        return Domain(dims=(self,), ranges=(indices,))


class NamedIndex(NamedTuple):
    """An index along a dimension: `I(3)`."""

    dim: Dimension
    value: int

    def __str__(self) -> str:
        return f"{self.dim}={self.value}"


def _is_index(value: object) -> bool:
    is_int = hasattr(value, "__index__") and not isinstance(value, bool)
    return is_int or isinstance(value, Infinity)


def _is_number(value: object) -> bool:
    return isinstance(value, float) or (_is_index(value) and not isinstance(value, Infinity))


def is_staggered(dim: Dimension) -> bool:
    """Say whether `dim` lies half a cell below another one.

    >>> I = Dimension("I")
    >>> is_staggered(flip_staggered(I)), is_staggered(I)
    (True, False)
    """
    return dim.value.startswith(STAGGERED)


def axis_name(dim: Dimension) -> str:
    """Return the name by which people see a dimension, also in errors, files and pictures.

    >>> axis_name(Dimension("I")), axis_name(flip_staggered(Dimension("I")))
    ('I', 'I_staggered')
    """
    return f"{dim.value.removeprefix(STAGGERED)}{SUFFIX}" if is_staggered(dim) else dim.value


def as_non_staggered(dim: Dimension) -> Dimension:
    """Return the base dimension: the counterpart of a staggered one, any other itself.

    >>> I = Dimension("I")
    >>> as_non_staggered(flip_staggered(I)) is I, as_non_staggered(I) is I
    (True, True)
    """
    return flip_staggered(dim) if is_staggered(dim) else dim


def flip_staggered(dim: Dimension) -> Dimension:
    """Return the counterpart; index i of the staggered one lies half a cell below that of the base.

    >>> I = Dimension("I")
    >>> flip_staggered(I), flip_staggered(flip_staggered(I)) is I
    (Dimension('I_staggered', horizontal), True)
    """
    if is_staggered(dim):
        return Dimension(dim.value.removeprefix(STAGGERED), dim.kind)
    return Dimension(STAGGERED + dim.value, dim.kind)


_ORDER = {kind: place for place, kind in enumerate(DimensionKind)}


def _place(dim: Dimension) -> tuple[int, str, str]:
    return _ORDER[dim.kind], as_non_staggered(dim).value, dim.value


def in_canonical_order(dims: Iterable[Dimension]) -> tuple[Dimension, ...]:
    """Return the dimensions, each once: horizontal, local, vertical, by name within a kind."""
    return tuple(sorted(dict.fromkeys(dims), key=_place))


# --- domains ------------------------------------------------------------------------------------


class NamedRange(NamedTuple):
    """A range of indices along a dimension."""

    dim: Dimension
    unit_range: UnitRange

    def __str__(self) -> str:
        return f"{self.dim}={self.unit_range}"


def named_range(given: tuple[Dimension, RangeLike]) -> NamedRange:
    """Make a `NamedRange` of a pair of a dimension and anything that `unit_range` takes."""
    match given:
        case NamedRange(Dimension(), UnitRange()):
            return given
        case (Dimension() as dim, indices):
            return NamedRange(dim, unit_range(indices))
    raise DomainError(
        f"Expected a pair of a dimension and a range, got '{given!r}'.",
        hint="Write '{I: 10, J: (-1, 5)}', with dimensions such as 'I = Dimension(\"I\")'.",
    )


@classes.frozen(init=False, repr=False)
class Domain(Sequence[NamedRange]):
    """A box of indices: a range for each of some dimensions, in the order given.

    >>> I, J = Dimension("I"), Dimension("J")
    >>> box = Domain((I, 4), (J, (1, 3)))
    >>> box.shape, str(box[J]), str(box.slice_at[1:-1, :] & (J < 2))
    ((4, 2), 'J[horizontal]=(1:3)', 'Domain(I[horizontal]=(1:3), J[horizontal]=(1:2))')
    """

    dims: tuple[Dimension, ...]
    ranges: tuple[UnitRange, ...]

    def __init__(
        self,
        *args: tuple[Dimension, RangeLike],
        dims: Sequence[Dimension] | None = None,
        ranges: Sequence[RangeLike] | None = None,
    ) -> None:
        if args:
            if dims is not None or ranges is not None:
                raise DomainError("Expected named ranges, or 'dims' and 'ranges', not both.")
            pairs = tuple(map(named_range, args))
        else:
            dims, ranges = dims or (), ranges or ()
            if len(dims) != len(ranges):
                raise DomainError(
                    f"Expected a range for each dimension, got {len(dims)} dimensions and "
                    f"{len(ranges)} ranges."
                )
            pairs = tuple(map(named_range, zip(dims, ranges, strict=True)))
        found = tuple(dim for dim, _ in pairs)
        if len(set(found)) != len(found):
            names = ", ".join(map(str, found))
            raise NotImplementedError(f"A domain names each dimension once, got '{names}'.")
        self.__attrs_init__(found, tuple(indices for _, indices in pairs))

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of indices along each dimension."""
        return tuple(map(len, self.ranges))

    @property
    def size(self) -> int | None:
        """The number of points, None if it is infinite."""
        return math.prod(self.shape) if self.is_finite() else None

    @property
    def slice_at(self) -> SliceAt:
        """Cut by relative slices, one for each dimension: `box.slice_at[1:-1, :]`."""
        return SliceAt(self)

    def is_finite(self) -> bool:
        """Say whether every range is finite."""
        return all(indices.is_finite() for indices in self.ranges)

    def is_empty(self) -> bool:
        """Say whether the domain has no point."""
        return any(indices.is_empty() for indices in self.ranges)

    def __len__(self) -> int:
        return len(self.dims)

    def __iter__(self) -> Iterator[NamedRange]:
        return map(NamedRange, self.dims, self.ranges)

    def __contains__(self, value: object) -> bool:
        return value in self.dims if isinstance(value, Dimension) else value in tuple(self)

    @overload
    def __getitem__(self, index: int | Dimension) -> NamedRange: ...
    @overload
    def __getitem__(self, index: slice) -> Domain: ...
    def __getitem__(self, index: int | slice | Dimension) -> NamedRange | Domain:
        if isinstance(index, slice):
            return Domain(dims=self.dims[index], ranges=self.ranges[index])
        if isinstance(index, Dimension | str):
            place = None if isinstance(index, str) else self.dim_index(index)
            if place is None:
                raise KeyError(f"No dimension '{index}' in '{self}'.")
            index = place
        return NamedRange(self.dims[index], self.ranges[index])

    def __and__(self, other: Domain) -> Domain:
        if not isinstance(other, Domain):
            return NotImplemented
        met = dict(self)
        for dim, indices in other:
            met[dim] = met[dim] & indices if dim in met else indices
        dims = in_canonical_order(met)
        return Domain(dims=dims, ranges=[met[dim] for dim in dims])

    def __or__(self, other: Domain) -> Domain:
        if not isinstance(other, Domain):
            return NotImplemented
        if not (self.ndim == other.ndim == 1 and self.dims == other.dims):
            raise NotImplementedError(
                f"Only domains along one and the same dimension have a union, got '{self}' "
                f"and '{other}'."
            )
        (a,), (b,) = self.ranges, other.ranges
        if a.is_empty() or b.is_empty():
            return other if a.is_empty() else self
        if a.start > b.stop or b.start > a.stop:
            raise NotImplementedError(f"The union of '{self}' and '{other}' has a hole.")
        hull = UnitRange(min(a.start, b.start), max(a.stop, b.stop))
        return Domain(dims=self.dims, ranges=(hull,))

    @overload
    def dim_index(self, dim: Dimension, allow_missing: Literal[False]) -> int: ...
    @overload
    def dim_index(self, dim: Dimension, allow_missing: bool = True) -> int | None: ...
    def dim_index(self, dim: Dimension, allow_missing: bool = True) -> int | None:
        """Return the place of a dimension; None if it is absent, unless that is an error."""
        for place, mine in enumerate(self.dims):
            if mine is dim:
                return place
        if allow_missing:
            return None
        raise DomainError(f"No dimension '{dim}' in '{self}'.")

    def pop(self, index: int | Dimension = -1) -> Domain:
        """Return the domain without one of its dimensions."""
        return self.replace(index)

    def insert(self, index: int | Dimension, *named_ranges: NamedRange) -> Domain:
        """Return the domain with ranges added before a place or a dimension."""
        place = self.dim_index(index, False) if isinstance(index, Dimension) else index
        pairs = tuple(self)
        return Domain(*pairs[:place], *named_ranges, *pairs[place:])

    def replace(self, index: int | Dimension, *named_ranges: NamedRange) -> Domain:
        """Return the domain with one dimension replaced by none, one or several."""
        place = self.dim_index(index, False) if isinstance(index, Dimension) else index
        if not -self.ndim <= place < self.ndim:
            raise DomainError(f"Place {place} is outside '{self}'.")
        pairs, place = tuple(self), place % self.ndim
        return Domain(*pairs[:place], *named_ranges, *pairs[place + 1 :])

    def __str__(self) -> str:
        return f"Domain({', '.join(map(str, self))})"

    __repr__ = __str__


@classes.frozen
class SliceAt:
    """The value of `Domain.slice_at`, which takes one relative slice for each dimension."""

    of: Domain

    def __getitem__(self, slices: slice | tuple[slice, ...]) -> Domain:
        given = slices if isinstance(slices, tuple) else (slices,)
        if not all(isinstance(one, slice) for one in given):
            raise DomainError(f"Expected slices, got '{given!r}'.")
        if len(given) != self.of.ndim:
            raise DomainError(f"Expected {self.of.ndim} slices for '{self.of}', got {len(given)}.")
        cut = [indices[one] for indices, one in zip(self.of.ranges, given, strict=True)]
        return Domain(dims=self.of.dims, ranges=cut)


# --- shifts -------------------------------------------------------------------------------------


@classes.frozen(init=False)
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
    def domain(self) -> Domain:
        """All indices of `domain_dim`."""
        return Domain(dims=(self.domain_dim,), ranges=(UnitRange.infinite(),))

    def inverse_image(self, image_range: UnitRange | NamedRange) -> tuple[NamedRange]:
        """Return the indices that are mapped into a range of the codomain."""
        if isinstance(image_range, NamedRange):
            if image_range.dim is not self.codomain:
                raise DomainError(
                    f"Expected a range along '{self.codomain}', got one along '{image_range.dim}'."
                )
            image_range = image_range.unit_range
        return (NamedRange(self.domain_dim, image_range - self.offset),)

    def __str__(self) -> str:
        name, onto = axis_name(self.domain_dim), axis_name(self.codomain)
        moved = f" to {onto}" if onto != name else ""
        return f"{name} {'-' if self.offset < 0 else '+'} {abs(self.offset)}{moved}"


def shift(dim: Dimension, offset: float) -> CartesianConnectivity:
    """Return what `dim + offset` means: a shift by cells, or by half cells to the counterpart.

    Index i of a staggered dimension lies half a cell below index i of its base, so
    `I + 0.5` on the base is index i + 1 of the staggered one.

    >>> I = Dimension("I")
    >>> str(shift(I, -2)), str(shift(I, 0.5)), str(shift(flip_staggered(I), 0.5))
    ('I - 2', 'I + 1 to I_staggered', 'I_staggered + 0 to I')
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
