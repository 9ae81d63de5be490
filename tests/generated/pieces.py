"""What generated programs are made of: types, expressions, variables, and choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

import attrs

from .demand import Meaning
from .grids import Box

T = TypeVar("T")

SIGNED: Final = ("int32", "int64", "int8", "int16")
UNSIGNED: Final = ("uint8", "uint32", "uint64", "uint16")
INTEGERS: Final = (*SIGNED, *UNSIGNED)
FLOATS: Final = ("float64", "float32")
DTYPES: Final = ("float64", "int32", "float32", "int64", "bool", *SIGNED[2:], *UNSIGNED)


@attrs.frozen
class Kind:
    """The type of a field, or of a scalar where there are no dimensions."""

    dims: tuple[str, ...]
    dtype: str
    is_point: bool = False  # a field without dimensions

    def __str__(self) -> str:
        if self.is_point:
            return f"Field[[], {self.dtype}]"
        return f"Field[Dims[{', '.join(self.dims)}], {self.dtype}]" if self.dims else self.dtype


Type: TypeAlias = Any  # a `Kind`, or a tuple of types


def annotation(type_: Type) -> str:
    """Return a type as Python spells it."""
    if isinstance(type_, Kind):
        return str(type_)
    return f"tuple[{', '.join(map(annotation, type_))}]"


def leaves(type_: Type, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Kind]]:
    """Return the kinds inside a type with the way to each."""
    if isinstance(type_, Kind):
        return [(path, type_)]
    return [leaf for i, part in enumerate(type_) for leaf in leaves(part, (*path, i))]


def at(value: Any, path: Sequence[int]) -> Any:
    """Follow a path into nested tuples."""
    for index in path:
        value = value[index]
    return value


@attrs.frozen
class Flags:
    """What a value must not be used for.

    `ulps`: where this is not 0 executions agree only so far, and nothing may be computed from the
    value. `column`: it comes from a scan, which covers the levels of the
    statement and no others, so it may not be shifted along the vertical.
    """

    ulps: int = 0
    column: bool = False

    @property
    def exact(self) -> bool:
        """Say whether all executions agree on its bits."""
        return self.ulps == 0

    def __or__(self, other: Flags) -> Flags:
        return Flags(max(self.ulps, other.ulps), self.column or other.column)


PLAIN: Final = Flags()


@attrs.frozen
class Env:
    """What names mean while demands are worked out; `target` is what a statement writes."""

    names: Mapping[str, Meaning]
    target: Box


@attrs.frozen
class Expr:
    """A piece of program text with its type, and a function that tells what it reads."""

    text: str
    kind: Kind
    mean: Callable[[Env], Meaning] = attrs.field(eq=False)
    flags: Flags = PLAIN

    @property
    def dims(self) -> tuple[str, ...]:
        """The dimensions; none for a scalar."""
        return self.kind.dims

    @property
    def dtype(self) -> str:
        """The type of an element."""
        return self.kind.dtype


@attrs.frozen
class Variable:
    """A name that can be read; `flags` has one entry for each leaf of the type.

    `region` says that it is an int32 scalar whose value is known when demands are worked out.
    """

    name: str
    type: Type
    flags: tuple[Flags, ...]
    region: bool = False

    def expressions(self) -> list[Expr]:
        """Return the leaves as expressions."""
        return [
            Expr(self.name + "".join(f"[{i}]" for i in path), kind, _reader(self.name, path), flag)
            for (path, kind), flag in zip(leaves(self.type), self.flags, strict=True)
        ]


def _reader(name: str, path: tuple[int, ...]) -> Callable[[Env], Meaning]:
    return lambda env: at(env.names[name], path)


class Draw:
    """Choices, each of which shrinks towards the first that is offered.

    `below(n)` gives a number from 0 to n - 1, drawn by hypothesis or from a random generator.
    """

    def __init__(self, below: Callable[[int], int]) -> None:
        self._below = below

    def below(self, count: int) -> int:
        """Return a number from 0 to `count - 1`."""
        return self._below(count) if count > 1 else 0

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options, the simplest of which stands first."""
        return options[self.below(len(options))]

    def chance(self, percent: int) -> bool:
        """Return True so often; simpler is False."""
        return self.below(100) >= 100 - percent

    def weighted(self, options: Sequence[tuple[int, T]]) -> T:
        """Return one of the options, each as often as its weight says."""
        place = self.below(sum(weight for weight, _ in options))
        for weight, option in options:
            if place < weight:
                return option
            place -= weight
        raise AssertionError("weights are positive")
