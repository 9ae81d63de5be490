"""Predict the seconds of a call from the listing of its loops and the sizes of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ...runtime.fields.field import Field
from ...runtime.fields.neighbour_table import Connectivity
from ...runtime.language import leaves_of
from ...stages.codegen.plan.seconds import MachineClass, facts_of, seconds_of
from ...stages.codegen.plan.sizes import Sizes, Table
from ...stages.ir.loops.reader import read
from ..variants.naming import leaf_name

WINDOWS: Final = (32, 1024, 32768)  # rows in order, for a block, a first and a second cache
SAMPLES: Final = 8  # windows of each length


def predicted(loops: str, sizes: Sizes, machine: MachineClass) -> float:
    """Return the seconds of a call of the code that a listing of loops is for."""
    return seconds_of(facts_of(read(loops), sizes, machine), machine)


def sizes_of(
    arguments: Mapping[str, Any], tables: Mapping[str, Any] | None, threads: int = 1
) -> Sizes:
    """Return the sizes of a call with arguments by name, and the locality of its tables.

    >>> import fieldforge as ff
    >>> I = ff.Dimension("I")
    >>> sizes_of({"u": ff.zeros({I: 64}), "n": 3}, None).ranges
    {('u', 'I'): (0, 64)}
    """
    ranges: dict[tuple[str, str], tuple[int, int]] = {}
    scalars: dict[str, int] = {}
    for name, value in arguments.items():
        for path, leaf in leaves_of(value):
            own = leaf_name(name, path)
            if isinstance(leaf, Field):
                pairs = zip(leaf.domain.dims, leaf.domain.ranges, strict=True)
                for dim, each in pairs:
                    if isinstance(each.start, int) and isinstance(each.stop, int):
                        ranges[own, dim.value] = each.start, each.stop
            elif isinstance(leaf, int | np.integer):
                scalars[own] = int(leaf)
    known = {
        name: locality(each.asnumpy())
        for name, each in (tables or {}).items()
        if isinstance(each, Connectivity)
    }
    return Sizes(ranges, scalars, known, threads)


def locality(entries: Any) -> Table:
    """Return the size of a neighbour table, and how many rows neighbouring ones lead to.

    >>> table = locality(np.arange(64, dtype=np.int32).reshape(32, 2))
    >>> table.rows, table.sources, table.distinct
    (32, 64, ((32, 64.0),))
    """
    rows = len(entries)
    distinct = []
    for window in (each for each in WINDOWS if each <= rows):
        starts = np.linspace(0, rows - window, SAMPLES).astype(int)
        counts = [len(np.unique(entries[first : first + window])) for first in starts]
        distinct.append((window, float(np.mean(counts))))
    sources = int(entries.max(initial=0)) + 1
    return Table(rows, sources, entries.shape[1], tuple(distinct))


def plain(sizes: Sizes) -> dict[str, Any]:
    """Return sizes as JSON has them.

    >>> again(plain(Sizes(ranges={("u", "I"): (0, 4)}))) == Sizes(ranges={("u", "I"): (0, 4)})
    True
    """
    return {
        "ranges": [[*key, *value] for key, value in sizes.ranges.items()],
        "scalars": dict(sizes.scalars),
        "tables": {
            name: [each.rows, each.sources, each.wide, each.distinct]
            for name, each in sizes.tables.items()
        },
        "threads": sizes.threads,
        "stream_from": sizes.stream_from,
    }


def again(document: Mapping[str, Any]) -> Sizes:
    """Return the sizes that JSON has."""
    tables = {
        name: Table(rows, sources, wide, tuple((n, rate) for n, rate in distinct))
        for name, (rows, sources, wide, distinct) in document["tables"].items()
    }
    ranges = {(field, dim): (start, stop) for field, dim, start, stop in document["ranges"]}
    return Sizes(
        ranges, document["scalars"], tables, document["threads"], document.get("stream_from")
    )
