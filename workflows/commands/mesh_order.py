"""Measure the memory locality of a mesh numbering, and of a reverse Cuthill-McKee order."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias
from zipfile import BadZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from ...runtime.meshes import isolated
from ...runtime.meshes.numbering import Indices, has_scipy, reverse_cuthill_mckee
from ...runtime.process import InputDataError, OptionError, classes

Tables: TypeAlias = Mapping[str, NDArray[Any]]  # by name, (rows, neighbours); negative: none

EXAMPLE = (
    f"{__name__.partition('.')[0]}.examples.icosahedral"  # no import statement may name examples
)
WORTH_IT = 2.0  # ratio of distances: below it, gains depend on the program


@classes.frozen(kw_only=True)
class Nearness:
    """Mean distance of a table's entries from their row, in elements of the entries' kind."""

    table: str
    rows: int
    width: int
    now: float
    reordered: float | None


def read_mesh(where: str) -> dict[str, NDArray[Any]]:
    """Return the tables of a .npz or NetCDF file, or of the icosahedral mesh R<n>B<k>."""
    if level := re.fullmatch(r"R(\d+)B(\d+)", where):
        root, bisections = (int(digits) for digits in level.groups())
        if importlib.util.find_spec(EXAMPLE) is None:
            raise OptionError("This installation lacks the examples, which generate meshes.")
        made = importlib.import_module(EXAMPLE).icosahedral(root, bisections)
        return dict(made.tables)
    if not Path(where).is_file():
        raise InputDataError(
            f"There is no file '{where}', and it is not a level such as 'R2B4'.",
        )
    if not is_zipfile(where):
        return dict(isolated.read_mesh(where).tables)
    try:
        with np.load(where) as file:
            return {name: file[name] for name in file.files}
    except (ValueError, BadZipFile, AttributeError, TypeError) as error:
        raise InputDataError(f"'{where}' is not a .npz file of integer arrays: {error}.") from error


def nearness(tables: Tables) -> list[Nearness]:
    """Measure all tables as they are and, if scipy is installed, in reverse Cuthill-McKee order.

    The rows of a table may be of another kind than its entries, and differ in number; the position
    of a row is then scaled to the number of entries.

    >>> ring = np.stack([np.arange(-1, 9) % 10, np.arange(1, 11) % 10], axis=1)
    >>> nearness({"V2V": ring})[0].now
    1.8
    """
    kinds = {name: _kinds(name, tables) for name in tables}
    counts = _counts(tables, kinds)
    places = reverse_cuthill_mckee(tables, kinds, counts) if has_scipy() else None
    return [
        Nearness(
            table=name,
            rows=table.shape[0],
            width=table.shape[1],
            now=_distance(table, np.arange(len(table)), None, counts[kinds[name][1]]),
            reordered=None
            if places is None
            else _distance(
                table, places[kinds[name][0]], places[kinds[name][1]], counts[kinds[name][1]]
            ),
        )
        for name, table in tables.items()
    ]


def advice(found: list[Nearness]) -> str:
    """Recommend in a sentence or two whether to renumber the mesh.

    >>> far = Nearness(table="E2V", rows=9, width=2, now=600.0, reordered=100.0)
    >>> print(advice([far]).partition(". ")[2])
    Reverse Cuthill-McKee order, 'Mesh.reordered', would bring them 6.0 times nearer.
    """
    words = "Distances are in elements. "
    if any(each.reordered is None for each in found):
        return words + "Install 'scipy' to measure a reverse Cuthill-McKee order."
    now, then = (sum(getattr(each, name) for each in found) for name in ("now", "reordered"))
    if then * WORTH_IT > now:
        return words + "A reverse Cuthill-McKee order would gain little: the order is good."
    return words + (
        "Reverse Cuthill-McKee order, 'Mesh.reordered', would bring them "
        f"{now / max(then, 1e-9):.1f} times nearer."
    )


def _distance(table: NDArray[Any], at: Indices, places: Indices | None, count: int) -> float:
    there = table >= 0
    entries = table if places is None else places[np.where(there, table, 0)]
    own = at * (count / max(len(table), 1))
    apart = np.abs(entries - own[:, None])[there]
    return float(apart.mean()) if apart.size else 0.0


def _kinds(name: str, tables: Tables) -> tuple[str, str]:
    """Parse a name: 'E2C2V' has rows of E and entries in V; a final 'O' adds the row itself."""
    parts = name.split("2")
    if len(parts) == 1 or not all(parts):
        raise InputDataError(
            f"Table '{name}' has a name that does not tell its kinds, expected one such as 'C2E'."
        )
    row, entry = parts[0], parts[-1]
    known = {other.partition("2")[0] for other in tables}
    return row, entry[:-1] if entry not in known and entry[:-1] in known else entry


def _counts(tables: Tables, kinds: Mapping[str, tuple[str, str]]) -> dict[str, int]:
    """Count the elements of each kind: the number of rows, else the largest entry plus 1."""
    counts: dict[str, int] = {}
    for name, table in tables.items():
        if table.ndim != 2 or table.dtype.kind not in "iu":
            raise InputDataError(
                f"Expected integers in rows and columns in table '{name}', got {table.dtype} of "
                f"shape {table.shape}."
            )
        rows = counts.setdefault(kinds[name][0], len(table))
        if rows != len(table):
            raise InputDataError(
                f"Table '{name}' has {len(table)} rows, another of '{kinds[name][0]}' has {rows}."
            )
    for name, table in tables.items():
        largest = int(table.max()) if table.size else -1
        entry = kinds[name][1]
        if entry not in counts:
            counts[entry] = max(
                int(tables[other].max(initial=-1)) + 1
                for other in tables
                if kinds[other][1] == entry
            )
        elif largest >= counts[entry]:
            raise InputDataError(
                f"Table '{name}' names element {largest} of '{entry}', which has {counts[entry]}."
            )
    return counts
