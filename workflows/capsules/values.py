"""The arguments of a call as JSON and arrays: fields, numbers, tuples and neighbour tables.

A `Writer` keeps each array once: arguments that are one field, or views of one array, are that
again when they are read. Named collections become tuples, which programs accept in their place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

import numpy as np

from ...runtime.fields import Connectivity, as_field, make
from ...runtime.language import Dimension, Domain, elements
from ...runtime.process import FieldforgeError, classes

Array: TypeAlias = np.ndarray[Any, Any]
Json: TypeAlias = dict[str, Any]
NUMBERS: Final = (bool, int, float)


class CapsuleError(FieldforgeError, ValueError):
    """A capsule cannot be written, read or replayed."""


@classes.frozen(eq=False)
class Writer:
    """Collects the arrays of arguments; with a `seed`, only the statistics of fields.

    `shared` is the memory of the fields that are views of one array; with a seed there are none.
    """

    seed: int | None = None
    shared: Mapping[Any, _Memory] = classes.field(factory=dict)
    arrays: dict[str, Array] = classes.field(factory=dict, init=False)
    _seen: dict[Any, Json] = classes.field(factory=dict, init=False)

    @classmethod
    def of(cls, arguments: Mapping[str, Any], seed: int | None = None) -> Writer:
        """Return the writer for the arguments of a call by name."""
        fields = [each for name, value in arguments.items() for _, each in fields_of(name, value)]
        return cls(seed, shared_memory(fields) if seed is None else {})

    def value(self, name: str, value: Any) -> Json:
        """Describe one argument; `name` names its arrays."""
        parts = elements(value)
        if parts is not None:
            return {"tuple": [self.value(f"{name}.{at}", part) for at, part in enumerate(parts)]}
        if getattr(type(value), "__fieldforge_field__", False) and hasattr(value, "starts"):
            return self._field(name, value)
        if isinstance(value, np.generic):
            return {"number": _spelled(value.item()), "dtype": value.dtype.name}
        if type(value) in NUMBERS:
            return {"number": _spelled(value)}
        raise CapsuleError(
            f"Argument '{name}' of type '{type(value).__name__}' cannot be kept in a capsule.",
            hints=["A capsule holds fields, numbers, and tuples and collections of them."],
        )

    def table(self, name: str, table: Connectivity) -> Json:
        """Describe a neighbour table; its indices are always kept."""
        key = f"tables/{name}"
        self.arrays[key] = table.asnumpy()
        return {
            "array": key,
            "domain": [_dimension(dim, _first(own)) for dim, own in table.domain],
            "codomain": _dimension(table.codomain),
            "skip": table.skip_value,
        }

    def _field(self, name: str, field: Any) -> Json:
        place = _place_of(field)
        if place in self._seen:
            return self._seen[place]
        array = field.asnumpy()
        key = f"before/{name}"
        order = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
        row: Json = {
            "field": key,
            "order": order,
            "domain": [_dimension(*each) for each in zip(field.dims, field.starts, strict=True)],
        }
        if place in self.shared:
            row |= self._view(field, self.shared[place])
        elif self.seed is None:
            self.arrays[key] = np.array(array.transpose(order), order="C")
        else:
            row |= _statistics_of(array.transpose(order), self.seed, len(self._seen))
        self._seen[place] = row
        return row

    def _view(self, field: Any, memory: _Memory) -> Json:
        """Keep a field inside the memory that it shares; bytes between fields are zero."""
        array = field.asnumpy()
        layout: Json = {
            "memory": memory.name,
            "offset": field.pointer - memory.start,
            "strides": list(field.strides),
            "shape": list(array.shape),
            "dtype": array.dtype.name,
        }
        kept = self.arrays.setdefault(memory.name, np.zeros(memory.size, np.uint8))
        _laid_out(kept, layout)[...] = array
        return layout


@classes.frozen(eq=False)
class Reader:
    """Makes arguments of what a `Writer` kept: fresh ones, so that a call may write them.

    `allocator` says where fields live; None leaves them in the memory of the host.
    """

    arrays: Mapping[str, Array]
    allocator: Any = None
    _made: dict[str, Any] = classes.field(factory=dict, init=False)
    _memory: dict[str, Array] = classes.field(factory=dict, init=False)

    def value(self, row: Json) -> Any:
        """Return an argument."""
        if "tuple" in row:
            return tuple(self.value(part) for part in row["tuple"])
        if "number" in row:
            number = _number(row["number"])
            return np.dtype(row["dtype"]).type(number) if "dtype" in row else number
        key = row["field"]
        if key not in self._made:
            self._made[key] = self._field(row)
        return self._made[key]

    def table(self, row: Json) -> Connectivity:
        """Return a neighbour table."""
        array = self.arrays[row["array"]]
        codomain, _ = _read_dimension(row["codomain"])
        return Connectivity(array, _domain(row["domain"], array.shape), codomain, row["skip"])

    def _field(self, row: Json) -> Any:
        if "memory" in row:
            return self._view(row)
        kept = _drawn(row) if "statistics" in row else self.arrays[row["field"]].copy()
        array = kept.transpose(np.argsort(row["order"]))
        domain = _domain(row["domain"], array.shape)
        if self.allocator is not None:
            return as_field(domain, array, allocator=self.allocator)
        return make(array, domain)

    def _view(self, row: Json) -> Any:
        """Return a field in the memory that others share."""
        if self.allocator is not None:
            raise CapsuleError(
                "Arguments of the capsule are views of one array; a GPU gets copies of its own.",
                hints=["Replay it with '--backend cpu' or '--backend reference'."],
            )
        kept = self._memory.setdefault(row["memory"], self.arrays[row["memory"]].copy())
        array = _laid_out(kept, row)
        return make(array, _domain(row["domain"], array.shape))


def fields_of(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an argument with their names, `out.0` for the first of a tuple.

    >>> list(fields_of("n", (1, 2)))
    []
    """
    parts = elements(value)
    for at, part in enumerate(parts or ()):
        yield from fields_of(f"{name}.{at}", part)
    if parts is None and hasattr(value, "starts"):
        yield name, value


def _laid_out(memory: Array, row: Json) -> Array:
    """Return the view of memory that a row describes; NumPy refuses one that leads out of it."""
    return np.ndarray(row["shape"], row["dtype"], memory.data, row["offset"], row["strides"])


def _spelled(number: bool | float) -> bool | int | str:
    return number.hex() if isinstance(number, float) else number


def _number(spelled: Any) -> Any:
    return float.fromhex(spelled) if isinstance(spelled, str) else spelled


def _dimension(dim: Dimension, start: int | None = None) -> list[Any]:
    named = [dim.value, str(dim.kind)]
    return named if start is None else [*named, int(start)]


def _read_dimension(row: list[Any]) -> tuple[Dimension, int]:
    name, kind, *start = row
    return Dimension(name, kind), start[0] if start else 0


def _domain(rows: list[list[Any]], shape: tuple[int, ...]) -> Domain:
    axes = zip(map(_read_dimension, rows), shape, strict=True)
    return Domain(*((dim, (start, start + size)) for (dim, start), size in axes))


def _first(indices: Any) -> int:
    return int(indices.start)


def _statistics_of(array: np.ndarray[Any, Any], seed: int, number: int) -> dict[str, Any]:
    """Describe an array by type, shape, extremes, mean and deviation; `number` varies the seed."""
    finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    known = {"min": 0.0, "max": 0.0, "mean": 0.0, "deviation": 0.0}
    if finite.size:
        wide = finite.astype(np.float64)
        known = {
            "min": float(wide.min()),
            "max": float(wide.max()),
            "mean": float(wide.mean()),
            "deviation": float(wide.std()),
        }
    known["not_finite"] = float(array.size - finite.size)
    return {
        "statistics": known,
        "seed": [seed, number],
        "shape": list(array.shape),
        "dtype": array.dtype.name,
    }


def _drawn(row: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Draw an array with the statistics of a row; the same row gives the same numbers.

    >>> row = _statistics_of(np.array([1, 2, 3]), 7, 0)
    >>> bool((_drawn(row) == _drawn(row)).all()), _drawn(row).max() <= 3
    (True, np.True_)
    """
    known, shape, dtype = row["statistics"], tuple(row["shape"]), np.dtype(row["dtype"])
    random = np.random.default_rng(row["seed"])
    if dtype.kind == "b":
        return np.asarray(random.random(shape) < known["mean"])
    if dtype.kind in "iu":
        return random.integers(int(known["min"]), int(known["max"]), shape, dtype, endpoint=True)
    numbers = random.normal(known["mean"], known["deviation"], shape)
    return np.clip(numbers, known["min"], known["max"]).astype(dtype)


_ALIGNMENT: Final = 64  # so that a field lies as before within a line of the cache
_Place: TypeAlias = tuple[Any, ...]


@classes.frozen
class _Memory:
    """The stretch of memory that several fields lie in: its name, first address and bytes."""

    name: str
    start: int
    size: int


def _place_of(field: Any) -> _Place:
    """Return what tells two fields apart: memory, layout and domain."""
    return field.pointer, field.shape, field.strides, field.dims, tuple(field.starts)


def shared_memory(fields: Iterable[Any]) -> dict[_Place, _Memory]:
    """Return the memory of each field whose memory overlaps that of another field."""
    hulls = {_place_of(field): _hull(field) for field in fields if 0 not in field.shape}
    groups: list[tuple[int, int, list[_Place]]] = []
    for place, (low, high) in sorted(hulls.items(), key=lambda row: row[1]):
        if groups and low < groups[-1][1]:
            start, end, places = groups.pop()
            groups.append((start, max(end, high), [*places, place]))
        else:
            groups.append((low, high, [place]))
    shared = [
        (low - low % _ALIGNMENT, high, places) for low, high, places in groups if len(places) > 1
    ]
    return {
        place: _Memory(f"memory/{number}", start, end - start)
        for number, (start, end, places) in enumerate(shared)
        for place in places
    }


def _hull(field: Any) -> tuple[int, int]:
    """Return the first address of a field and that behind its last byte."""
    steps = [(size - 1) * by for size, by in zip(field.shape, field.strides, strict=True)]
    low = field.pointer + sum(step for step in steps if step < 0)
    high = field.pointer + sum(step for step in steps if step > 0)
    return low, high + field.dtype.itemsize
