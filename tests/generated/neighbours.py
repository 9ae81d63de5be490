"""Draw what reads through neighbour tables: gathers, reductions, slots of sparse fields."""

from collections.abc import Callable

from .demand import Demand, all_of, gathered, reduced
from .expressions import Scope, broadcast, callable_text, expression, is_local, joined
from .grids import TABLES, Table, ordered
from .pieces import Draw, Env, Expr, Kind


def unstructured(scope: Scope, within: tuple[str, ...]) -> list[tuple[int, Callable[..., Expr]]]:
    """Return what may be drawn on the mesh, with weights."""
    if is_local(within):  # inside of a reduction
        return [(8, neighbours)]
    options: list[tuple[int, Callable[..., Expr]]] = []
    if tables_of(within):
        options += [(5, gather)] if "gather" in scope.features else []
        options += [(6, reduction), (2, slot)] if "reduce" in scope.features else []
        is_missing = any(table.missing() for table in tables_of(within))
        options += [(2, missing)] if "missing" in scope.features and is_missing else []
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


def missing(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `f(V2E[k])` or `f(V2E)[V2EDim(k)]` where neighbours are missing, and hide those rows.

    What is missing has no defined value, so another is taken where it is.
    """
    table = d.pick([table for table in tables_of(within) if table.missing()])
    k = d.pick(table.missing())
    one = expression(d, scope, dtype, moved(within, table), depth)
    one = one if table.source in one.dims else broadcast(one, ordered({*one.dims, table.source}))
    other = expression(d, scope, dtype, within, depth)
    dims = ordered({*(dim for dim in one.dims if dim != table.source), table.target})
    by_slot = d.chance(40)
    offset = f"({table.name})[{table.local}({k})]" if by_slot else f"({table.name}[{k}])"
    read = f"{callable_text(one)}{offset}"
    holes = " | ".join(f"({table.target} == {row})" for row in table.missing_rows(k))
    text = f"concat_where({holes}, {other.text}, {read})"
    if d.chance(50):
        text = f"where(concat_where({holes}, True, False), {other.text}, {read})"

    kind = Kind(ordered({*dims, *other.dims}), dtype)

    def mean(env: Env) -> Demand:
        return all_of(kind.dims, gathered(one.mean(env), table, dims, k), other.mean(env))

    return Expr(text, kind, mean, one.flags | other.flags)


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
    """Draw `f(C2E)[C2EDim(k)]`, or one slot of a sparse field.

    One slot of a field that has only slots is no scalar: it is repeated, so that none takes it for
    one.
    """
    table = d.pick(tables_of(within))
    if not table.valid_columns():
        return expression(d, scope, dtype, within, depth)
    dims = ordered({*within, table.local})
    one = expression(d, scope, dtype, dims, depth - 1)
    one = one if table.local in one.dims else neighbours(d, scope, dtype, dims, depth - 1)
    rest = ordered(dim for dim in one.dims if dim != table.local)
    k = d.pick(table.valid_columns())
    found = Expr(
        f"{callable_text(one)}[{table.local}({k})]",
        Kind(rest, dtype),
        lambda env: reduced(one.mean(env), table, rest, k),
        one.flags,
    )
    return found if rest else broadcast(found, (table.target,))
