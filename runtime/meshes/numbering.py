"""Renumber a mesh in reverse Cuthill-McKee order, so that neighbours lie close in memory."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from ..process import InputDataError, MissingPackageError
from .tables import Table, kinds_of

Indices: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]


def has_scipy() -> bool:
    """Tell whether scipy, which computes the order, is installed."""
    return importlib.util.find_spec("scipy") is not None


def reverse_cuthill_mckee(
    tables: Mapping[str, Any], kinds: Mapping[str, tuple[str, str]], counts: Mapping[str, int]
) -> dict[str, Indices]:
    """Return the new position of each element, by kind, from one order over all tables.

    Args:
        tables: integers in rows and columns by name; negative ones are missing.
        kinds: the kinds of rows and entries of each table.
        counts: how many elements there are of each kind.

    Raises:
        MissingPackageError: if scipy is not installed.

    """
    if not has_scipy():
        raise MissingPackageError(
            "Package 'scipy' is not installed.", hint="pip install 'fieldforge[mesh]'"
        )
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee as order_of

    first, total = {}, 0
    for kind, count in sorted(counts.items()):  # in whatever order they are given
        first[kind] = total
        total += count
    rows, entries = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for name, table in tables.items():
        row, column = np.nonzero(table >= 0)
        rows.append(row + first[kinds[name][0]])
        entries.append(table[row, column].astype(np.int64) + first[kinds[name][1]])
    row, entry = np.concatenate(rows), np.concatenate(entries)
    links = coo_array((np.ones(2 * len(row), np.int8), (np.r_[row, entry], np.r_[entry, row])))
    links.resize((total, total))
    order = np.asarray(order_of(links.tocsr(), symmetric_mode=True), np.int64)
    return {kind: _places(order, first[kind], count) for kind, count in counts.items()}


def renumbered(
    tables: Mapping[str, Table], order: Mapping[str, Any], sizes: Mapping[str, int]
) -> dict[str, Table]:
    """Return tables in another order: row i is the old row `order[kind][i]`.

    Slots keep their places, and kinds that are not in `order` their numbers.

    Raises:
        InputDataError: if an order does not have each index once.

    >>> new = renumbered({"E2V": np.array([[0, 1], [1, -1]], np.int32)}, {"V": [1, 0]}, {"V": 2})
    >>> new["E2V"].tolist()
    [[1, 0], [0, -1]]
    """
    places = {kind: _inverse(kind, old, sizes.get(kind, 0)) for kind, old in order.items()}
    made = {}
    for name, table in tables.items():
        row, entry = kinds_of(name)
        table = table[order[row]] if row in order else table  # noqa: PLW2901 - rows, then entries
        if entry in places:
            table = np.where(table < 0, table, places[entry][table])  # noqa: PLW2901
        made[name] = table
    return made


def _inverse(kind: str, order: Any, size: int) -> Indices:
    """Return the new index of each old one."""
    if not np.array_equal(np.sort(order), np.arange(size)):
        raise InputDataError(f"The order of '{kind}' must hold each index from 0 to {size - 1}.")
    return np.argsort(order)


def _places(order: Indices, first: int, count: int) -> Indices:
    """Return the positions of the elements of one kind in the order of all."""
    own = order[(order >= first) & (order < first + count)] - first
    places = np.empty(count, np.int64)
    places[own] = np.arange(count)
    return places
