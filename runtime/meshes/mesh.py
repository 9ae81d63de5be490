"""A mesh: tables of neighbours and coordinates, as neighbour tables for calls and as a dataset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any, Final, TypeAlias

import numpy as np

from ..fields import Connectivity, as_connectivity
from ..fields.named_axes import to_named, xarray_module
from ..language import Dimension, FieldOffset
from ..process import DomainError, InputDataError, classes
from .numbering import Indices, renumbered, reverse_cuthill_mckee
from .tables import KINDS, Table, as_table, check_sizes, derive, kinds_of, sizes_of

Array: TypeAlias = np.ndarray[Any, Any]
UGRID: Final[Mapping[str, str]] = {
    "C2V": "face_node_connectivity",
    "C2E": "face_edge_connectivity",
    "C2E2C": "face_face_connectivity",
    "E2V": "edge_node_connectivity",
    "E2C": "edge_face_connectivity",
}
LOCATION: Final[Mapping[str, str]] = {"C": "face", "E": "edge", "V": "node"}
TOPOLOGY: Final = "mesh"


def _as_tables(given: Mapping[str, Any]) -> dict[str, Table]:
    return {name: as_table(name, table) for name, table in given.items()}


def _as_points(given: Mapping[str, Any]) -> dict[str, tuple[Array, Array]]:
    return {
        letter: (_coordinate(letter, x), _coordinate(letter, y)) for letter, (x, y) in given.items()
    }


def _coordinate(letter: str, given: Any) -> Array:
    values = np.asarray(given)
    if values.ndim != 1 or values.dtype.kind not in "iuf":
        raise InputDataError(
            f"Coordinates of '{letter}' must be numbers along one axis, got {values.ndim} axes of "
            f"'{values.dtype}'."
        )
    gone = np.flatnonzero(np.ma.getmaskarray(given))
    if len(gone):
        raise InputDataError(f"A coordinate of '{letter}' is missing in row {gone[0]}.")
    return values


@classes.frozen(eq=False, repr=False)
class Mesh:
    """An unstructured mesh of cells (C), edges (E) and vertices (V).

    `read_mesh` makes it of a file; corners of cells are enough to make one by hand.

    Attributes:
        tables: neighbours by name, int32 (rows, neighbours), counted from 0; -1 stands for none.
        points: for 'C', 'E' and 'V' their coordinates, two arrays each, as they are given:
            longitude and latitude, or x and y. Those of cells and edges may be missing.

    Raises:
        InputDataError: if a table holds what is no index of the mesh, naming table, row and entry,
            or if tables and coordinates have different numbers of rows.

    >>> corners = np.array([[0, 1, 2], [1, 3, 2]])
    >>> square = Mesh({"C2V": corners}, {"V": ([0.0, 1.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0])})
    >>> square = square.with_tables("C2E", "E2C")
    >>> square.tables["E2C"].tolist(), square.sizes["E"]
    ([[0, -1], [0, -1], [0, 1], [1, -1], [1, -1]], 5)

    """

    tables: Mapping[str, Table] = classes.field(converter=_as_tables)
    points: Mapping[str, tuple[Array, Array]] = classes.field(factory=dict, converter=_as_points)

    def __attrs_post_init__(self) -> None:
        check_sizes(self.tables, self._known_sizes())

    def __repr__(self) -> str:
        known = [
            f"{self.sizes[letter]} {KINDS[letter]}" for letter in KINDS if letter in self.sizes
        ]
        tables = f"tables {', '.join(self.tables) or 'none'}"
        points = f"coordinates of {', '.join(self.points) or 'none'}"
        return f"Mesh({', '.join(known) or 'empty'}; {tables}; {points})"

    def _repr_html_(self) -> str:
        """Return what notebooks show: a row for each table."""
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{len(table)}</td><td>{table.shape[1]}</td>"
            f"<td>{int((table < 0).sum())}</td></tr>"
            for name, table in self.tables.items()
        )
        head = "".join(f"<th>{each}</th>" for each in ("table", "rows", "slots", "missing"))
        return f"<p><code>{escape(repr(self))}</code></p><table><tr>{head}</tr>{rows}</table>"

    @property
    def sizes(self) -> Mapping[str, int]:
        """How many cells, edges and vertices there are, by letter; of those that are known."""
        found = sizes_of(self.tables, self._known_sizes())
        known = set(found)
        for name, table in self.tables.items():
            _, entry = kinds_of(name)
            if entry in KINDS and entry not in known:
                found[entry] = max(found.get(entry, 0), int(np.max(table, initial=-1)) + 1)
        return {letter: found[letter] for letter in KINDS if letter in found}

    def _known_sizes(self) -> dict[str, int]:
        for letter, (x, y) in self.points.items():
            if len(x) != len(y):
                raise InputDataError(
                    f"The two coordinates of '{letter}' have {len(x)} and {len(y)} rows."
                )
        return {letter: len(x) for letter, (x, _) in self.points.items()}

    def with_tables(self, *wanted: str) -> Mesh:
        """Return the mesh with more tables, made of those that it has.

        | table | follows from | has |
        | --- | --- | --- |
        | `E2V`, `C2E` | `C2V` | edges by their ends; edge k of a cell begins at vertex k |
        | `E2C`, `V2C`, `V2E`, ... | the inverse: `C2E`, `C2V`, `E2V` | rows in ascending order |
        | `C2E2C`, `V2E2V`, ... | `C2E` and `E2C`, ... | neighbours of neighbours, without itself |
        | `C2E2CO`, ... | the same | the row itself first |

        Args:
            wanted: names of tables; those that the mesh has stay as they are.

        Raises:
            InputDataError: if a table does not follow from those that are there.

        >>> square = Mesh({"C2V": [[0, 1, 2], [1, 3, 2]]}).with_tables("C2E2C", "V2C")
        >>> sorted(square.tables), square.tables["V2C"].tolist()
        (['C2E', 'C2E2C', 'C2V', 'E2V', 'V2C'], [[0, -1], [0, 1], [0, 1], [1, -1]])
        """
        return classes.evolve(self, tables=derive(self.tables, *wanted))

    def compact_order(self) -> dict[str, Indices]:
        """Return an order in which neighbours lie close in memory: reverse Cuthill-McKee.

        `fieldforge doctor --mesh FILE` says what it would gain.

        Returns:
            For 'C', 'E' and 'V' the old index of each new one, so `values[order["V"]]` are values
            on vertices in the new order.

        Raises:
            MissingPackageError: if scipy is not installed.

        >>> strip = Mesh({"E2V": [[0, 3], [3, 1], [1, 2]]})
        >>> {kind: order.tolist() for kind, order in strip.compact_order().items()}
        {'E': [2, 1, 0], 'V': [2, 1, 3, 0]}
        """
        kinds = {name: kinds_of(name) for name in self.tables}
        known = {name: table for name, table in self.tables.items() if {*kinds[name]} <= {*KINDS}}
        places = reverse_cuthill_mckee(known, kinds, self.sizes)
        return {kind: np.argsort(place) for kind, place in places.items()}

    def reordered(self, order: Mapping[str, Any] | None = None) -> Mesh:
        """Return the mesh with its cells, edges and vertices in another order.

        Args:
            order: for each kind the old index of each new one; by default `compact_order()`. Kinds
                that it lacks stay as they are. Fields have to be reordered alike.

        Raises:
            InputDataError: if an order does not have each index once.
            MissingPackageError: if no order is given and scipy is not installed.

        >>> strip = Mesh({"E2V": [[0, 3], [3, 1], [1, 2]]}, {"V": ([0, 2, 3, 1], [0, 0, 0, 0])})
        >>> near = strip.reordered()
        >>> near.tables["E2V"].tolist(), near.points["V"][0].tolist()
        ([[1, 0], [2, 1], [3, 2]], [3, 2, 1, 0])
        """
        order = self.compact_order() if order is None else order
        tables = renumbered(self.tables, order, self.sizes)
        points = {
            kind: (x[order[kind]], y[order[kind]]) if kind in order else (x, y)
            for kind, (x, y) in self.points.items()
        }
        return Mesh(tables, points)

    def connectivities(self, *offsets: FieldOffset) -> dict[str, Connectivity]:
        """Return the tables of `offsets` as an offset provider for calls.

        Tables that the mesh lacks are derived, see `with_tables`.

        >>> Cell, Edge = Dimension("Cell"), Dimension("Edge")
        >>> E2CDim = Dimension("E2C", "local")
        >>> E2C = FieldOffset("E2C", source=Cell, target=(Edge, E2CDim))
        >>> mesh = Mesh({"C2V": np.array([[0, 1, 2], [1, 3, 2]])})
        >>> mesh.connectivities(E2C)
        {'E2C': Connectivity(Edge=(0:5), E2C=(0:2) -> Cell; int32)}
        """
        tables = self.with_tables(*(offset.value for offset in offsets)).tables
        return {
            offset.value: as_connectivity(offset.target, offset.source, tables[offset.value])
            for offset in offsets
        }

    def triangles(self) -> tuple[Array, Array, Table]:
        """Return coordinates and corners, as `field.plot(mesh=...)` takes them.

        Raises:
            InputDataError: if the mesh has no coordinates of its vertices, or no table `C2V`.

        >>> corner = Mesh({"C2V": [[0, 1, 2]]}, {"V": ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])})
        >>> corner.triangles()[2].tolist()
        [[0, 1, 2]]
        """
        for part, there in (("points of 'V'", "V" in self.points), ("C2V", "C2V" in self.tables)):
            if not there:
                raise InputDataError(f"The mesh cannot be drawn: it lacks {part}.")
        x, y = self.points["V"]
        return x, y, self.tables["C2V"][:, :3]

    def to_xarray(
        self,
        dims: Mapping[str, Dimension] | None = None,
        fields: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return an `xarray.Dataset` that follows UGRID: topology, tables, coordinates, fields.

        `dataset.to_netcdf(path)` writes a file that `read_mesh` and other tools read.

        Args:
            dims: the dimensions of 'C', 'E' and 'V' in `fields`; by default those of these names.
            fields: fields on points of the mesh, or data arrays of them, by name.

        Raises:
            DomainError: if a field has no dimension of the mesh, or another size.
            MissingPackageError: if xarray is not installed.

        >>> Vertex = Dimension("Vertex")
        >>> from ..fields.constructors import full
        >>> mesh = Mesh({"C2V": np.array([[0, 1, 2]])}, {"V": ([0.0, 1.0, 0.0], [0.0, 0.0, 1.0])})
        >>> data = mesh.to_xarray({"V": Vertex}, {"t": full({Vertex: 3}, 280.0)})
        >>> data["t"].attrs["location"], data["mesh"].attrs["face_node_connectivity"]
        ('node', 'C2V')
        """
        xarray = xarray_module()
        axes = {letter: (dims or {}).get(letter, Dimension(letter)).value for letter in KINDS}
        variables = dict(self._tables(axes))
        variables[TOPOLOGY] = ((), np.int32(0), self._topology(axes))
        for name, field in (fields or {}).items():
            variables[name] = self._field(name, field, axes)
        return xarray.Dataset(
            variables, dict(self._coordinates(axes)), {"Conventions": "UGRID-1.0"}
        )

    def _tables(self, axes: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
        for name, table in self.tables.items():
            about: dict[str, Any] = {"start_index": np.int32(0), "_FillValue": np.int32(-1)}
            if name in UGRID:
                about["cf_role"] = UGRID[name]
            yield name, ((axes[name[0]], f"{name}_neighbours"), np.asarray(table, np.int32), about)

    def _coordinates(self, axes: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
        for letter, pair in self.points.items():
            for which, values in zip("xy", pair, strict=True):
                yield f"{axes[letter]}_{which}", ((axes[letter],), np.asarray(values))

    def _topology(self, axes: Mapping[str, str]) -> dict[str, Any]:
        about: dict[str, Any] = {"cf_role": "mesh_topology", "topology_dimension": np.int32(2)}
        about |= {role: name for name, role in UGRID.items() if name in self.tables}
        for letter, location in LOCATION.items():
            if letter in self.sizes:
                about[f"{location}_dimension"] = axes[letter]
            if letter in self.points:
                about[f"{location}_coordinates"] = f"{axes[letter]}_x {axes[letter]}_y"
        return about

    def _field(self, name: str, field: Any, axes: Mapping[str, str]) -> Any:
        array = field if hasattr(field, "coords") else to_named(field, name, {}, None, {})
        letter = next((each for each in KINDS if axes[each] in array.dims), None)
        if letter is None:
            raise DomainError(
                f"Field '{name}' lies on {', '.join(map(repr, array.dims)) or 'no dimension'}, but "
                f"the mesh has {', '.join(map(repr, axes.values()))}.",
                hint="Name the dimensions of the mesh: 'to_xarray({\"V\": Vertex}, ...)'.",
            )
        size, known = array.sizes[axes[letter]], self.sizes.get(letter)
        if known is not None and size != known:
            raise DomainError(f"Field '{name}' has {size} {KINDS[letter]}, the mesh has {known}.")
        return array.assign_attrs(mesh=TOPOLOGY, location=LOCATION[letter])
