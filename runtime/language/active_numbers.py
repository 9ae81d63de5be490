"""Active numbers: values that know their place on a tape, for derivatives in embedded execution.

An element of an active array is a pair: its value, and its number on the tape. All that moves
values (shifts, gathers, choices, slices) moves both, so that no access needs a rule of its own.
An operation gives its results new numbers and writes down from which operands they come; the tape
then runs backwards, or forwards. Number 0 is that of all constants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from ..process import DerivativeError, classes
from . import operation_values
from .derivatives import Derivative
from .operation_table import TABLE, Operation

CONSTANT: Final = 0


def is_active(array: Any) -> bool:
    """Tell whether the elements of an array are pairs of value and number."""
    return array.dtype.names is not None


def plain(array: Any) -> Any:
    """Return the values of an array, active or not."""
    return array["value"] if is_active(array) else array


def plain_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype of the values."""
    return dtype["value"] if dtype.names is not None else dtype


def paired(values: Any, numbers: Any) -> Any:
    """Return an active array."""
    kind = np.dtype([("value", values.dtype), ("number", np.int64)])
    made = np.empty(np.broadcast_shapes(np.shape(values), np.shape(numbers)), kind)
    made["value"], made["number"] = values, numbers
    return made


def lifted(array: Any) -> Any:
    """Return an array of floats as an active one; constants have number 0."""
    is_float = plain_dtype(array.dtype).kind == "f"
    return paired(array, CONSTANT) if is_float and not is_active(array) else array


def apply(row: Operation, operands: Sequence[Any], target: np.dtype[Any] | None = None) -> Any:
    """Compute an operation of which some operands are active; `target` is that of a cast."""
    values = [plain(each) for each in operands]
    more = [] if target is None else [target]
    result = row.compute(*values, *more)
    derivative = row.derivative
    if result.dtype.kind != "f":
        return result
    if derivative is None:
        raise DerivativeError.of(row.name)
    if row.name == "cast":
        return paired(result, _numbers(operands[0]))
    if derivative.takes_first is not None:
        place = row.arity - 2
        takes_first = derivative.first_taken(ARRAYS, values)
        return paired(result, np.where(takes_first, *map(_numbers, operands[place:])))
    if not any(derivative.varies_with(place) for place in range(row.arity)):
        return result
    return _TAPE.get().record(derivative, operands, values, result)


def _numbers(operand: Any) -> Any:
    return operand["number"] if is_active(operand) else CONSTANT


@classes.frozen(eq=False)
class _Entry:
    """One operation: its results have the numbers from `first` on, in C order."""

    first: int
    derivative: Derivative
    values: tuple[Any, ...]
    numbers: tuple[Any, ...]  # None for an operand that is constant
    result: Any

    def pull(self, place: int, b: Any) -> Any:
        """Return `b` times the partial derivative with respect to an operand."""
        return self.derivative.pull(place, ARRAYS, b, self.result, self.values)

    def active(self) -> Iterator[tuple[int, Any]]:
        """Yield the places of active operands with their numbers, as an array like the result."""
        for place, numbers in enumerate(self.numbers):
            if numbers is not None and self.derivative.varies_with(place):
                yield place, np.broadcast_to(numbers, self.result.shape)


@classes.define(eq=False)
class Tape:
    """Operations in their order; derivatives are float64, whatever the operands are."""

    count: int = 1
    entries: list[_Entry] = classes.field(factory=list)

    def variable(self, values: Any) -> Any:
        """Return an array of values with new numbers."""
        first, self.count = self.count, self.count + values.size
        return paired(values, np.arange(first, self.count).reshape(values.shape))

    def record(
        self, derivative: Derivative, operands: Sequence[Any], values: Sequence[Any], result: Any
    ) -> Any:
        """Give the result new numbers, and remember where it comes from."""
        made = self.variable(np.asarray(result))
        numbers = (each["number"].copy() if is_active(each) else None for each in operands)
        kept = tuple(np.array(each, np.float64) for each in values)  # memory may be overwritten
        first = self.count - made.size
        self.entries.append(
            _Entry(first, derivative, kept, tuple(numbers), np.array(result, np.float64))
        )
        return made

    def pulled(self, seeds: Sequence[tuple[Any, Any]]) -> Any:
        """Return the adjoints of all numbers, from active arrays and their adjoints.

        What no seed depends on stays 0, also where a slope there is infinite or NaN.
        """
        adjoints, is_used = np.zeros(self.count), np.zeros(self.count, np.bool_)
        for array, adjoint in seeds:
            np.add.at(adjoints, array["number"], adjoint)
            is_used[array["number"]] = True
        for entry in reversed(self.entries):
            own, shape = slice(entry.first, entry.first + entry.result.size), entry.result.shape
            b, used = adjoints[own].reshape(shape), is_used[own].reshape(shape)
            for place, numbers in entry.active():
                np.add.at(adjoints, numbers[used], entry.pull(place, b)[used])
                is_used[numbers[used]] = True
            adjoints[CONSTANT] = 0.0
        return adjoints

    def pushed(self, seeds: Sequence[tuple[Any, Any]]) -> Any:
        """Return the tangents of all numbers, from active arrays of variables and their tangents.

        A constant contributes 0, also where its slope is infinite.
        """
        tangents = np.zeros(self.count)
        for array, tangent in seeds:
            tangents[array["number"]] = tangent
        for entry in self.entries:
            found = np.zeros(entry.result.shape)
            for place, numbers in entry.active():
                pulled = entry.pull(place, tangents[numbers])
                found += np.where(numbers == CONSTANT, 0.0, pulled)
            tangents[entry.first : entry.first + found.size] = found.ravel()
        return tangents


_TAPE: Final[ContextVar[Tape]] = ContextVar("fieldforge_tape")


@contextmanager
def taped(tape: Tape) -> Iterator[None]:
    """Record the operations of the block."""
    token = _TAPE.set(tape)
    try:
        yield
    finally:
        _TAPE.reset(token)


class _Arrays:
    """The arithmetic of terms on NumPy arrays."""

    def apply(self, op: str, *operands: Any) -> Any:
        """Compute an operation of the table."""
        with np.errstate(all="ignore"):
            return _COMPUTE[op](*operands)

    def number(self, value: float, like: Any) -> Any:
        """Return a number in the dtype of a value."""
        return like.dtype.type(value)

    def converted(self, value: Any, like: Any) -> Any:
        """Return a value in the dtype of another."""
        return operation_values.cast(value, like.dtype)

    def is_single(self, value: Any) -> bool:
        """Tell whether a value is of float32."""
        return bool(value.dtype == np.float32)


_COMPUTE: Final = {row.name: row.compute for row in TABLE}
ARRAYS: Final = _Arrays()
