"""Transposed neighbour tables: who has an index for a neighbour, and in which slot.

The adjoint of a gather is a gather: a point sums what all points that have it for a neighbour hand
back. Row `s` of the transpose `E2V_t` of a table `E2V` lists the rows of `E2V` that hold `s`,
ascending, as often as they hold it; row `s` of `E2V_s` has the slots in which they do. Both lie
where the table lies. Rows are columns in memory: a loop along rows reads one entry after the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import numpy as np

from ..fields import SKIP, Connectivity, as_connectivity
from ..language import Dimension, DimensionKind, Domain, is_neighbour_table
from ..language.table_order import known_order
from ..process import Device, DeviceType

ROWS, SLOTS = "t", "s"
_KEPT: Final = "__fieldforge_transposed__"  # of a table: what it is transposed, by name


def transposed_names(tables: Iterable[str]) -> Iterator[str]:
    """Yield the names of the transposes of some tables, and of their slots.

    >>> list(transposed_names(["C2E"]))
    ['C2E_t', 'C2E_s']
    """
    for name in tables:
        yield from (f"{name}_{ROWS}", f"{name}_{SLOTS}")


def transposed_slots(table: str) -> Dimension:
    """Return the dimension of the slots of a transposed table.

    >>> transposed_slots("C2E").value
    'C2E_t'
    """
    return Dimension(f"{table}_{ROWS}", DimensionKind.LOCAL)


def transposed(offset_provider: Mapping[str, Any]) -> dict[str, Any]:
    """Return an offset provider that also has the transposed tables, which adjoints read.

    Calls of adjoints find them by themselves: give the result to what runs elsewhere, as a library
    that `export` makes.

    >>> E, V = Dimension("E"), Dimension("V")
    >>> E2V = Dimension("E2V", DimensionKind.LOCAL)
    >>> table = Connectivity(np.array([[0, 1], [1, 2], [0, 2]]), Domain((E, 3), (E2V, 2)), V)
    >>> found = transposed({"E2V": table})
    >>> list(found), found["E2V_t"].asnumpy().tolist(), found["E2V_s"].asnumpy().tolist()
    (['E2V', 'E2V_t', 'E2V_s'], [[0, 2], [0, 1], [1, 2]], [[0, 0], [1, 0], [1, 1]])
    """
    found = dict(offset_provider)
    made = {*transposed_names(offset_provider)}
    for name, table in offset_provider.items():
        if is_neighbour_table(table) and name not in made:
            found |= _made(name, table)
    return found


def table_in(offset_provider: Mapping[str, Any], name: str) -> Any:
    """Return an entry of an offset provider, or a transpose of one; None if there is neither."""
    found = offset_provider.get(name)
    base, _, kind = name.rpartition("_")
    if found is None and kind in (ROWS, SLOTS) and is_neighbour_table(offset_provider.get(base)):
        return _made(base, offset_provider[base])[name]
    return found


def _made(name: str, table: Connectivity) -> Mapping[str, Connectivity]:
    """Return what a table is transposed, made once for each table."""
    kept: dict[str, Connectivity] = vars(table).setdefault(_KEPT, {})  # native calls look there
    if f"{name}_{ROWS}" not in kept:
        kept |= zip(transposed_names([name]), _transposed(name, table), strict=True)
    return kept


def _transposed(name: str, table: Connectivity) -> Iterator[Connectivity]:
    entries = table.asnumpy().ravel()
    places = np.flatnonzero(entries != SKIP)
    entries = entries[places]
    known = known_order(table)
    # ascending rows for each entry, and ascending slots: the sort keeps the order of what is equal
    order = (
        _ascending(entries)
        if known is None
        else np.lexsort((known.rows[places // table.shape[-1]], entries))
    )
    counts = np.bincount(entries, minlength=int(table.asnumpy().max(initial=SKIP)) + 1)
    ends = np.cumsum(counts)
    width = max(int(counts.max(initial=0)), 1) if known is None else known.width
    columns = np.arange(len(places)) - np.repeat(ends - counts, counts)
    filled = columns * len(counts) + entries[order]
    rows, slots = np.divmod(places[order].astype(np.int32), np.int32(table.shape[-1]))
    domain = Domain((table.codomain, len(counts)), (transposed_slots(name), width))
    target, own = table.domain.dims
    is_full = len(places) == len(counts) * width
    missing = None if is_full and known is None else SKIP
    told = ((rows + table.starts[0], target, SKIP, missing), (slots, own, 0, None))
    for values, codomain, nothing, skip_value in told:
        data = np.full((width, len(counts)), nothing, np.int32)
        data.reshape(-1)[filled] = values
        if table.device_type == DeviceType.CPU:
            yield Connectivity.on(data.T, domain, codomain, skip_value)
        else:
            place = Device(DeviceType(table.device_type), table.device_id)
            yield as_connectivity(domain, codomain, data.T, skip_value=skip_value, device=place)


def _ascending(entries: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the order that sorts indices and keeps that of equal ones.

    NumPy sorts numbers of 16 bits in linear time: first come the lower ones, then the upper ones.
    """
    order = np.argsort((entries & 0xFFFF).astype(np.uint16), kind="stable")
    upper = (entries >> 16).astype(np.uint16)[order]
    return order[np.argsort(upper, kind="stable")]
