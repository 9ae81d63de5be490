"""The neighbour tables of an unstructured mesh: derived from those there are, and checked.

Tables are arrays of int32 by name, such as `C2E` for the edges of cells: a row for each cell, -1
where there is no neighbour. The letters C, E and V stand for cells, edges and vertices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any, Final, TypeAlias

import numpy as np

from ..process import InputDataError

KINDS: Final[Mapping[str, str]] = {"C": "cells", "E": "edges", "V": "vertices"}

Table: TypeAlias = np.ndarray[Any, np.dtype[np.int32]]
MISSING: Final = -1


def derive(tables: Mapping[str, Any], *wanted: str) -> dict[str, Table]:
    """Return the tables with `wanted` ones added, made of the others.

    `E2C` is the inverse of `C2E`; `C2E2C` are the cells beyond the edges of a cell, without the
    cell itself and in the order of `C2E`; `C2E2CO` has the cell itself first. Where only the
    corners of cells are known, `C2V`, the first table with edges numbers them.

    Args:
        tables: tables by name, which stay as they are.
        wanted: the names of tables to add; those that are there already are left.

    Raises:
        InputDataError: if a table cannot be made of those that are there.

    >>> two_triangles = {"C2E": [[0, 1, 2], [2, 3, 4]]}
    >>> derive(two_triangles, "C2E2C")["C2E2C"].tolist()
    [[-1, -1, 1], [0, -1, -1]]
    >>> derive(two_triangles, "E2C")["E2C"].tolist()
    [[0, -1], [0, -1], [0, 1], [1, -1], [1, -1]]

    """
    found = {name: as_table(name, table) for name, table in tables.items()}
    for name in wanted:
        if name not in found and "E" in name:
            _add_edges(found)
        if name not in found:
            found[name] = _derived(name, found)
    return found


def check(tables: Mapping[str, Any]) -> None:
    """Refuse tables that contradict each other.

    Entries must be rows of other tables, a table and its inverse must agree, and tables that
    follow from others must have their neighbours, in whatever order.

    Raises:
        InputDataError: naming the table, the row and what is wrong with it.

    >>> good = derive({"C2E": [[0, 1, 2], [2, 3, 4]]}, "E2C", "C2E2C")
    >>> check(good)
    >>> good["C2E2C"][0, 2] = -1
    >>> try:
    ...     check(good)
    ... except InputDataError as error:
    ...     print(error.message.partition(";")[0])
    Table 'C2E2C' holds [-1, -1, -1] in row 0, from the other tables follows [-1, -1, 1]

    """
    known = {name: as_table(name, table) for name, table in tables.items()}
    check_sizes(known)
    for name, table in known.items():
        others = {other: each for other, each in known.items() if other != name}
        try:
            expected = _derived(name, others, len(table))
        except InputDataError:
            continue  # it follows from no other table
        _check_same(name, table, expected)


def _add_edges(tables: dict[str, Table]) -> None:
    """Add edges to a mesh that has corners of cells only, or only the ends of its edges."""
    with_edges = {name for name in tables if "E" in name}
    if "C2V" not in tables:
        return
    if not with_edges:
        tables["C2E"], tables["E2V"] = _number_edges(tables["C2V"])
    elif with_edges == {"E2V"}:
        tables["C2E"] = _edges_between(tables["C2V"], tables["E2V"])


def _derived(name: str, tables: Mapping[str, Table], rows: int | None = None) -> Table:
    ends = name.removesuffix("O").split("2")
    if len(ends) == 2 and f"{ends[1]}2{ends[0]}" in tables:
        return _inverse(tables[f"{ends[1]}2{ends[0]}"], rows)
    if len(ends) == 3:
        first, then = (f"{ends[0]}2{ends[1]}", f"{ends[1]}2{ends[2]}")
        there = dict(tables)
        for part in (first, then):
            if part not in there:
                inverse = "2".join(reversed(part.split("2")))
                if inverse not in there:
                    break
                there[part] = _inverse(there[inverse])
        else:
            same = ends[0] == ends[2]
            return _composed(there[first], there[then], same, name.endswith("O"))
    raise InputDataError(
        f"Table '{name}' does not follow from {', '.join(sorted(tables)) or 'no tables'}."
    )


def _inverse(table: Table, rows: int | None = None) -> Table:
    """Return for each entry the rows that it is in, in ascending order."""
    row, _ = np.nonzero(table >= 0)
    entry = table[table >= 0]
    order = np.argsort(entry, kind="stable")
    row, entry = row[order], entry[order]
    count = max(int(entry.max(initial=-1)) + 1, rows or 0)
    begins = np.searchsorted(entry, np.arange(count))
    place = np.arange(len(entry)) - begins[entry]
    made = np.full((count, int(place.max(initial=-1)) + 1), MISSING, np.int32)
    made[entry, place] = row
    return made


def _composed(first: Table, then: Table, is_same: bool, with_own: bool) -> Table:
    """Return the neighbours of neighbours; each once, and without the row itself."""
    inner = np.where(first[..., None] >= 0, then[first], MISSING)
    own = np.arange(len(first), dtype=np.int32)
    if is_same:
        inner = np.where(inner == own[:, None, None], MISSING, inner)
        if then.shape[1] == 2:  # beyond an edge there is one cell at most: it keeps its column
            made = inner.max(axis=2)
            return np.column_stack([own, made]).astype(np.int32) if with_own else made
    made = _each_once(inner.reshape(len(first), -1))
    return np.column_stack([own, made]).astype(np.int32) if with_own else made


def _each_once(table: Table) -> Table:
    """Keep the first of equal entries in a row, and move what is missing to the end."""
    again = (table[:, :, None] == table[:, None, :]) & np.tri(table.shape[1], k=-1, dtype=bool)
    kept = np.where(again.any(axis=2), MISSING, table)
    order = np.argsort(kept < 0, axis=1, kind="stable")
    made = np.take_along_axis(kept, order, axis=1)
    return made[:, : int((made >= 0).sum(axis=1).max(initial=0))]


def _check_same(name: str, table: Table, expected: Table) -> None:
    width = max(table.shape[1], expected.shape[1])
    here, there = (np.sort(_padded(each, width), axis=1) for each in (table, expected))
    if len(here) != len(there):
        raise InputDataError(
            f"Table '{name}' has {len(here)} rows, from the other tables follow {len(there)}."
        )
    bad = np.flatnonzero((here != there).any(axis=1))
    if len(bad):
        row = int(bad[0])
        raise InputDataError(
            f"Table '{name}' holds {table[row].tolist()} in row {row}, from the other tables "
            f"follows {expected[row].tolist()}; {len(bad)} rows differ."
        )


def _padded(table: Table, width: int) -> Table:
    more = np.full((len(table), width - table.shape[1]), MISSING, np.int32)
    return np.concatenate([table, more], axis=1)


def kinds_of(name: str) -> tuple[str, str]:
    """Return the kinds of a table's rows and entries; a final 'O' adds the row itself.

    >>> kinds_of("E2C2V"), kinds_of("C2E2CO")
    (('E', 'V'), ('C', 'C'))
    """
    row, *_, entry = name.split("2")
    return row, entry if entry in KINDS else entry.removesuffix("O")


def check_sizes(tables: Mapping[str, Table], sizes: Mapping[str, int] | None = None) -> None:
    """Refuse tables of one kind with different numbers of rows, and entries beyond the last one.

    `sizes` are the numbers of cells, edges and vertices that are known otherwise, by letter.
    """
    known = sizes_of(tables, sizes)
    for name, table in tables.items():
        row, entry = kinds_of(name)
        if len(table) != known.get(row, len(table)):
            raise InputDataError(
                f"Table '{name}' has {len(table)} rows, but there are {known[row]} {KINDS[row]}."
            )
        as_table(name, table, size=known.get(entry))


def sizes_of(tables: Mapping[str, Sized], sizes: Mapping[str, int] | None = None) -> dict[str, int]:
    """Return how many cells, edges and vertices there are: given, or the rows of their tables."""
    found = dict(sizes or {})
    for name, table in tables.items():
        found.setdefault(kinds_of(name)[0], len(table))
    return {kind: found[kind] for kind in KINDS if kind in found}


def as_table(name: str, given: Any, start: int = 0, size: int | None = None) -> Table:
    """Return a table as int32 that counts from 0, with -1 for missing neighbours.

    Missing are -1, masked entries and NaN; floats are taken where all are whole numbers, as files
    have them.

    Args:
        name: the name of the table, for errors.
        given: numbers in rows and columns.
        start: what `given` counts from.
        size: how many rows the entries can name; by default as many as int32 can count.

    Raises:
        InputDataError: naming the table, the row and the entry that is no index.

    >>> as_table("C2E", [[1, 2], [-1, 3]], start=1, size=3).tolist()
    [[0, 1], [-1, 2]]
    """
    values = np.ma.getdata(given)
    if values.ndim != 2 or values.dtype.kind not in "iuf":
        raise InputDataError(
            f"Table '{name}' must hold integers in rows and columns, got {values.ndim} axes of "
            f"'{values.dtype}'."
        )
    there = ~np.ma.getmaskarray(given) & (values != MISSING)
    if values.dtype.kind == "f":
        there &= ~np.isnan(values)
    stop = start + (np.iinfo(np.int32).max if size is None else size)
    bad = there & ~((values >= start) & (values < stop) & (values % 1 == 0))
    if bad.any():
        row, slot = (int(at) for at in np.argwhere(bad)[0])
        raise InputDataError(
            f"Table '{name}' holds {values[row, slot]} in row {row}, but indices go from {start} "
            f"to {stop - 1}, and -1 stands for none."
        )
    table = np.full(values.shape, MISSING, np.int32)
    table[there] = values[there].astype(np.int64) - start
    return table


def _number_edges(corners: Table) -> tuple[Table, Table]:
    """Return the edges of cells and the ends of edges, `C2E` and `E2V`, of the corners `C2V`.

    Edge k of a cell joins corner k and the next one. Edges are numbered by their smaller and then
    their larger end. Cells with fewer corners than others have -1 in the last columns.

    >>> c2e, e2v = _number_edges(np.array([[0, 1, 2], [1, 3, 2]], np.int32))
    >>> c2e.tolist(), e2v.tolist()
    ([[0, 2, 1], [3, 4, 2]], [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]])
    """
    sides = _sides(corners)
    there = sides[..., 0] >= 0
    ends, number = np.unique(np.sort(sides[there], axis=-1), axis=0, return_inverse=True)
    edges = np.full(corners.shape, MISSING, np.int32)
    edges[there] = number.reshape(-1)
    return edges, ends.astype(np.int32)


def _edges_between(corners: Table, ends: Table) -> Table:
    """Return the edges of cells, `C2E`, of their corners `C2V` and the ends of edges `E2V`."""
    sides = _sides(corners)
    there = sides[..., 0] >= 0
    width = int(max(corners.max(initial=0), ends.max(initial=0))) + 1
    keys = np.sort(ends.astype(np.int64), axis=1) @ np.array([width, 1])
    wanted = np.sort(sides[there], axis=1) @ np.array([width, 1])
    order = np.argsort(keys)
    place = np.searchsorted(keys[order], wanted).clip(max=max(len(keys) - 1, 0))
    if not len(keys) or (keys[order][place] != wanted).any():
        raise InputDataError("Table 'E2V' lacks an edge between two corners in 'C2V'.")
    edges = np.full(corners.shape, MISSING, np.int32)
    edges[there] = order[place]
    return edges


def _sides(corners: Table) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the two corners of each side of each cell, -1 where a cell has fewer sides."""
    there = corners >= 0
    count = there.sum(axis=1)
    if (there[:, 1:] & ~there[:, :-1]).any():
        raise InputDataError("Table 'C2V' has a corner after a missing one; -1 stands last.")
    column = np.arange(corners.shape[1])
    following = np.where(column[None, :] + 1 < count[:, None], column[None, :] + 1, 0)
    after = np.take_along_axis(corners, following, axis=1)
    sides = np.stack([corners, after], axis=-1).astype(np.int64)
    return np.where(there[..., None], sides, MISSING)
