"""Scans: walk all columns level by level and carry the state from one level to the next."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from ..fields import extents, levels_along, make, reordered, values_of, view_on
from ..language import (
    Dimension,
    Domain,
    NamedRange,
    ScalarType,
    ScanOptions,
    Type,
    UnitRange,
    in_canonical_order,
    leaves_of,
    map_leaves,
    with_annotated_types,
)
from ..language.active_numbers import is_active, lifted
from ..language.operations import literal
from ..process import ArgumentError, EmbeddedExecutionError, IndexOutOfBounds, classes
from .arguments import MISFIT, as_number, converted_to, describe
from .lanes import Diverged, Lanes, Undecided, decided, lack_of_lanes, unwrapped
from .origins import VALID
from .partial import PartialField, lack_of, origins_of, required, settled, sure_of
from .piecewise_field import AnyValue, Piece, assembled, pieces_of
from .strips import Strip, strips
from .walking import ScanResult, Walks, walked

MOST_UNDECIDED: Final = 3  # conditions of one level; each more would double the work


@classes.frozen
class Walk:
    """A scan operator ready to run: its body takes the state and the numbers of one level."""

    name: str
    body: Callable[..., Any]
    state: Type
    options: ScanOptions

    def first_state(self) -> Any:
        """Return the `init` of the scan in the types of its state."""
        init = map_leaves(literal, with_annotated_types(self.options.init))
        made = converted_to(self.state, init, as_number)
        if made is MISFIT:
            raise ArgumentError(
                f"Argument 'init' to scan operator '{self.name}' must have same type as its first "
                f"argument: expected '{self.state}', got '{describe(self.options.init)}'."
            )
        return made


def as_column(value: Any, type_: ScalarType) -> Any:
    """Return an argument for a scalar parameter of the body: a field of its dtype, or a number."""
    if isinstance(value, AnyValue):
        return value if value.dtype == type_.name else MISFIT
    return as_number(value, type_)


def scanned(walk: Walk, arguments: Sequence[Any]) -> Any:
    """Return the states of every level as fields, in the structure of the state.

    The levels are those of the running statement; a result is walked on first use.
    """
    axis, init = walk.options.axis, walk.first_state()
    arguments = map_leaves(walked, tuple(arguments))
    fields = _fields(arguments)
    levels = levels_along(axis)
    if levels is None:  # nothing is written
        results = iter(
            _on_levels(walk, arguments, fields, _common_levels(walk, map(required, fields)))
        )
        return map_leaves(lambda _: next(results), init)
    dims = in_canonical_order((axis, *(dim for f in fields for dim in f.domain.dims)))
    walks = Walks(lambda asked: _on_levels(walk, arguments, fields, asked), axis, levels)
    places = itertools.count()
    return map_leaves(lambda leaf: ScanResult(walks, next(places), dims, leaf.dtype), init)


def _on_levels(
    walk: Walk, arguments: Sequence[Any], fields: Sequence[AnyValue], levels: UnitRange
) -> list[AnyValue]:
    """Walk all columns over some levels; return each leaf of the state, whole or partial."""
    axis, leaves = walk.options.axis, len(list(leaves_of(walk.first_state())))
    origins = origins_of(fields)
    given = list(map(required, fields))
    lacks = list(map(lack_of, fields)) if origins else []
    pieces: list[list[Piece]] = [[] for _ in range(2 * leaves if lacks else leaves)]
    for box, parts in _columns([*given, *lacks], axis, levels):
        for found, piece in zip(pieces, _walked(walk, arguments, box, parts, levels), strict=True):
            found.append(piece)
    if not all(pieces):
        shown = ", ".join(str(f.domain[axis].unit_range) for f in given if axis in f.domain.dims)
        raise IndexOutOfBounds(
            f"Scan operator '{walk.name}' walks the levels {levels} along '{axis.value}', and its "
            f"arguments have {shown or 'no column in common'}."
        )
    made = [assembled(found) for found in pieces]
    if not lacks:
        return made
    return [
        settled(PartialField(value, lack, sure_of(value), origins))
        for value, lack in zip(made[:leaves], made[leaves:], strict=True)
    ]


def _common_levels(walk: Walk, fields: Iterable[AnyValue]) -> UnitRange:
    """Return the levels common to all arguments, for a call without an output."""
    axis, levels = walk.options.axis, UnitRange.infinite()
    for field in fields:
        if axis in field.domain.dims:
            levels = levels & field.domain[axis].unit_range
    if not levels.is_finite():
        raise EmbeddedExecutionError(
            f"Scan operator '{walk.name}' cannot tell which levels to walk: no argument has a "
            f"finite range along '{axis.value}', and no output is given."
        )
    return levels


def _columns(
    fields: Sequence[AnyValue], axis: Dimension, levels: UnitRange
) -> Iterator[tuple[Domain, list[Strip]]]:
    """Yield boxes of columns, each with the parts of all fields, complete over the levels."""
    met: list[tuple[Domain, list[Strip]]] = [(Domain(), [])]
    for field in fields:
        parts = list(_parts(field, axis, levels))
        met = [
            (common, [*before, part])
            for box, before in met
            for part in parts
            if not (common := box & part.box).is_empty()
        ]
    yield from met


def _parts(field: AnyValue, axis: Dimension, levels: UnitRange) -> Iterator[Strip]:
    if axis not in field.domain.dims:
        for piece in pieces_of(field):
            yield Strip(piece.box, values_of(piece.field), piece.field.domain)
        return
    for strip in strips(field, axis, levels):
        if strip.have is None and strip.domain[axis].unit_range == levels:
            yield strip.spread(axis)


def _walked(
    walk: Walk, arguments: Sequence[Any], box: Domain, parts: list[Strip], levels: UnitRange
) -> list[Piece]:
    """Walk the columns of a box; return the states, leaf by leaf."""
    axis = walk.options.axis
    varies = {dim for part in parts for dim, own in part.domain if own.is_finite()}
    axes = Domain(*((dim, own if dim in varies else None) for dim, own in box))
    shape, whole = extents(axes), Domain(NamedRange(axis, levels), *axes)
    columns = []
    for part in parts:
        target = whole if axis in part.domain.dims else axes
        array = view_on(part.array, part.domain, target)
        lead = (len(levels),) if target is whole else ()
        columns.append(np.broadcast_to(array, (*lead, *shape)).reshape(*lead, math.prod(shape)))
    states = _states(walk, arguments, columns, len(levels), math.prod(shape))
    dims = in_canonical_order(whole.dims)
    domain = Domain(*(whole[dim] for dim in dims))
    covered = Domain(*((dim, dict(box).get(dim, levels)) for dim in dims))
    return [
        Piece(
            covered,
            make(reordered(state.reshape(len(levels), *shape), whole.dims, dims), domain),
        )
        for state in states
    ]


def _states(
    walk: Walk, arguments: Sequence[Any], columns: list[Any], height: int, width: int
) -> list[Any]:
    """Return an array (level, lane) for each leaf of the state, then for what each lacks."""
    init = walk.first_state()
    state = [np.full(width, leaf) for _, leaf in leaves_of(init)]
    if len(columns) > len(_fields(arguments)):  # they come with what they lack
        state += [np.full(width, VALID, np.int64) for _ in state]
    if any(map(is_active, columns)):
        state = list(map(lifted, state))
    states = [np.empty((height, width), leaf.dtype) for leaf in state]
    upwards = range(height)
    for level in upwards if walk.options.forward else reversed(upwards):
        here = [column[level] if column.ndim > 1 else column for column in columns]
        state = _step(walk, init, arguments, state, here)
        for kept, leaf in zip(states, state, strict=True):
            kept[level] = leaf
    return states


def _step(
    walk: Walk,
    like: Any,
    arguments: Sequence[Any],
    state: list[Any],
    columns: list[Any],
    taken: tuple[bool, ...] = (),
) -> list[Any]:
    """Run the body for one level on all lanes; split them where they disagree on a condition.

    `taken` decides the first conditions that are invalid.
    """
    width = len(state[0])
    leaves, fields = len(list(leaves_of(like))), len(_fields(arguments))
    result = [np.empty_like(leaf) for leaf in state]
    waiting: list[Any] = [np.arange(width)] if width else []
    while waiting:
        lanes = waiting.pop()
        pick: Any = slice(None) if len(lanes) == width else lanes
        old, given = _lanes(state, leaves, pick), _lanes(columns, fields, pick)
        before = map_leaves(lambda _: next(old), like)  # noqa: B023 - called at once
        now = map_leaves(
            lambda leaf: next(given) if isinstance(leaf, AnyValue) else leaf,  # noqa: B023
            tuple(arguments),
        )
        try:
            with decided(taken):
                after = walk.body(before, *now)
        except Diverged as turn:
            waiting += [lanes[turn.mask], lanes[~turn.mask]]
            continue
        except Undecided as turn:
            some, there = ([array[pick] for array in arrays] for arrays in (state, columns))
            step = functools.partial(_step, walk, like, arguments, some, there)
            for kept, array in zip(result, _both_ways(step, some, turn, taken), strict=True):
                kept[pick] = array
            continue
        found = [leaf for _, leaf in leaves_of(after)]
        for kept, array in zip(result, map(unwrapped, found), strict=False):
            kept[pick] = lifted(array) if is_active(kept) else array
        for kept, lack in zip(result[leaves:], map(lack_of_lanes, found), strict=False):
            kept[pick] = lack
    return result


def _both_ways(
    step: Callable[..., list[Any]], state: list[Any], turn: Undecided, taken: tuple[bool, ...]
) -> list[Any]:
    """Run a step with an invalid condition true and false; leaves that differ are invalid too."""
    count = len(state) // 2  # the leaves, and then what they lack
    if len(taken) == MOST_UNDECIDED:
        return [*state[:count], *[turn.lack] * count]
    yes, no = step((*taken, True)), step((*taken, False))
    lacks = []
    for one, other, *lack in zip(yes, no, yes[count:], no[count:], strict=False):
        is_same = (one == other) | ((one != one) & (other != other))  # noqa: PLR0124  # NaN
        lacks.append(np.maximum(np.maximum(*lack), np.where(is_same, VALID, turn.lack)))
    return [*yes[:count], *lacks]


def _fields(arguments: Sequence[Any]) -> list[AnyValue]:
    return [leaf for _, leaf in leaves_of(tuple(arguments)) if isinstance(leaf, AnyValue)]


def _lanes(arrays: list[Any], count: int, pick: Any) -> Iterator[Lanes]:
    """Yield the first `count` arrays on some lanes, each with what it lacks if that is there."""
    for array, lack in itertools.zip_longest(arrays[:count], arrays[count:]):
        yield Lanes(array[pick], None if lack is None else lack[pick])
