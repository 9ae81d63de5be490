"""Fields and temporaries with data axes: each element is a variable of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

from ....runtime.process import classes
from ...ir.stencil import Variable

Place: TypeAlias = tuple[int, ...]  # an index for each data axis


@classes.frozen
class Elements:
    """A field with data axes of these `sizes`, as one variable for each element.

    `whole` is what all of them are, `variables` are their numbers, the last axis fastest.
    """

    whole: Variable
    sizes: tuple[int, ...]
    variables: tuple[int, ...]

    @property
    def places(self) -> Iterator[Place]:
        """The index of each element, in order."""
        return product(*map(range, self.sizes))

    def at(self, place: Sequence[int]) -> int:
        """Return the variable of an element."""
        number = 0
        for size, index in zip(self.sizes, place, strict=True):
            number = number * size + index
        return self.variables[number]


@classes.frozen
class Part:
    """The element of a vector or matrix of these `sizes` that an expression is read for."""

    sizes: tuple[int, ...]
    place: Place
