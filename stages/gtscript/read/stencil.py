"""Read the definition of a stencil: arguments, typed temporaries, computations."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import cast

from ....runtime.language import Definition
from ...ir.stencil import Block, End, Order, Variable
from ...parse.source import Source, read as read_source
from .. import Argument, FieldOf, GTScriptSyntaxError, StencilDefinition, path_of
from ..words import ORDERS
from .assignments import assign_value, declare, declare_elements
from .calls import inlined
from .interval_order import check_order
from .intervals import interval_of, runtime_bounds
from .scope import BlockDraft, Elements, Scope, Tables, shown
from .statements import (
    assigned_names,
    check_assertion,
    in_regions,
    read_imports,
    read_statements,
    restrict,
)
from .types import type_of


def read_stencil(definition: StencilDefinition) -> tuple[Tables, Source]:
    """Read a definition; the tables hold its tree."""
    source = read_source(cast(Definition, definition))  # it reads the source and the name
    tables = Tables(definition)
    scope = Scope(
        tables=tables,
        source=source,
        inline=inlined,
        constants=dict(definition.names),
        callers=(definition.name,),
        assigned=assigned_names(source.function.body),
    )
    _arguments(scope)
    read_imports(scope, source.function.body)
    for statement in source.function.body:
        _top(scope, statement)
    return tables, source


def _arguments(scope: Scope) -> None:
    for each in scope.tables.definition.arguments:
        scope.names[each.name] = _declared(scope.tables, each)


def _declared(tables: Tables, argument: Argument) -> int | Elements:
    name, kind = argument.name, argument.annotation
    if isinstance(kind, FieldOf) and kind.axes and kind.data_dims:
        made = tables.elements(Variable(name, "field", kind.dtype, kind.axes), kind.data_dims)
        tables.arguments[name] = made.variables
        return made
    if not isinstance(kind, FieldOf):
        variable = Variable(name, "scalar", kind.dtype, "")
    elif kind.axes:
        variable = Variable(name, "field", kind.dtype, kind.axes)
    else:
        variable = Variable(name, "table", kind.dtype, "", kind.data_dims)
    number = tables.declare(variable)
    tables.arguments[name] = (number,)
    return number


def _top(scope: Scope, node: ast.stmt) -> None:
    match node:
        case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom():
            return
        case ast.Expr(value=ast.Call(func=ast.Name(id="compile_assert")) as call):
            check_assertion(scope, call)
        case ast.AnnAssign():
            _typed(scope, node)
        case ast.With():
            _computation(scope, node)
        case _:
            raise scope.syntax_error(
                node,
                f"Invalid stencil definition: '{shown(node)}' stands outside of a computation.",
                "Write statements below 'with computation(PARALLEL), interval(...)'.",
            )


def _typed(scope: Scope, node: ast.AnnAssign) -> None:
    """Read a typed temporary before the first block; its value is assigned everywhere."""
    if not isinstance(node.target, ast.Name):
        raise scope.syntax_error(node, "Only names can be declared before the first computation.")
    type_ = type_of(scope, node.annotation, node.target.id, first=True)
    if scope.meaning(node.target.id) is not None:
        raise scope.syntax_error(node, f"'{node.target.id}' is defined already.")
    axes = type_.axes if isinstance(type_, FieldOf) else "IJK"
    order: Order = "parallel" if axes == "IJK" else "forward"
    scope.block = BlockDraft(order)
    if isinstance(type_, FieldOf) and type_.data_dims:
        declare_elements(scope, node.target.id, type_)
    else:
        declare(scope, node.target.id, type_.dtype, axes)
    if node.value is not None:
        assign_value(scope, node.target, node.value, node)
    _finish(scope, End(False, 0), End(True, 0))


# --- computations -----------------------------------------------------------------------------


def _computation(scope: Scope, node: ast.With) -> None:
    outer = [_called(scope, each) for each in node.items]
    nested = all(
        isinstance(each, ast.With) and _name(each.items[0]) == "interval" for each in node.body
    )
    if not nested:
        _block(scope, node, outer, node.body)
        return
    if not any(path_of(call.func) == "computation" for call in outer):
        raise scope.syntax_error(
            node.items[0].context_expr, "Invalid 'with' statement: 'computation' is missing."
        )
    first = len(scope.tables.blocks)
    for each in node.body:
        assert isinstance(each, ast.With)  # checked above
        inner = [_called(scope, item) for item in each.items]
        _block(scope, each, [*inner, *outer], each.body)
    check_order(scope, node, range(first, len(scope.tables.blocks)))


def _name(item: ast.withitem) -> str:
    call = item.context_expr
    return path_of(call.func).rpartition(".")[2] if isinstance(call, ast.Call) else ""


def _called(scope: Scope, item: ast.withitem) -> ast.Call:
    call = item.context_expr
    if not isinstance(call, ast.Call) or item.optional_vars is not None:
        raise scope.syntax_error(call, f"Invalid 'with' statement: '{shown(call)}'.")
    return call


def _block(
    scope: Scope, node: ast.With, calls: Sequence[ast.Call], body: Sequence[ast.stmt]
) -> None:
    parts: dict[str, ast.Call] = {}
    for call in calls:
        name = path_of(call.func).rpartition(".")[2]
        if name not in ("computation", "interval", "horizontal") or name in parts:
            raise _invalid(scope, call)
        parts[name] = call
    if "computation" not in parts or "interval" not in parts:
        raise _invalid(scope, node.items[0].context_expr)
    order = _order(scope, parts["computation"])
    bounds = runtime_bounds(scope, parts["interval"])
    scope.block = BlockDraft(order)
    if bounds is None:
        start, stop = bounds = interval_of(scope, parts["interval"])
    else:
        start, stop = restrict(scope, parts["interval"], *bounds)
    scope.tables.intervals[len(scope.tables.blocks)] = bounds
    if "horizontal" in parts:
        in_regions(scope, parts["horizontal"], body, is_nested=False)
    else:
        read_statements(scope, body)
    _finish(scope, start, stop)


def _finish(scope: Scope, start: End, stop: End) -> None:
    draft = scope.draft
    scope.tables.blocks.append(Block(draft.order, start, stop, tuple(draft.body)))
    scope.tables.wheres.append(draft.wheres)
    scope.block = None


def _order(scope: Scope, call: ast.Call) -> Order:
    found = list(_given(call, "order"))
    name = path_of(found[0]).rpartition(".")[2] if len(found) == 1 else ""
    if name not in ORDERS:
        raise _invalid(scope, call)
    return ORDERS[name]  # type: ignore[return-value]  # the table holds the three orders


def _given(call: ast.Call, name: str) -> Iterator[ast.expr]:
    yield from call.args
    yield from (each.value for each in call.keywords if each.arg == name)


def _invalid(scope: Scope, node: ast.expr) -> GTScriptSyntaxError:
    place = scope.place(node)
    return scope.syntax_error(
        node,
        f"Invalid 'computation' specification at line {place.line} (column {place.column}).",
        "Write 'with computation(PARALLEL), interval(...):'.",
    )
