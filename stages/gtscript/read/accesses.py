"""Read variables at places: offsets, levels that values give, elements, places of tables."""

from __future__ import annotations

import ast
from collections.abc import Callable

from ...ir.stencil import Offset, Read, Ref, Variable
from ..capture import path_of
from ..words import AXES
from .data_axes import Access, Reader, element_of, index_of, part_of
from .offsets import level_of, offset_of
from .scope import Elements, Scope, shown
from .typing import FLOATS


def read_at_offsets(scope: Scope, node: ast.Subscript, access: Access, read: Reader) -> Ref | None:
    """Read a subscript of a variable; None if it is none."""
    path = path_of(access.base)
    found = scope.meaning(path) if path else None
    match found:
        case int() if scope.tables.variables[found].kind == "table":
            return _of_table(scope, node, access, found, read)
        case Elements():
            offset, level = _place(scope, access.offsets, found.whole, read)
            return _element(
                scope, node, access, found, read, lambda each: scope.read(each, node, offset, level)
            )
        case int() if access.index is None:
            variable = scope.tables.variables[found]
            if variable.kind == "scalar":  # an argument of a function that shifts its parameter
                return scope.read(found, node)
            return scope.read(found, node, *_place(scope, node, variable, read))
    return None


def _place(
    scope: Scope, offsets: ast.Subscript | None, variable: Variable, read: Reader
) -> tuple[Offset, Ref | None]:
    """Return the offsets of a subscript; that along K may be a row."""
    if offsets is None:
        return (0, 0, 0), None
    offset, level = offset_of(scope, offsets, variable), level_of(scope, offsets, variable)
    if level is None:
        return offset, None
    if offset != (0, 0, 0):
        raise scope.refuse(
            offsets,
            f"'{variable.name}' is read in another column, at a level that a value gives.",
            "gt4py drops the offsets along I and J of such a read. Assign the field to a "
            "temporary at that level, and read the temporary at the offset.",
        )
    return offset, integer(scope, level, "Variable vertical index", read)


def integer(scope: Scope, node: ast.expr, what: str, read: Reader) -> Ref:
    """Read an integer expression."""
    row = read(scope, node)
    if scope.dtype(row) in (*FLOATS, "bool"):
        raise scope.refuse(node, f"{what} must be an integer expression.")
    return row


def _element(
    scope: Scope,
    node: ast.expr,
    access: Access,
    elements: Elements,
    read: Reader,
    at: Callable[[int], Ref],
) -> Ref:
    """Read the element that an index names, or that a whole vector is read for."""
    if access.index is None:
        return at(part_of(scope, node, elements))
    index = index_of(scope, access, elements.whole.name, elements.sizes, read)
    return element_of(scope, node, elements, index, at)


def _of_table(scope: Scope, node: ast.Subscript, access: Access, number: int, read: Reader) -> Ref:
    table = scope.tables.variables[number]
    if access.offsets is not None:
        raise scope.syntax_error(
            node,
            f"Incorrect offset specification detected for {table.name}, which has dimensions (). "
            f"Did you mean absolute indexing via .A[{shown(access.offsets.slice)}]?",
        )
    _, places = index_of(scope, access, table.name, table.sizes, read)
    return scope.add(Read(dtype=table.dtype, variable=number, places=tuple(places)), node)


def read_at_level(scope: Scope, node: ast.Call, base: ast.expr, read: Reader) -> Ref:
    """Read `field.at(K=level, ddim=[index, ...])`."""
    names = [each.arg for each in node.keywords]
    if node.args or names not in (["K"], ["K", "ddim"]):
        raise scope.syntax_error(
            node,
            "Absolute K index: Bad syntax. Must be of the form `.at(K=..., ddim=[...])` where the "
            "`ddim` argument is optional.",
        )
    wanted, *rest = (each.value for each in node.keywords)
    if isinstance(wanted, ast.Name) and wanted.id in AXES and scope.meaning(wanted.id) is None:
        raise scope.syntax_error(
            node,
            f"Absolute K index: bad syntax, you cannot write `.at(K={wanted.id})` since `.at` "
            "denotes an absolute index, this is equivalent to `field[0, 0, 0]` or simply `field`.",
        )
    path = path_of(base)
    found = scope.meaning(path) if path else None
    if path and found is None:
        raise scope.unknown(base, path)
    if not isinstance(found, int | Elements):
        raise scope.syntax_error(node, f"Unknown call: '{shown(node)}'.")
    whole = found.whole if isinstance(found, Elements) else scope.tables.variables[found]
    if "K" not in whole.axes:
        raise scope.refuse(
            node, "Tried accessing a field with no K-dimensions with an absolute K-index."
        )
    level = integer(scope, wanted, "Absolute vertical index", read)

    def at(variable: int) -> Ref:
        return scope.read(variable, node, (0, 0, 0), level, is_absolute=True)

    if isinstance(found, int):
        if rest:
            raise scope.syntax_error(node, f"Field {whole.name} has no data dimensions.")
        return at(found)
    index = None
    if rest:
        index = tuple(rest[0].elts) if isinstance(rest[0], ast.List | ast.Tuple) else (rest[0],)
    return _element(scope, node, Access(base, None, index), found, read, at)
