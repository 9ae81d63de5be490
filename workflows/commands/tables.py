"""The neighbour tables of programs on the command line: from files and functions, or as sizes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import click
import numpy as np

from ...runtime.meshes import isolated
from ..entries.entry_point import EntryPoint
from ..variants.tables import Table, TableKind, tables_of
from .arguments import find_beside
from .mesh_order import read_mesh

tables_option = click.option(
    "--tables",
    metavar="FILE|NAME=NEIGHBOURS,...",
    help="Neighbour tables that the program reads: a mesh file (NetCDF or .npz), a level as R2B4, "
    "':name' of a dictionary, or of a function that returns one, or numbers of neighbours, as in "
    "'C2E=3, V2E=6?', where '?' says that some may be missing. Not needed after a call or "
    "'compile' in the module.",
)
_SIZES: Final = re.compile(r"\s*(\w+)\s*=\s*(\d+)(\?)?\s*")


def with_tables(entry: EntryPoint, words: str | None, address: str) -> EntryPoint:
    """Return the program with the tables that `words` tell, or with those that it has seen.

    Raises:
        click.UsageError: the program reads tables that are not known.

    """
    known = entry._tables(None) or {}
    names = [name for name, is_needed in entry._variants.shape.summary.tables if is_needed]
    told = {**known, **(read_tables(words, names, address) if words else {})}
    missing = [name for name in names if name not in told]
    if missing:
        shown = ",".join(f"{name}=2" for name in missing)
        raise click.UsageError(
            f"'{entry.__name__}' reads the neighbour tables {', '.join(map(repr, missing))}: give "
            f"a mesh with '--tables FILE', or numbers of neighbours, as in '--tables {shown}'."
        )
    return entry.with_compilation_options(connectivities=told) if names else entry


def known_tables(entry: EntryPoint, words: str | None, address: str) -> tuple[Table, ...]:
    """Return what builds need to know of the tables that a program reads, see `with_tables`."""
    found = with_tables(entry, words, address)
    return tables_of(found._tables(None), found._variants.shape.summary.tables)


def read_tables(words: str, names: list[str], address: str) -> Mapping[str, Any]:
    """Return tables, or what builds need to know of them, by name.

    >>> read_tables("C2E=3, V2E=6?", ["C2E", "V2E"], "model.py:step")["V2E"]
    TableKind(max_neighbors=6, skip_value=-1)
    """
    if "=" in words:
        return dict(_sizes(words))
    if ":" in words:
        where, found = find_beside(words, address)
        made = found() if callable(found) else found
        if not isinstance(made, Mapping):
            kind = type(made).__name__
            raise click.BadParameter(f"'{where}' gives a '{kind}', no dictionary of tables.")
        return made
    if Path(words).suffix in (".nc", ".nc4"):
        tables: Mapping[str, Any] = isolated.read_mesh(words).with_tables(*names).tables
    else:
        tables = read_mesh(words)
    return {name: _kind(table) for name, table in tables.items()}


def _sizes(words: str) -> Iterator[tuple[str, TableKind]]:
    for each in words.split(","):
        found = _SIZES.fullmatch(each)
        if found is None:
            raise click.BadParameter(f"'{each.strip()}' is not NAME=NEIGHBOURS, such as 'C2E=3'.")
        name, count, may_miss = found.groups()
        yield name, TableKind(int(count), -1 if may_miss else None)


def _kind(table: Any) -> TableKind:
    array = np.asarray(table)
    return TableKind(int(array.shape[-1]), -1 if bool((array < 0).any()) else None)
