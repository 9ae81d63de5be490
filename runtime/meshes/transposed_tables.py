"""Transposed neighbour tables: who has an index for a neighbour, slot by slot.

The adjoint of a gather is a gather: a point sums what all points that have it for a neighbour hand
back. Row `s` of the transposed table of slot `k` lists the rows of a table whose slot `k` holds
`s`, in ascending order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..fields.neighbour_table import SKIP, Connectivity
from ..language.connectivity import is_table
from ..language.dimension import Dimension, DimensionKind
from ..language.domain import Domain

_made: WeakKeyDictionary[Connectivity, tuple[Connectivity, ...]] = WeakKeyDictionary()


def name_of_slot(table: str, slot: int) -> str:
    """Return the name of a transposed table.

    >>> name_of_slot("C2E", 1)
    'C2E_t1'
    """
    return f"{table}_t{slot}"


def transposed(offset_provider: Mapping[str, Any]) -> dict[str, Any]:
    """Return an offset provider that also has the transposed tables, which adjoints read.

    They are made once for each table. Give the result to calls of adjoints, and to their builds.

    >>> E, V = Dimension("E"), Dimension("V")
    >>> E2V = Dimension("E2V", DimensionKind.LOCAL)
    >>> table = Connectivity(np.array([[0, 1], [1, 2], [0, 2]]), Domain((E, 3), (E2V, 2)), V)
    >>> found = transposed({"E2V": table})
    >>> list(found), found["E2V_t0"].asnumpy().tolist()
    (['E2V', 'E2V_t0', 'E2V_t1'], [[0, 2], [1, -1], [-1, -1]])
    """
    found = dict(offset_provider)
    for name, table in offset_provider.items():
        if is_table(table):
            for slot, each in enumerate(_slots(name, table)):
                found[name_of_slot(name, slot)] = each
    return found


def _slots(name: str, table: Connectivity) -> tuple[Connectivity, ...]:
    if table not in _made:
        _made[table] = tuple(
            _transposed(name_of_slot(name, slot), table, slot) for slot in range(table.shape[-1])
        )
    return _made[table]


def _transposed(name: str, table: Connectivity, slot: int) -> Connectivity:
    beyond = int(table.asnumpy().max(initial=SKIP)) + 1  # of all slots, so that rows agree
    entries = table.asnumpy()[:, slot].astype(np.int64)
    rows = np.flatnonzero(entries != SKIP)
    entries = entries[rows]
    order = np.argsort(entries, kind="stable")
    counts = np.bincount(entries, minlength=beyond)
    width = max(int(counts.max(initial=0)), 1)
    ends = np.cumsum(counts)
    places = np.arange(len(rows)) - np.repeat(ends - counts, counts)
    data = np.full((len(counts), width), SKIP, np.int32)
    data[entries[order], places] = rows[order] + table.starts[0]
    local = Dimension(name, DimensionKind.LOCAL)
    domain = Domain((table.codomain, len(counts)), (local, width))
    return Connectivity(data, domain, table.domain.dims[0], SKIP)
