"""The order in which a part of a neighbour table is transposed: that of the whole table.

A rank numbers its points in an order of its own. Sums over those that have a point for a neighbour
take them in the order of the whole mesh, so that bits do not depend on the ranks.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import numpy as np

from ..process import classes

Table = TypeVar("Table")
_ORDER: Final = "__fieldforge_order__"


@classes.frozen(eq=False)
class Order:
    """How a part of a table is transposed, so that sums have the order of the whole one.

    Attributes:
        rows: the numbers of its rows in the whole table.
        width: of the transpose of the whole table.

    """

    rows: Any
    width: int


def ordered(table: Table, rows: Any, width: int) -> Table:
    """Return a table whose transpose has the order and the width of that of a whole table."""
    vars(table)[_ORDER] = Order(rows, width)
    return table


def known_order(table: Any) -> Order | None:
    """Return how the transpose of a table is ordered, if it is part of a whole one."""
    found: Order | None = vars(table).get(_ORDER)
    return found


def width_back(entries: Any) -> int:
    """Return the width of the transpose of a table, given its entries."""
    there = entries[entries >= 0]  # -1 is none
    return max(int(np.bincount(there).max(initial=0)), 1)
