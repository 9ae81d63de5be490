"""The properties of neighbour tables that a build depends on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from ...runtime.language import Dimension, is_table
from ...runtime.process import ArgumentError, MissingOffsetError, classes

Table: TypeAlias = tuple[str, int, bool]


@classes.frozen
class TableKind:
    """What a build needs to know of a neighbour table, without its entries."""

    max_neighbors: int
    skip_value: int | None = None


def kinds_of(tables: Iterable[Table]) -> dict[str, TableKind]:
    """Return the tables of a variant as an offset provider that serves builds, not calls."""
    return {name: TableKind(width, -1 if skip else None) for name, width, skip in tables}


def tables_of(
    provider: Mapping[str, Any] | None, names: Iterable[tuple[str, bool]]
) -> tuple[Table, ...]:
    """Return name, width and whether entries may be missing, for each table that is read.

    `names` has the tables, and whether each is required. Other entries of the provider and the
    number of rows make no difference.
    """
    found = []
    for name, needed in names:
        given = provider.get(name) if isinstance(provider, Mapping) else None
        if given is None and not needed and provider:
            from ...runtime.meshes.transposed_tables import table_in  # for derivatives

            given = table_in(provider, name)
        if given is None or isinstance(given, Dimension):
            if needed:
                raise MissingOffsetError.of(name, provider or ())
            continue
        found.append(_table(name, given))
    return tuple(found)


def _table(name: str, given: Any) -> Table:
    width = getattr(given, "max_neighbors", None)  # a build needs the type of a table only
    if width is None and is_table(given):
        width = given.shape[-1]
    if width is None:
        raise ArgumentError(
            f"Expected offset '{name}' in the offset provider to be a neighbour table, got an "
            f"object of type '{type(given).__name__}'.",
            hint=f"Make it with 'as_connectivity'; of a mesh pass 'mesh.connectivities({name})'.",
        )
    return name, int(width), given.skip_value is not None
