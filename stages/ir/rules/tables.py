"""Verify rows that look into neighbour tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from ....runtime.language import Dimension, DimensionKind, union_of
from ....runtime.language.operation_table import NUMBERS
from ..dataflow import REDUCTIONS, Collect, Gather, Neighbours, Reduce, Table

Complaints: TypeAlias = Iterator[str]
Dims: TypeAlias = tuple[Dimension, ...]


def table_complaints(
    value: Gather | Neighbours | Collect | Reduce, given: Dims, tables: Mapping[str, Table]
) -> Complaints:
    """Yield the broken rules of a row, given the dimensions of its operand."""
    names = (value.table, value.slots) if isinstance(value, Collect) else (value.table,)
    unknown = [name for name in names if name not in tables]
    yield from (f"uses table '{name}', which is not declared" for name in unknown)
    if unknown:
        return
    match value:
        case Collect():
            yield from _collect(value, given, *(tables[name] for name in names))
        case Reduce():
            yield from _reduction(value, given, tables[value.table])
        case _:
            yield from _gather(value, given, tables[value.table])


def _gather(value: Gather | Neighbours, given: Dims, table: Table) -> Complaints:
    if table.source not in given:
        yield f"gathers along '{table.source}', which its operand does not have"
    kept = [dim for dim in given if dim is not table.source]
    new = [table.target, table.local] if isinstance(value, Neighbours) else [table.target]
    if any(dim in kept for dim in new):
        yield f"gathers by '{table.name}' an operand that already has a dimension of the result"
    if value.dims != union_of((dim,) for dim in (*kept, *new)):
        yield f"has dimensions other than those of a gather by '{table.name}'"
    if isinstance(value, Gather) and not 0 <= value.index < table.width:
        yield f"takes neighbour {value.index} of '{table.name}', which has {table.width}"


def _collect(value: Collect, given: Dims, table: Table, slots: Table) -> Complaints:
    if (slots.target, slots.local, slots.width) != (table.target, table.local, table.width):
        yield f"collects by '{slots.name}', which has other rows than '{table.name}'"
    if slots.source.kind is not DimensionKind.LOCAL or slots.skip:
        yield f"collects by '{slots.name}', which does not hold slots"
    if slots.source in given and value.index is not None:
        yield f"collects slot {value.index} of an operand that has all slots"
    if table.source not in given and slots.source not in given:
        yield f"collects along '{table.source}', which its operand does not have"
    kept = [dim for dim in given if dim not in (table.source, slots.source)]
    if value.dims != union_of((dim,) for dim in (*kept, table.target, table.local)):
        yield f"has dimensions other than those of what '{table.name}' collects"


def _reduction(value: Reduce, given: Dims, table: Table) -> Complaints:
    kept = tuple(dim for dim in given if dim is not table.local)
    if value.dims != (union_of((kept, (table.target,))) if table.skip else kept):
        yield f"has dimensions other than those of a reduction over '{table.local}'"
    if value.op not in REDUCTIONS:
        yield f"reduces by the unknown operation '{value.op}'"
    if value.dtype not in NUMBERS:
        yield f"reduces values of dtype '{value.dtype}'"
