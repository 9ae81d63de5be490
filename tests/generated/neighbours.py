"""Draw what reads through neighbour tables: gathers, reductions, slots of sparse fields."""

from __future__ import annotations

from collections.abc import Callable

from .demand import gathered, reduced
from .expressions import Scope, broadcast, callable_text, expression, is_local, joined
from .grids import TABLES, Table, ordered
from .pieces import Draw, Expr, Kind


def unstructured(scope: Scope, within: tuple[str, ...]) -> list[tuple[int, Callable[..., Expr]]]:
    """Return what may be drawn on the mesh, with weights."""
    if is_local(within):  # inside of a reduction
        return [(8, neighbours)]
    options: list[tuple[int, Callable[..., Expr]]] = []
    if tables_of(within):
        options += [(5, gather)] if "gather" in scope.features else []
        options += [(6, reduction), (2, slot)] if "reduce" in scope.features else []
    return options


def tables_of(within: tuple[str, ...]) -> list[Table]:
    """Return the tables whose rows are indices of one of the dimensions."""
    return [table for table in TABLES if table.target in within]


def moved(within: tuple[str, ...], table: Table) -> tuple[str, ...]:
    """Return dimensions as they are before a gather through `table`."""
    kept = [dim for dim in within if dim not in (table.target, table.local)]
    return ordered({*kept, table.source})


def gather(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `f(E2C[k])`, at a slot where no neighbour is missing."""
    found = [table for table in tables_of(within) if table.valid_columns()]
    if not found:
        return expression(d, scope, dtype, within, depth)
    table = d.pick(found)
    k = d.pick(table.valid_columns())
    one = expression(d, scope, dtype, moved(within, table), depth)
    one = one if table.source in one.dims else broadcast(one, ordered({*one.dims, table.source}))
    dims = ordered({*(dim for dim in one.dims if dim != table.source), table.target})
    return Expr(
        f"{callable_text(one)}({table.name}[{k}])",
        Kind(dims, dtype),
        lambda env: gathered(one.mean(env), table, dims, k),
        one.flags,
    )


def neighbours(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `f(C2E)`, or a sparse field, inside of a reduction over C2E."""
    table = next(table for table in TABLES if table.local in within)
    one = expression(d, scope, dtype, moved(within, table), depth)
    one = one if table.source in one.dims else broadcast(one, ordered({*one.dims, table.source}))
    rest = {dim for dim in one.dims if dim != table.source}
    dims = ordered({*rest, table.target, table.local})
    return Expr(
        f"{callable_text(one)}({table.name})",
        Kind(dims, dtype),
        lambda env: gathered(one.mean(env), table, dims),
        one.flags,
    )


def reduction(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `neighbor_sum(..., axis=L)`, `max_over` or `min_over`."""
    if dtype == "bool":
        return expression(d, scope, dtype, within, depth)
    table = d.pick(tables_of(within))
    dims = ordered({*within, table.local})
    one = neighbours(d, scope, dtype, dims, depth - 1)
    if d.chance(60):
        other = expression(d, scope, dtype, dims, depth - 1)
        one = joined(d.pick(("*", "+", "-", "minimum")), one, other, dtype)
    name = d.pick(("neighbor_sum", "max_over", "min_over"))
    rest = ordered(dim for dim in one.dims if dim != table.local)
    return Expr(
        f"{name}({one.text}, axis={table.local})",
        Kind(rest, dtype),
        lambda env: reduced(one.mean(env), table, rest),
        one.flags,
    )


def slot(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `f(C2E)[C2EDim(k)]`, or one slot of a sparse field."""
    table = d.pick(tables_of(within))
    if not table.valid_columns():
        return expression(d, scope, dtype, within, depth)
    dims = ordered({*within, table.local})
    one = expression(d, scope, dtype, dims, depth - 1)
    one = one if table.local in one.dims else neighbours(d, scope, dtype, dims, depth - 1)
    rest = ordered(dim for dim in one.dims if dim != table.local)
    k = d.pick(table.valid_columns())
    return Expr(
        f"{callable_text(one)}[{table.local}({k})]",
        Kind(rest, dtype),
        lambda env: reduced(one.mean(env), table, rest, k),
        one.flags,
    )
