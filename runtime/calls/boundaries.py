"""Fill the cells of a field around its interior: periodic, walls, fixed values.

On the host this is a native program whose code is part of the core: recorded steps replay it. On a
device the array copies its rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from .. import _core
from ..fields.device import DeviceType
from ..language.axes import is_staggered
from ..language.dimension import Dimension
from ..language.domain import Domain, DomainLike, UnitRange
from ..language.domain import domain as make_domain
from ..process.errors import ArgumentError, DomainError
from .plan import Access, Argument, Box, Code, Plan, Word
from .refusals import reject

Side: TypeAlias = Literal["even", "odd"] | float | None
Boundary: TypeAlias = Literal["periodic"] | Side | tuple[Side, Side]

_NUMBER: Final = float  # in the place of one, so that all numbers share a program
_Name: TypeAlias = str | type[float] | None
_Sides: TypeAlias = tuple[tuple[Dimension, tuple[_Name, ...]], ...]
_PAIRS: Final = {
    ("periodic", "periodic"),
    *itertools.product(("even", "odd", None, _NUMBER), repeat=2),
}
_ENDS: Final = ("low", "high")
_COPY, _NEGATE, _SET = range(3)  # kinds of transfers, as in `native/halo.cpp`


def fill_halo(field: Any, interior: Any, boundaries: Mapping[Dimension, Boundary]) -> None:
    """Fill the halo of a field in place, dimension by dimension, so that corners are filled too.

    `"periodic"` copies from the opposite side. Walls mirror the interior: `"even"` keeps the sign
    (a scalar, the velocity along a wall) and `"odd"` changes it (the velocity across a wall). A
    number is a fixed value, and None leaves a side as it is. A pair says what the lower and the
    upper side are. Along a dimension of cells the wall is the face below the first cell,
    and the one above the last. Along a staggered dimension it is the first and the last index of
    the interior: `"odd"` sets these to zero. A periodic staggered dimension has as many faces as
    cells. Recorded steps take the call down; its numbers may be slots.

    Args:
        field: a field whose array can be written; its domain contains the interior.
        interior: a range for each dimension that is filled, as `{I: (0, nx), J: (0, ny)}`.
        boundaries: what to do along each dimension, in this order.

    Raises:
        ArgumentError: a boundary has no such name, or a dimension is missing from the interior.
        DomainError: the field lacks a dimension, the interior reaches beyond it, or is smaller than
            its halo.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> u = ff.as_field({I: (-2, 5)}, [0.0, 0.0, 1.0, 2.0, 3.0, 0.0, 0.0])
    >>> ff.fill_halo(u, {I: (0, 3)}, {I: "periodic"})
    >>> u.asnumpy()
    array([2., 3., 1., 2., 3., 1., 2.])
    >>> ff.fill_halo(u, {I: (0, 3)}, {I: ("odd", 9.0)})
    >>> u.asnumpy()
    array([-2., -1.,  1.,  2.,  3.,  9.,  9.])
    """
    sides, numbers = _read(boundaries)
    if not isinstance(field, _core.FieldView):
        raise ArgumentError(f"Expected a field, got an object of type '{type(field).__name__}'.")
    if field.device_type != DeviceType.CPU:
        _fill_on_device(field, make_domain(interior), sides, numbers)
        _note(field, interior, boundaries)
        return
    ranges = tuple(interior.items()) if type(interior) is dict else make_domain(interior)
    try:
        fill = _filling(field.dims, field.dtype_name, ranges, sides)
    except TypeError:  # a list is no key
        fill = _filling(field.dims, field.dtype_name, make_domain(interior), sides)
    kind = fill.kind
    fill(field, *[each if type(each) is kind else kind(each) for each in numbers])


def _read(boundaries: Mapping[Dimension, Boundary]) -> tuple[_Sides, list[Any]]:
    """Return what is done on the sides of each dimension, and the numbers in order."""
    sides, numbers = [], []
    for dim, boundary in boundaries.items():
        names: list[_Name] = []
        for side in boundary if isinstance(boundary, tuple) else (boundary, boundary):
            if side is None or isinstance(side, str):
                names.append(side)
            else:
                names.append(_NUMBER)
                numbers.append(side)
        sides.append((dim, tuple(names)))
    return tuple(sides), numbers


def _check(sides: _Sides) -> None:
    for _, pair in sides:
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


# --- on the host -------------------------------------------------------------------------------


class _Filling(_core.Program):
    """The native program of some boundaries; it gets an entry for each domain that it meets."""

    kind: type[Any]  # what its numbers must be


@lru_cache(maxsize=256)
def _filling(
    dims: tuple[Dimension, ...], dtype: str, interior: DomainLike, sides: _Sides
) -> _Filling:
    _check(sides)
    box = make_domain(interior)
    ends = [(dim, end, side) for dim, pair in sides for end, side in zip(_ENDS, pair, strict=True)]
    numbers = [f"{dim.value}_{end}" for dim, end, side in ends if side is _NUMBER]
    parameters = ("field", *numbers)

    def add_entry(args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        field = args[0] if args else kwargs["field"]
        plan = _plan(dims, dtype, field.starts, field.stops, parameters, box, sides)
        made.add(_core.Entry(plan, _core.halo_entry))

    made = _Filling("fill_halo", parameters, add_entry, reject)
    made.kind = np.dtype(dtype).type
    return made


def _plan(
    dims: tuple[Dimension, ...],
    dtype: str,
    starts: Sequence[int],
    stops: Sequence[int],
    parameters: tuple[str, ...],
    interior: Domain,
    sides: _Sides,
) -> Plan:
    """Write the plan of `native/halo.cpp` for fields with this domain."""
    axes = range(len(dims))
    kind = np.dtype(dtype)
    transfers = list(_transfers(dims, starts, stops, kind, interior, sides))
    start, stop = [tuple((Word(end, axis=axis),) for axis in axes) for end in ("start", "stop")]
    stride = [(Word("stride", axis=axis),) for axis in axes]
    box = Box(0, start, stop)
    ints = [
        *map(_constant, (kind.itemsize.bit_length() - 1, kind.kind == "f", len(dims))),
        *itertools.chain.from_iterable(zip(start, stop, stride, strict=True)),
        *map(_constant, (len(transfers), *itertools.chain.from_iterable(transfers))),
    ]
    return Plan(
        "fill_halo",
        parameters,
        (
            Argument("field", (0,), "field", dtype, dims, read=True, written=True),
            *(Argument(name, (n,), "scalar", dtype) for n, name in enumerate(parameters[1:], 1)),
        ),
        tuple(ints),
        (Access((box,), (box,)),),
        ranges=tuple((0, axis, starts[axis], stops[axis]) for axis in axes),
    )


def _constant(value: int) -> Code:
    return (Word("const", int(value)),)


# --- what is copied ----------------------------------------------------------------------------


class _Transfer(NamedTuple):
    """Row `to + i * to_step` becomes row `source + i * source_step`, for i below `depth`.

    The kind `_SET` sets rows to the number at place `source`, or to 0 if that is negative.
    """

    axis: int
    kind: int
    depth: int
    to: int
    to_step: int
    source: int
    source_step: int = 0


def _transfers(
    dims: Sequence[Dimension],
    starts: Sequence[int],
    stops: Sequence[int],
    dtype: np.dtype[Any],
    interior: Domain,
    sides: _Sides,
) -> Iterator[_Transfer]:
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
                    f"{stop - start}."
                )
            if side == "odd" and dtype.kind in "bu":
                raise ArgumentError(
                    f"An odd wall changes the sign, and '{dtype}' has none.",
                    hints=("Write 'even', or a number.",),
                )
            if side is _NUMBER:
                yield _Transfer(axis, _SET, depth, to, step, next(places))
            elif side == "periodic":
                yield _Transfer(axis, _COPY, depth, to, step, opposite, step)
            elif is_wall:
                kind = _NEGATE if side == "odd" else _COPY
                yield _Transfer(axis, kind, depth, to, step, inner - step * on_faces, -step)
            if on_faces and side == "odd":
                walls.append(_Transfer(axis, _SET, 1, inner, 1, -1))
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


# --- on a device -------------------------------------------------------------------------------


def _fill_on_device(field: Any, interior: Domain, sides: _Sides, numbers: Sequence[Any]) -> None:
    _check(sides)
    array = field.ndarray
    dtype = np.dtype(field.dtype_name)
    for each in _transfers(field.dims, field.starts, field.stops, dtype, interior, sides):
        first = field.starts[each.axis]
        to = _rows(each.axis, each.to - first, each.to_step, each.depth)
        if each.kind == _SET:
            array[to] = numbers[each.source] if each.source >= 0 else 0
        else:
            rows = array[_rows(each.axis, each.source - first, each.source_step, each.depth)]
            array[to] = -rows if each.kind == _NEGATE else rows


def _rows(axis: int, start: int, step: int, depth: int) -> tuple[slice, ...]:
    stop = start + step * depth
    return (*(slice(None),) * axis, slice(start, stop if stop >= 0 else None, step))


def _note(*given: Any) -> None:
    """Let a recorded step make this call in Python."""
    sequence = _core.recording()
    if sequence is not None:
        sequence.note(fill_halo, given, {})
