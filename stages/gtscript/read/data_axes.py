"""Read data axes: `v[0, 0, 0][2]`, `v.A[n]`, whole vectors, products of matrices, tables."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from ....runtime.process import classes
from ...ir.stencil import Ref, Variable
from ..capture import path_of
from .evaluate import whole
from .scope import Elements, Part, Place, Scope, shown
from .typing import FLOATS, choice, operation

Reader: TypeAlias = Callable[[Scope, ast.expr], Ref]
MOST: Final = 64  # elements among which an index of the call chooses


@classes.frozen
class Access:
    """A subscript taken apart: the name, the subscript with offsets, the indices of data axes."""

    base: ast.expr
    offsets: ast.Subscript | None
    index: tuple[ast.expr, ...] | None = None


def access_of(node: ast.Subscript) -> Access:
    """Return what a subscript consists of."""
    inner = node.value
    if isinstance(inner, ast.Attribute) and inner.attr == "A":
        return Access(inner.value, None, _items(node.slice))
    if isinstance(inner, ast.Subscript):
        return Access(inner.value, inner, _items(node.slice))
    return Access(inner, node)


def index_of(
    scope: Scope, access: Access, name: str, sizes: Sequence[int], read: Reader
) -> tuple[list[int | None], list[Ref]]:
    """Return the index along each data axis: a number, or None and a row that gives it."""
    given = access.index or ()
    if len(given) != len(sizes):
        raise scope.syntax_error(
            access.base,
            f"Incorrect data index length {len(given)}. Invalid data dimension index. Field "
            f"{name} has {len(sizes)} data dimensions.",
        )
    known = [whole(scope, each) for each in given]
    if any(at is not None and not 0 <= at < size for at, size in zip(known, sizes, strict=True)):
        found = ", ".join(map(shown, given))
        raise scope.syntax_error(
            access.base,
            f"Data index out of bounds. Found index [{found}], but field {name} has "
            f"{list(sizes)} data-dimensions.",
        )
    rows = [read(scope, each) for each in given]
    for each, row in zip(given, rows, strict=True):
        if scope.dtype(row) in (*FLOATS, "bool"):
            raise scope.refuse(each, "Data indices must be integer expressions.")
    return known, rows


def element_of(
    scope: Scope,
    node: ast.expr,
    elements: Elements,
    index: tuple[Sequence[int | None], Sequence[Ref]],
    read: Callable[[int], Ref],
) -> Ref:
    """Return the row of one element; an index that leads out of an axis is clamped to it."""
    known, rows = index
    open_ = [size for size, at in zip(elements.sizes, known, strict=True) if at is None]
    count = 1
    for size in open_:
        count *= size
    if count > MOST:
        raise scope.refuse(
            node,
            f"An index chooses among {count} elements of '{elements.whole.name}', {MOST} are the "
            "most.",
            "Pass the numbers in a GlobalTable.",
        )
    return _chosen(scope, node, elements, list(zip(known, rows, strict=True)), (), read)


def _chosen(
    scope: Scope,
    node: ast.expr,
    elements: Elements,
    rest: Sequence[tuple[int | None, Ref]],
    place: Place,
    read: Callable[[int], Ref],
) -> Ref:
    if not rest:
        return read(elements.at(place))
    (known, row), *others = rest
    if known is not None:
        return _chosen(scope, node, elements, others, (*place, known), read)
    size = elements.sizes[len(place)]
    sides = [_chosen(scope, node, elements, others, (*place, at), read) for at in range(size)]
    result = sides[-1]
    for at in range(size - 2, -1, -1):
        limit = scope.number(scope.dtype(row), str(at), node)
        test = operation(scope, "le", (row, limit), node)
        scope.tables.choices.add(test)
        result = choice(scope, test, sides[at], result, node)
    return result


def _items(node: ast.expr) -> tuple[ast.expr, ...]:
    return tuple(node.elts) if isinstance(node, ast.Tuple) else (node,)


# --- vectors ----------------------------------------------------------------------------------


def part_of(scope: Scope, node: ast.expr, elements: Elements, transposed: bool = False) -> int:
    """Return the element that the expression around a plain name is read for."""
    part, sizes = scope.part, elements.sizes[::-1] if transposed else elements.sizes
    if part is None:
        raise no_index(scope, node, elements.whole)
    if part.sizes != sizes:
        raise scope.syntax_error(
            node,
            f"'{elements.whole.name}' has data axes {list(sizes)}, expected {list(part.sizes)}.",
        )
    return elements.at(part.place[::-1] if transposed else part.place)


def no_index(scope: Scope, node: ast.expr, variable: Variable) -> Exception:
    """Return the error about a field with data axes whose element no index names."""
    zeros = ", ".join("0" for _ in variable.axes)
    name = variable.name
    return scope.syntax_error(
        node,
        f"Field {name} has data dimensions but no data dimensions index is specified. Use "
        f"`{name}.A['x']` or `{name}[{zeros}]['x']`.",
    )


def product_of(scope: Scope, node: ast.BinOp, read: Reader) -> Ref:
    """Read an element of `m @ v`: the sum over the inner axis, in order."""
    part, inner = scope.part, sizes_of(scope, node.left)
    if part is None or len(part.place) != 1 or len(inner) != 2 or inner[0] != part.sizes[0]:
        raise scope.syntax_error(node, f"'{shown(node)}' is no product of a matrix and a vector.")
    total: Ref | None = None
    for at in range(inner[1]):
        left = _in_part(scope, Part(inner, (part.place[0], at)), node.left, read)
        right = _in_part(scope, Part((inner[1],), (at,)), node.right, read)
        term = operation(scope, "mul", (left, right), node)
        total = term if total is None else operation(scope, "add", (total, term), node)
    assert total is not None  # no axis is empty
    return total


def _in_part(scope: Scope, part: Part, node: ast.expr, read: Reader) -> Ref:
    outer, scope.part = scope.part, part
    try:
        return read(scope, node)
    finally:
        scope.part = outer


def sizes_of(scope: Scope, node: ast.expr) -> tuple[int, ...]:
    """Return the data axes of an expression; none for numbers."""
    match node:
        case ast.Attribute(value=value, attr="T"):
            return sizes_of(scope, value)[::-1]
        case ast.BinOp(op=ast.MatMult()):
            return (*sizes_of(scope, node.left)[:1], *sizes_of(scope, node.right)[1:])
        case ast.Subscript():
            access = access_of(node)
            return () if access.index is not None else sizes_of(scope, access.base)
        case ast.Name() | ast.Attribute():
            found = scope.meaning(path_of(node))
            return found.sizes if isinstance(found, Elements) else ()
    values = (each for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
    return next((own for each in values if (own := sizes_of(scope, each))), ())
