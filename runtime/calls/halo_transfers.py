"""The transfers that fill the halo of a field: which rows become which others, in order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np

from ..language import Dimension, Domain, UnitRange
from ..language.axes import is_staggered
from ..process import ArgumentError, DomainError

NUMBER: Final = float  # in the place of one, so that all numbers share a program
Name: TypeAlias = str | type[float] | None
Sides: TypeAlias = tuple[tuple[Dimension, tuple[Name, ...]], ...]
COPY, NEGATE, SET = range(3)  # kinds of transfers, as in `native/halo.cpp`
_PAIRS: Final = {
    ("periodic", "periodic"),
    *itertools.product(("even", "odd", None, NUMBER), repeat=2),
}


class Transfer(NamedTuple):
    """Row `to + i * to_step` becomes row `source + i * source_step`, for i below `depth`.

    The kind `SET` sets rows to the number at place `source`, or to 0 if that is negative.
    """

    axis: int
    kind: int
    depth: int
    to: int
    to_step: int
    source: int
    source_step: int = 0

    @property
    def targets(self) -> set[int]:
        """The rows that are written."""
        return {self.to + i * self.to_step for i in range(self.depth)}

    @property
    def sources(self) -> set[int]:
        """The rows that are read."""
        copied = range(0 if self.kind == SET else self.depth)
        return {self.source + i * self.source_step for i in copied}


def refused_boundaries(given: Any) -> ArgumentError:
    """Return the error for boundaries that are not given by dimension."""
    return ArgumentError(
        f"Expected the boundaries by dimension, got {given!r}.",
        hints=('Write a dictionary, as in \'{I: "periodic", J: (0.0, "even")}\'.',),
    )


def check_sides(sides: Sides) -> None:
    """Refuse what is no boundary, and 'periodic' on one side only."""
    for dim, pair in sides:
        if not isinstance(dim, Dimension):
            raise refused_boundaries(dict(sides))
        if pair in _PAIRS:
            continue
        given = [side.__name__ if isinstance(side, type) else str(side) for side in pair]
        raise ArgumentError(
            f"There is no boundary '{', '.join(dict.fromkeys(given))}'.",
            hints=(
                "Expected 'periodic', 'even', 'odd', a number or None, or a pair of these for "
                "the lower and the upper side, without 'periodic'.",
            ),
        )


def transfers_of(
    dims: Sequence[Dimension],
    starts: Sequence[int],
    stops: Sequence[int],
    dtype: np.dtype[Any],
    interior: Domain,
    sides: Sides,
) -> Iterator[Transfer]:
    """Yield the transfers that fill the halo of a field, in their order."""
    places = itertools.count()
    for dim, (low, high) in sides:
        start, stop = _inside(dims, starts, stops, interior, dim)
        axis = dims.index(dim)
        walls = []
        for side, depth, to, step, inner, opposite in (
            (low, start - starts[axis], start - 1, -1, start, stop - 1),
            (high, stops[axis] - stop, stop, 1, stop - 1, start),
        ):
            is_wall = side in ("even", "odd")
            on_faces = is_wall and is_staggered(dim)
            if side in ("even", "odd", "periodic") and depth > stop - start - on_faces:
                raise DomainError(
                    f"The halo of dimension '{dim.value}' has {depth} rows, its interior "
                    f"{stop - start}.",
                    hint=f"'{side}' copies the interior: it takes as many rows as the halo has"
                    f"{', beside the wall' if on_faces else ''}.",
                )
            if side == "odd" and dtype.kind in "bu":
                raise ArgumentError(
                    f"An odd wall changes the sign, and '{dtype}' has none.",
                    hints=("Write 'even', or a number.",),
                )
            if side is NUMBER:
                yield Transfer(axis, SET, depth, to, step, next(places))
            elif side == "periodic":
                yield Transfer(axis, COPY, depth, to, step, opposite, step)
            elif is_wall:
                kind = NEGATE if side == "odd" else COPY
                yield Transfer(axis, kind, depth, to, step, inner - step * on_faces, -step)
            if on_faces and side == "odd":
                walls.append(Transfer(axis, SET, 1, inner, 1, -1))
        yield from walls


def _inside(
    dims: Sequence[Dimension],
    starts: Sequence[int],
    stops: Sequence[int],
    interior: Domain,
    dim: Dimension,
) -> tuple[int, int]:
    """Return the range of the interior along a dimension, which lies in the field."""
    if dim not in dims:
        raise DomainError(f"The field has no dimension '{dim.value}' whose halo could be filled.")
    own = interior[dim].unit_range if dim in interior.dims else UnitRange.infinite()
    start, stop = own.start, own.stop
    if not isinstance(start, int) or not isinstance(stop, int):
        raise ArgumentError(f"The interior has no range for dimension '{dim.value}'.")
    axis = dims.index(dim)
    if start < starts[axis] or stop > stops[axis]:
        raise DomainError(
            f"Along '{dim.value}' the interior is {start}:{stop}, but the field covers "
            f"{starts[axis]}:{stops[axis]}."
        )
    return start, stop


def number_of(kind: type[Any], value: Any) -> Any:
    """Return the number of a boundary in the type of the field; floats are rounded.

    >>> number_of(np.float32, 0.1), number_of(np.int32, 2.0)
    (np.float32(0.1), np.int32(2))
    """
    try:
        made = kind(value)
    except (OverflowError, ValueError):
        made = None
    if made is None or (made != value and not issubclass(kind, np.floating)):
        name = np.dtype(kind).name
        raise ArgumentError(f"A field of '{name}' cannot hold the number {value!r} of a boundary.")
    return made
