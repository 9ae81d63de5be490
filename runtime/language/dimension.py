"""Dimensions: the named axes of fields, and what they mean as operands.

`I(3)` is an index, `I + 1` a shift, `I < 3` a domain. Shifts and domains are
built from dimensions, so the modules that define them are imported at the end.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple, cast

from ..process.errors import DomainError
from .ranges import Infinity, UnitRange

STAGGERED: Final = "_Staggered"


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
    __array_ufunc__ = None  # lets 'np.int32(3) < I' come to our operators
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
        return f"{self.value}[{self.kind}]"

    def __repr__(self) -> str:
        return f"Dimension({self.value!r}, {self.kind!s})"

    def __call__(self, index: int) -> NamedIndex:
        """Name an index along the dimension."""
        return NamedIndex(self, operator.index(index))

    def __add__(self, offset: float) -> connectivity.CartesianConnectivity:
        return connectivity.shift(self, offset) if _is_number(offset) else NotImplemented

    def __sub__(self, offset: float) -> connectivity.CartesianConnectivity:
        return connectivity.shift(self, -offset) if _is_number(offset) else NotImplemented

    def __lt__(self, bound: int) -> domain.Domain:
        return self._where(Infinity.NEGATIVE, bound, 0, 0)

    def __le__(self, bound: int) -> domain.Domain:
        return self._where(Infinity.NEGATIVE, bound, 0, 1)

    def __gt__(self, bound: int) -> domain.Domain:
        return self._where(bound, Infinity.POSITIVE, 1, 0)

    def __ge__(self, bound: int) -> domain.Domain:
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

    def _where(self, start: Any, stop: Any, after_start: int, after_stop: int) -> domain.Domain:
        if not (_is_index(start) and _is_index(stop)):
            return cast("domain.Domain", NotImplemented)
        indices = UnitRange(start + after_start, stop + after_stop)
        return domain.Domain(dims=(self,), ranges=(indices,))


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


# --- staggered dimensions ---------------------------------------------------------------------


def is_staggered(dim: Dimension) -> bool:
    """Say whether `dim` lies half a cell below another one."""
    return dim.value.startswith(STAGGERED)


def as_non_staggered(dim: Dimension) -> Dimension:
    """Return the base dimension: the counterpart of a staggered one, any other itself."""
    return flip_staggered(dim) if is_staggered(dim) else dim


def flip_staggered(dim: Dimension) -> Dimension:
    """Return the counterpart; index i of the staggered one lies half a cell below that of the base.

    >>> I = Dimension("I")
    >>> flip_staggered(I), flip_staggered(flip_staggered(I)) is I
    (Dimension('_StaggeredI', horizontal), True)
    """
    if is_staggered(dim):
        return Dimension(dim.value.removeprefix(STAGGERED), dim.kind)
    return Dimension(STAGGERED + dim.value, dim.kind)


# --- canonical order --------------------------------------------------------------------------

_ORDER = {kind: place for place, kind in enumerate(DimensionKind)}


def _place(dim: Dimension) -> tuple[int, str, str]:
    return _ORDER[dim.kind], as_non_staggered(dim).value, dim.value


def in_canonical_order(dims: Iterable[Dimension]) -> tuple[Dimension, ...]:
    """Return the dimensions, each once: horizontal, local, vertical, by name within a kind."""
    return tuple(sorted(dict.fromkeys(dims), key=_place))


def check_dims(dims: Sequence[Dimension]) -> None:
    """Refuse dimensions that no field type can have; `dims` must be in canonical order."""
    expected = in_canonical_order(dims)
    if len(expected) != len(dims):
        raise DomainError(f"Dimensions '{_names(dims)}' name a dimension twice.")
    if sum(dim.kind is DimensionKind.LOCAL for dim in dims) > 1:
        raise DomainError(f"Dimensions '{_names(dims)}' hold more than one local dimension.")
    if len({as_non_staggered(dim) for dim in dims}) != len(dims):
        raise DomainError(
            f"Dimensions '{_names(dims)}' hold a dimension and its staggered counterpart."
        )
    if expected != tuple(dims):
        raise DomainError(
            f"Dimensions '{_names(dims)}' are not ordered correctly, expected '{_names(expected)}'."
        )


def promote_dims(*dims_list: Sequence[Dimension]) -> tuple[Dimension, ...]:
    """Return the union of lists of dimensions in canonical order; each list must be in it.

    >>> I, J, K = Dimension("I"), Dimension("J"), Dimension("K", DimensionKind.VERTICAL)
    >>> [dim.value for dim in promote_dims((I, K), (J, K))]
    ['I', 'J', 'K']
    """
    return _promote(tuple(map(tuple, dims_list)))


@lru_cache(maxsize=4096)
def _promote(dims_list: tuple[tuple[Dimension, ...], ...]) -> tuple[Dimension, ...]:
    for dims in dims_list:
        check_dims(dims)
    union = in_canonical_order(dim for dims in dims_list for dim in dims)
    check_dims(union)
    return union


def _names(dims: Iterable[Dimension]) -> str:
    return ", ".join(map(str, dims))


from . import connectivity, domain  # noqa: E402 - they are made of dimensions, see above
