"""The table `capsule.json`: its declared shape, and whether its parts fit each other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from ...runtime.language import SCALARS, DimensionKind
from ...runtime.process.shapes import (
    ShapeError,
    anything,
    count,
    list_of,
    mapping,
    nullable,
    one_of,
    parse_json,
    real,
    row,
    table,
    text,
    whole,
)
from .written import is_written

FORMAT: Final = 2
_UINT64: Final = range(-(2**63), 2**64)
_DEEPEST: Final = 32  # tuples in tuples


def _number(value: Any, at: str = "") -> Any:
    """Take a scalar: a truth value, an integer, or a float in hexadecimal digits."""
    if isinstance(value, bool) or (isinstance(value, int) and value in _UINT64):
        return value
    try:
        float.fromhex(text(value, at))
    except (ValueError, OverflowError) as error:
        raise ShapeError(f"'{at}' must be a number: {error}") from error
    return value


def _argument(value: Any, at: str = "", depth: int = 0) -> Any:
    """Take a tuple of arguments, a number, or a field: of its own, in shared memory, or drawn."""
    if depth > _DEEPEST:
        raise ShapeError(f"'{at}' has more than {_DEEPEST} tuples in tuples")
    parts = table(tuple=list_of(lambda each, place: _argument(each, place, depth + 1)))
    for mark, shape in {"tuple": parts, **_LEAVES}.items():
        if isinstance(value, dict) and mark in value:
            return shape(value, at)
    raise ShapeError(f"'{at}' must be a tuple, a number or a field")


_KINDS: Final = one_of(*map(str, DimensionKind))
_DTYPE: Final = one_of(*SCALARS)
_DOMAIN: Final = list_of(row(text, _KINDS, whole))
_FIELD: Final = {"field": text, "order": list_of(count), "domain": _DOMAIN}
_LAID_OUT: Final = {**_FIELD, "shape": list_of(count), "dtype": _DTYPE}
_LEAVES: Final = {  # by an entry that only they have; the last has none
    "number": table(("dtype",), number=_number, dtype=_DTYPE),
    "memory": table(**_LAID_OUT, memory=text, offset=count, strides=list_of(whole)),
    "statistics": table(
        **_LAID_OUT,
        seed=list_of(count),
        statistics=table(min=real, max=real, mean=real, deviation=real, not_finite=real),
    ),
    "field": table(**_FIELD),
}
_HEAD: Final = table(
    ("digests",),
    format=one_of(FORMAT), fieldforge=text, toolchain=text, python=text, machine=text,
    program=text, kind=text, source=table(file=text, line=whole, text=text),
    closure=mapping(text), backend=nullable(text), options=mapping(text),
    arguments=mapping(_argument),
    tables=mapping(
        table(array=text, domain=_DOMAIN, codomain=row(text, _KINDS), skip=nullable(whole))
    ),
    error=text, stages=mapping(table(key=text, parts=mapping(text))), written=list_of(text),
    digests=mapping(text), arrays=mapping(row(_DTYPE, list_of(count))),
)  # fmt: skip


def read_head(content: bytes) -> dict[str, Any]:
    """Read the table; one of another format or shape, or that contradicts itself, is refused.

    Raises:
        ShapeError: says what is wrong.

    """
    found = parse_json(content, mapping(anything))
    if found.get("format") != FORMAT:
        raise ShapeError(
            f"it has format {found.get('format')!r}, this version of fieldforge reads {FORMAT}"
        )
    head: dict[str, Any] = _HEAD(found, "")
    _check_arrays(head)
    return head


def bytes_of(head: Mapping[str, Any]) -> int:
    """Return how many bytes the arrays of a capsule, and those that a replay draws, take."""
    drawn = (each for each in _leaves(head).values() if "shape" in each)
    made = sum(size_of(each["dtype"], each["shape"]) for each in drawn)
    return made + sum(size_of(*each) for each in head["arrays"].values())


def size_of(dtype: str, shape: list[int]) -> int:
    """Return the bytes of an array."""
    return math.prod(shape) * np.dtype(dtype).itemsize


def _leaves(head: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of each field by leaf name."""
    return {
        leaf: field
        for name, given in head["arguments"].items()
        for leaf, field in _fields(name, given)
    }


def _fields(name: str, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for at, part in enumerate(given.get("tuple", ())):
        yield from _fields(f"{name}.{at}", part)
    if "field" in given:
        yield name, given


def _check_arrays(head: Mapping[str, Any]) -> None:
    """Refuse arrays that nothing uses, that are missing, or that do not fit what uses them."""
    arrays: Mapping[str, Any] = head["arrays"]
    used = {each["array"] for each in head["tables"].values()}
    for leaf, given in _leaves(head).items():
        if "statistics" not in given:
            used.add(given.get("memory", given["field"]))
        layout = _layout(leaf, given, arrays)
        if is_written(leaf, head["written"]) and not head["error"]:
            used |= _result(leaf, layout, head)
    for name, given in head["tables"].items():
        if len(arrays.get(given["array"], ["", []])[1]) != len(given["domain"]):
            raise ShapeError(f"the table '{name}' has no array on its domain")
    if used != set(arrays):
        odd = min(used ^ set(arrays))
        raise ShapeError(f"the array '{odd[:60]}' is {'missing' if odd in used else 'unused'}")


def _result(leaf: str, layout: list[Any], head: Mapping[str, Any]) -> set[str]:
    """Return the array of the values that a field had after the call; none if there is a digest."""
    key = f"after/{leaf}"
    if "digests" not in head:
        if head["arrays"].get(key) != layout:
            raise ShapeError(f"the result '{leaf}' is no {layout[0]} of shape {layout[1]}")
        return {key}
    if leaf not in head["digests"]:
        raise ShapeError(f"it has no digest of '{leaf}'")
    return set()


def _layout(leaf: str, given: Mapping[str, Any], arrays: Mapping[str, Any]) -> list[Any]:
    """Return dtype and shape of a field along its domain."""
    if "memory" in given:
        _check_memory(leaf, given, arrays)
        return [given["dtype"], given["shape"]]
    is_drawn = "statistics" in given
    known = [given["dtype"], given["shape"]] if is_drawn else arrays.get(given["field"])
    if known is None:
        raise ShapeError(f"the array of '{leaf}' is missing")
    dtype, kept = known
    if sorted(given["order"]) != list(range(len(kept))) or len(given["domain"]) != len(kept):
        raise ShapeError(f"'{leaf}' has an array that does not lie on its domain")
    return [dtype, [kept[given["order"].index(axis)] for axis in range(len(kept))]]


def _check_memory(leaf: str, given: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Refuse a view that leads out of the memory that it shares with others."""
    dtype, kept = arrays.get(given["memory"], ["", []])
    shape, strides = given["shape"], given["strides"]
    if not len(shape) == len(strides) == len(given["domain"]) or 0 in shape:
        raise ShapeError(f"'{leaf}' lacks the layout of its memory")
    steps = [(size - 1) * by for size, by in zip(shape, strides, strict=True)]
    first = given["offset"] + sum(step for step in steps if step < 0)
    last = given["offset"] + sum(step for step in steps if step > 0)
    if (
        first < 0
        or [dtype, len(kept)] != ["uint8", 1]
        or last + size_of(given["dtype"], []) > kept[0]
    ):
        raise ShapeError(f"'{leaf}' leads out of its memory")
