"""Find the operation or argument that made an invalid value: a NaN or an infinity.

While a checked program runs embedded, `provenance` records the operands and the source line of
every result. If a value about to be written is not finite, this module follows the records back
to the first operation whose operands were finite, or to an argument. Missing neighbours and
reads by `as_offset` beyond a field count as NaN, so a result that depends on them is found, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from ..fields import AnyField, first, make, running, values_of
from ..language import Dimension, Domain, UnitRange, in_canonical_order
from ..process import CheckError
from .gathering import applied
from .piecewise_field import AnyValue, Piece, assembled, pieces_of
from .provenance import Checking, Made, current_checking

Point: TypeAlias = Mapping[Dimension, int]

# Operations that read their operands at other points than that of the result.
MOVING: Final = ("shift", "neighbours", "as_offset")


def check_written(operator: str, name: str, value: AnyValue, box: Domain) -> None:
    """Raise `CheckError` if a value to be written is not finite; the error names its origin."""
    checking = current_checking()
    point = None if checking is None else _first_bad(value, box)
    if checking is None or point is None:
        return
    found = float(_number_at(value, point))
    origin, cause, there = _origin(checking, value, point)
    number = None if origin is None else _bad_number(origin)
    if origin is None or number is not None:
        argument = _argument(checking, cause if number is None else number)
        source = f"argument '{argument}'" if argument else "a value that was given"
        at = f" at {_shown(there)}" if number is None else ""
        raise CheckError(
            None,
            f"'{name}' of '{operator}' is {found} at {_shown(point)}: it comes from {source}, "
            f"which is {float(_number_at(cause, there) if number is None else number)}{at}.",
            operator, point, found,
        )  # fmt: skip
    raise CheckError(
        origin.span,
        f"'{name}' of '{operator}' is {found} at {_shown(point)}: {_arose(origin, there)}.",
        origin.operator, point, found,
    )  # fmt: skip


def refused(program: str, name: str, field: Any, before: Any) -> CheckError:
    """Return the error for an invalid value that only compiled code wrote, not embedded execution.

    It names the first point that held a finite number before, if such a point is left.
    """
    point: Point = {}
    found = float("nan")
    what = f"A number that is not finite was written to '{name}' of '{program}', and written over"
    if before is not None:
        for place in np.argwhere(~np.isfinite(field.ndarray) & np.isfinite(before))[:1]:
            point, found = _point(field, place), float(field.ndarray[tuple(place)])
            what = f"'{name}' of '{program}' is {found} at {_shown(point)}"
    why = "compiled code made it, embedded execution does not"
    return CheckError(None, f"{what}: {why}.", program, point, found)


def first_bad_input(inputs: Mapping[str, Any]) -> str | None:
    """Return a sentence about the first argument that is not finite; None if all are.

    >>> first_bad_input({"n": 3, "dt": float("inf")})
    "Argument 'dt' is inf before the call."
    """
    for name, value in inputs.items():
        if not isinstance(value, AnyValue):
            if _is_bad(_number_at(value, {})):
                return f"Argument '{name}' is {float(value)} before the call."
            continue
        for piece in pieces_of(value):
            for point in _bad(piece.field, {}):
                found = float(_number_at(value, point))
                return f"Argument '{name}' is {found} at {_shown(point)} before the call."
    return None


def _bad_number(made: Made) -> Any:
    """Return the first operand that is a number and not finite."""
    numbers = (each for each in made.operands if not isinstance(each, AnyValue))
    return next((each for each in numbers if _is_bad(_number_at(each, {}))), None)


def _argument(checking: Checking, cause: Any) -> str | None:
    """Return the name of an argument: a field by its identity, a number by its value."""
    for name, value in checking.arguments.items():
        is_number = not isinstance(cause, AnyValue) and _is_bad(_number_at(value, {}))
        if value is cause or (is_number and np.array_equal(value, cause, equal_nan=True)):
            return name
    return None


def _origin(
    checking: Checking, value: AnyValue, point: Point
) -> tuple[Made | None, AnyValue, Point]:
    """Follow an invalid value back to the operation with finite operands; None for an argument."""
    while (made := checking.made.get(id(value))) is not None:
        step = _back(checking, made, point)
        if step is None:
            return made, value, point
        value, point = step
    return None, value, point


def _back(checking: Checking, made: Made, point: Point) -> tuple[AnyValue, Point] | None:
    """Return an operand that is not finite either, and its point; None if all are finite."""
    if made.op in MOVING:
        source = _source(made, point)
        return None if source is None else (made.operands[0], source)
    fields = [operand for operand in made.operands if isinstance(operand, AnyValue)]
    for operand in fields:
        if _is_bad(_number_at(operand, point)):
            return operand, point
    for operand in fields:  # the operand of a reduction has one dimension more
        found = [] if _reaches(operand, point) else list(_bad_along(operand, point))
        if found:
            return operand, next((at for at in found if _is_there(checking, operand, at)), found[0])
    return None


def _is_there(checking: Checking, value: AnyValue, point: Point) -> bool:
    """Return True for a value that reductions do not skip as a missing neighbour."""
    made, _, _ = _origin(checking, value, point)
    return made is None or made.op != "neighbours"


def _source(made: Made, point: Point) -> Point | None:
    """Return the point that a shift or gather read, None if it does not exist.

    The same shift or gather is applied to the numbers of the elements; missing ones are NaN.
    """
    value, *offsets = made.operands
    counts = np.cumsum([0, *(values_of(piece.field).size for piece in pieces_of(value))])
    numbered = [
        Piece(piece.box, make(_numbers(values_of(piece.field), start), piece.field.domain))
        for piece, start in zip(pieces_of(value), counts, strict=False)
    ]
    with running(made.tables):
        number = _number_at(applied(assembled(numbered), *offsets), point)
    if number is None or np.isnan(number):
        return None
    which = int(np.searchsorted(counts, number, side="right")) - 1
    field = pieces_of(value)[which].field
    place = np.unravel_index(int(number) - int(counts[which]), values_of(field).shape)
    known = {dim: index for dim, index in point.items() if dim in value.domain.dims}
    return {**known, **_point(field, place)}


def _numbers(values: Any, start: int) -> Any:
    return np.arange(start, start + values.size, dtype=np.float64).reshape(values.shape)


def _first_bad(value: AnyValue, box: Domain) -> Point | None:
    """Return the first point of a finite box where a value is not finite."""
    for piece in pieces_of(value):
        inside = piece.box & box
        if not inside.is_empty():
            for point in _bad(piece.field, dict(inside)):
                return {dim: point.get(dim, first(inside[dim].unit_range)) for dim in box.dims}
    return None


def _bad_along(value: AnyValue, point: Point) -> Iterator[Point]:
    """Yield the points of a value that agree with `point` and are not finite."""
    ranges = {dim: UnitRange(index, index + 1) for dim, index in point.items()}
    for piece in pieces_of(value):
        yield from ({**point, **found} for found in _bad(piece.field, ranges))


def _bad(field: AnyField, ranges: Mapping[Dimension, UnitRange]) -> Iterator[Point]:
    """Yield the points of a field within ranges where it is not finite."""
    values = values_of(field)
    if values.dtype.kind != "f":
        return
    bad = ~np.isfinite(values)
    for axis, (dim, own) in enumerate(field.domain):
        if own.is_finite() and dim in ranges:
            here = [index in ranges[dim] for index in own]
            bad &= np.reshape(here, [-1 if axis == other else 1 for other in range(bad.ndim)])
    for place in np.argwhere(bad):
        yield _point(field, place)


def _point(field: AnyField, place: Any) -> dict[Dimension, int]:
    return {
        dim: first(own) + int(index)
        for (dim, own), index in zip(field.domain, place, strict=True)
        if own.is_finite()
    }


def _number_at(value: Any, point: Point) -> Any:
    """Return the number at a point, None where the value has none; a scalar has one everywhere."""
    if not isinstance(value, AnyValue):
        return value if isinstance(value, bool | int | float | np.generic) else None
    for piece in pieces_of(value):
        if _covers(piece.box, point):
            place = tuple(
                point[dim] - first(own) if own.is_finite() else 0 for dim, own in piece.field.domain
            )
            return values_of(piece.field)[place]
    return None


def _reaches(value: AnyValue, point: Point) -> bool:
    return any(_covers(piece.box, point) for piece in pieces_of(value))


def _covers(box: Domain, point: Point) -> bool:
    return all(not own.is_finite() or (dim in point and point[dim] in own) for dim, own in box)


def _is_bad(number: Any) -> bool:
    return isinstance(number, float | np.floating) and not np.isfinite(number)


def _arose(origin: Made, point: Point) -> str:
    if origin.op == "neighbours":
        return "it is that of a neighbour that is missing (a skip value in the table)"
    if origin.op == "as_offset":
        return "'as_offset' leads out of the field"
    given = [_number_at(operand, point) for operand in origin.operands]
    of = " and ".join(str(number) for number in given if number is not None)
    return f"'{origin.op}'" + (f" made it of {of}" if of else " made it")


def _shown(point: Point) -> str:
    dims = in_canonical_order(tuple(point))
    return ", ".join(f"{dim.value}={point[dim]}" for dim in dims) or "its only point"
