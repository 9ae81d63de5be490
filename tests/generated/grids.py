"""The two grids of generated programs: dimensions, neighbour tables, and how both are written."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

import attrs
import numpy as np

Box: TypeAlias = dict[str, tuple[int, int]]  # start and stop of each dimension by its name

CARTESIAN: Final = ("I", "J", "K", "Ih", "Jh", "Kh")
HALVES: Final = {"I": "Ih", "J": "Jh", "K": "Kh", "Ih": "I", "Jh": "J", "Kh": "K"}
HORIZONTAL: Final = ("Cell", "Edge", "Vertex")
VERTICAL: Final = "K"
INT32: Final = range(-(2**31), 2**31)
COUNTS: Final = {"Cell": 12, "Edge": 18, "Vertex": 9}

HEADER: Final = """\
from math import inf, nan
from typing import NamedTuple

import numpy as np
from fieldforge import *
from fieldforge.experimental import as_offset, concat_where
import fieldforge as ff
from fieldforge.runtime.fields.field import make

I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", ff.DimensionKind.VERTICAL)
Ih, Jh, Kh = ff.flip_staggered(I), ff.flip_staggered(J), ff.flip_staggered(K)
Koff = ff.FieldOffset("Koff", source=K, target=(K,))
"""

# Fields, domains and annotations write dimensions in this order, which is that of the language.
ORDER: Final = ("Cell", "Edge", "I", "Ih", "J", "Jh", "Vertex")


@attrs.frozen
class Table:
    """A neighbour table: entries over (target, local) that are indices of `source`."""

    name: str
    source: str
    target: str
    entries: tuple[tuple[int, ...], ...]

    @property
    def local(self) -> str:
        """The name of the local dimension in programs."""
        return f"{self.name}Dim"

    @property
    def width(self) -> int:
        """How many slots a row has."""
        return len(self.entries[0])

    @property
    def skips(self) -> bool:
        """Say whether neighbours may be missing."""
        return any(-1 in row for row in self.entries)

    def valid_columns(self) -> tuple[int, ...]:
        """Return the slots in which no row misses its neighbour."""
        return tuple(k for k in range(self.width) if all(row[k] >= 0 for row in self.entries))

    def missing(self) -> tuple[int, ...]:
        """Return the slots in which some row misses its neighbour."""
        return tuple(slot for slot in range(self.width) if self.missing_rows(slot))

    def missing_rows(self, slot: int) -> tuple[int, ...]:
        """Return the rows that miss their neighbour in a slot."""
        return tuple(index for index, row in enumerate(self.entries) if row[slot] < 0)

    def hull(self, start: int, stop: int, first: int, last: int) -> tuple[int, int]:
        """Return the range of the source that some slots of some rows touch, something for none.

        Embedded execution learns the other dimensions from the source, also where
        no row has a neighbour.
        """
        rows = self.entries[max(start, 0) : max(stop, 0)]
        found = [entry for row in rows for entry in row[first:last] if entry >= 0]
        return (min(found), max(found) + 1) if found else (0, 1)


def _table(name: str, source: str, target: str, width: int, missing: str) -> Table:
    """Draw entries near the diagonal, as in a mesh whose numbering is good but not perfect.

    `missing` says which are not there: 'none', the 'last' of some rows, 'all' of one row too, or
    'some' in any slot and all of the last one.
    """
    generator = np.random.default_rng([ord(letter) for letter in name])
    rows = []
    for index in range(COUNTS[target]):
        centre = index * COUNTS[source] // COUNTS[target]
        near = [(centre + step) % COUNTS[source] for step in range(-2, 3)]
        row = [int(entry) for entry in generator.permutation(near)[:width]]
        if missing == "some":
            gone = generator.random(width) < 0.3
            row = [-1 if no else entry for no, entry in zip(gone, row, strict=True)]
        if missing == "some" or (missing != "none" and index % 3 == 1):
            row[width - 1] = -1
        if missing == "all" and index == COUNTS[target] // 2:
            row = [-1] * width
        rows.append(tuple(row))
    return Table(name, source, target, tuple(rows))


TABLES: Final = (
    _table("C2E", "Edge", "Cell", 3, "none"),
    _table("E2C", "Cell", "Edge", 2, "last"),
    _table("E2V", "Vertex", "Edge", 2, "none"),
    _table("V2E", "Edge", "Vertex", 4, "all"),
    _table("C2E2C", "Cell", "Cell", 3, "last"),
    _table("V2C", "Cell", "Vertex", 4, "some"),
)


def header(unstructured: bool) -> str:
    """Return the text that every generated program begins with."""
    if not unstructured:
        return HEADER
    lines = [f'{name} = ff.Dimension("{name}")' for name in HORIZONTAL]
    for table in TABLES:
        # By convention the tag of the offset is the name of the local dimension.
        lines += [
            f'{table.local} = ff.Dimension("{table.name}", ff.DimensionKind.LOCAL)',
            f'{table.name} = ff.FieldOffset("{table.name}", source={table.source}, '
            f"target=({table.target}, {table.local}))",
        ]
    lines += ["tables = {", *(_written(table) for table in TABLES), "}"]
    return HEADER + "\n".join(lines) + "\n"


def _written(table: Table) -> str:
    rows = ", ".join(str(list(row)) for row in table.entries)
    return (
        f'    "{table.name}": ff.as_connectivity(\n'
        f"        [{table.target}, {table.local}], codomain={table.source}, data=[{rows}]\n    ),"
    )


def ordered(dims: Any) -> tuple[str, ...]:
    """Return names of dimensions in the canonical order: horizontal, local, vertical.

    >>> ordered({"K", "J", "C2EDim", "Cell"})
    ('Cell', 'J', 'C2EDim', 'K')
    """
    return tuple(sorted(dims, key=_place))


def _place(dim: str) -> tuple[int, str]:
    return (2 if dim in (VERTICAL, "Kh") else 0 if dim in ORDER else 1, dim)


def extent_of(dim: str) -> int | None:
    """Return the size of a dimension of the mesh or of a local one, None for Cartesian ones."""
    if dim in COUNTS:
        return COUNTS[dim]
    return next((table.width for table in TABLES if table.local == dim), None)


def within(box: Mapping[str, tuple[int, int]], dims: tuple[str, ...]) -> Box:
    """Return the ranges of some dimensions."""
    return {dim: box[dim] for dim in dims}
