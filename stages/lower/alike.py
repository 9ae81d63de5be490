"""Which rows are one value at several places: equal but for one shift of all that they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from ...runtime.language import Dimension
from ...runtime.process import classes
from ..ir.dataflow import Map, Ref, Shift, Value

Offsets: TypeAlias = tuple[tuple[Dimension, int], ...]  # those that are not 0, by name


@classes.frozen
class Place:
    """A value, by its number, and where a row takes it."""

    value: int
    offsets: Offsets

    def along(self, dim: Dimension) -> int:
        """Return the offset along a dimension."""
        return next((by for each, by in self.offsets if each is dim), 0)


def places_of(values: Sequence[Value]) -> list[Place]:
    """Return for each row which value it is and where; only maps and shifts have several places."""
    known: dict[object, int] = {}
    places: list[Place] = []
    for row, value in enumerate(values):
        if isinstance(value, Shift):
            places.append(_shifted(value, places[value.arg], known, len(values)))
        elif isinstance(value, Map):
            base = _base(values, value, places)
            operands = tuple(relative(values, arg, places[arg], base) for arg in value.args)
            key = value.op, value.dtype, value.dims, operands
            number = known.setdefault(key, len(values) + len(known))
            places.append(Place(number, _sorted(base)))
        else:
            places.append(Place(row, ()))
    return places


def relative(
    values: Sequence[Value], row: Ref, place: Place, base: dict[Dimension, int]
) -> tuple[int, Offsets]:
    """Return a value and its offsets beyond others."""
    beyond = {dim: place.along(dim) - base.get(dim, 0) for dim in values[row].dims}
    return place.value, _sorted(beyond)


def _shifted(value: Shift, place: Place, known: dict[object, int], first: int) -> Place:
    onto = value.onto
    number = place.value
    if onto is not value.dim:
        number = known.setdefault((number, value.dim), first + len(known))
    moved = {onto if dim is value.dim else dim: by for dim, by in place.offsets}
    moved[onto] = moved.get(onto, 0) + value.offset
    return Place(number, _sorted(moved))


def _base(values: Sequence[Value], value: Map, places: Sequence[Place]) -> dict[Dimension, int]:
    """Return the place of a map: along each dimension that of the first operand that has it."""
    base: dict[Dimension, int] = {}
    for arg in value.args:
        for dim in values[arg].dims:
            base.setdefault(dim, places[arg].along(dim))
    return base


def _sorted(offsets: dict[Dimension, int]) -> Offsets:
    return tuple(sorted(((d, by) for d, by in offsets.items() if by), key=lambda e: e[0].value))
