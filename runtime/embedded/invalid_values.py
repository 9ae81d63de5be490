"""Checked execution: say where a NaN came from.

While a checked program runs embedded, every result of an operator of the language is remembered
with its operands and its place in the source. If a value that is about to be written is not
finite, the way back leads to the first operation whose operands were finite, or to an argument.
A neighbour that is missing counts as NaN, and so does what 'as_offset' asks for beyond a field: a
result that depends on one is found, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

from ..fields.alignment import first
from ..fields.context import running, tables
from ..fields.field import AnyField, make, values_of
from ..language.dimension import Dimension
from ..language.domain import Domain
from ..language.ranges import UnitRange
from ..process.errors import CheckError
from ..process.source import Span
from .piecewise import AnyValue, Piece, assembled, pieces_of
from .rewriting import APPLY, CALLEE

Point: TypeAlias = Mapping[Dimension, int]

# What reads its operands at other points than its result.
MOVING: Final = ("shift", "neighbours", "as_offset")


@attrs.frozen(eq=False)
class _Made:
    """One result: of which operation, from what, and the frame's place in the source."""

    value: AnyValue
    op: str
    operands: tuple[Any, ...]
    operator: str
    span: Span | None
    tables: Mapping[str, Any]


@attrs.frozen(eq=False)
class _Checking:
    """All results of one call, by the identity of the values, which are kept alive."""

    arguments: Mapping[int, str]
    made: dict[int, _Made] = attrs.field(factory=dict)


_CHECKING: Final[ContextVar[_Checking | None]] = ContextVar("fieldforge_checking", default=None)


@contextmanager
def checked(arguments: Mapping[str, Any]) -> Iterator[None]:
    """Check what is computed in the block; the names are those of the fields that are given."""
    token = _CHECKING.set(_Checking({id(value): name for name, value in arguments.items()}))
    try:
        yield
    finally:
        _CHECKING.reset(token)


def is_checking() -> bool:
    """Say whether a checked program is running."""
    return _CHECKING.get() is not None


def noted(value: Any, op: str, operands: tuple[Any, ...]) -> Any:
    """Remember how a value was made, if anybody wants to know; return it."""
    checking = _CHECKING.get()
    if checking is None or not isinstance(value, AnyValue) or id(value) in checking.made:
        return value
    if all(value is not operand for operand in operands):  # 'where' may return what it was given
        checking.made[id(value)] = _Made(value, op, operands, *_place(), tables())
    return value


def check_written(operator: str, name: str, value: AnyValue, box: Domain) -> None:
    """Refuse to write a number that is not finite, and say where it came from."""
    checking = _CHECKING.get()
    point = None if checking is None else _first_bad(value, box)
    if checking is None or point is None:
        return
    found = float(_number_at(value, point))
    origin, cause, there = _origin(checking, value, point)
    if origin is None:
        argument = checking.arguments.get(id(cause))
        source = f"argument '{argument}'" if argument else "a value that was given"
        raise CheckError(
            None,
            f"'{name}' of '{operator}' is {found} at {_shown(point)}: it comes from {source}, "
            f"which is {float(_number_at(cause, there))} at {_shown(there)}.",
            operator, point, found,
        )  # fmt: skip
    raise CheckError(
        origin.span,
        f"'{name}' of '{operator}' is {found} at {_shown(point)}: {_arose(origin, there)}.",
        origin.operator, point, found,
    )  # fmt: skip


def refused(program: str, name: str, field: Any, before: Any) -> CheckError:
    """Return the error for a number that compiled code wrote and embedded execution does not.

    Its place is the first one where there was a finite number before; there may be none any more.
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


def _origin(
    checking: _Checking, value: AnyValue, point: Point
) -> tuple[_Made | None, AnyValue, Point]:
    """Follow a number back to the operation that made it of finite ones, None for an argument."""
    while (made := checking.made.get(id(value))) is not None:
        step = _back(checking, made, point)
        if step is None:
            return made, value, point
        value, point = step
    return None, value, point


def _back(checking: _Checking, made: _Made, point: Point) -> tuple[AnyValue, Point] | None:
    """Return the operand that is not finite either, and where; None if there is none."""
    if made.op in MOVING:
        source = _source(made, point)
        return None if source is None else (made.operands[0], source)
    fields = [operand for operand in made.operands if isinstance(operand, AnyValue)]
    for operand in fields:
        if _is_bad(_number_at(operand, point)):
            return operand, point
    for operand in fields:  # what is reduced has one dimension more
        found = [] if _reaches(operand, point) else list(_bad_along(operand, point))
        if found:
            return operand, next((at for at in found if _is_there(checking, operand, at)), found[0])
    return None


def _is_there(checking: _Checking, value: AnyValue, point: Point) -> bool:
    """Tell whether a number is that of a neighbour, which reductions do not skip."""
    made, _, _ = _origin(checking, value, point)
    return made is None or made.op != "neighbours"


def _source(made: _Made, point: Point) -> Point | None:
    """Return where a moved number was taken from, None if its place does not exist.

    Numbers that count the elements are moved in the same way; what is missing is NaN.
    """
    from .gathering import applied  # which asks whether a program is checked

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
    """Yield the points of a value that are those of `point`, as far as it goes, and not finite."""
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
    """Return the number at a point, None where the value has none; a number is everywhere."""
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
    return number is not None and number.dtype.kind == "f" and not np.isfinite(number)


def _arose(origin: _Made, point: Point) -> str:
    if origin.op == "neighbours":
        return "it is that of a neighbour that is missing (a skip value in the table)"
    if origin.op == "as_offset":
        return "'as_offset' leads out of the field"
    given = [_number_at(operand, point) for operand in origin.operands]
    of = " and ".join(str(number) for number in given if number is not None)
    return f"'{origin.op}'" + (f" made it of {of}" if of else " made it")


def _shown(point: Point) -> str:
    return ", ".join(f"{dim.value}={index}" for dim, index in point.items()) or "its only point"


def _place() -> tuple[str, Span | None]:
    """Return the operator that is running, and where in its source."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if APPLY in code.co_freevars or CALLEE in code.co_freevars:
            positions = list(code.co_positions())[frame.f_lasti // 2]
            line, end_line, column, end_column = (each or 0 for each in positions)
            return code.co_name, Span(code.co_filename, line, column + 1, end_line, end_column + 1)
        frame = frame.f_back
    return "", None
