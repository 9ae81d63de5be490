"""Read expressions, operands before their users, with a worklist instead of recursion."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...runtime.embedded import builtins as language
from ...runtime.language import CollectionType, DomainType, FieldType, ScalarType, TupleType
from ...runtime.language.collection import is_named_tuple
from ...runtime.process import MissingAttributeError, UndefinedSymbolError
from ..ir import syntax
from .arithmetic import binary, compare, unary
from .calls import call
from .closure import meaning_of
from .free_names import member
from .meanings import Meaning, Namespace, Number, OffsetTag, Pack, Row, Text, describe
from .promotion import BOOL, RowType
from .scope import Scope
from .shifts import local_element, offset_element
from .source import Located
from .unsupported import INSTEAD, unsupported

LARGEST: Final = 2**64 - 1  # no type holds a larger integer


def read(scope: Scope, root: ast.expr) -> Row:
    """Read an expression and return the row of its value."""
    understand(scope, root)
    return scope.value(root)


def understand(scope: Scope, root: ast.expr) -> Meaning:
    """Give a meaning to an expression and all its operands, from left to right."""
    stack: list[tuple[ast.expr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        rule = RULES.get(type(node))
        if rule is None:
            raise unsupported(scope.source.span(node), node)
        operands, combine = rule
        if not ready:
            inner = operands(node)
            if inner:
                stack.append((node, True))
                stack += [(each, False) for each in reversed(inner)]
                continue
        scope.meanings[node] = combine(scope, node)
    return scope.meanings[root]


def _constant(scope: Scope, node: ast.Constant) -> Meaning:
    value = node.value
    if isinstance(value, bool | int | float):
        if value > LARGEST:  # the sign or the cast around the literal checks its range
            scope.number_type(value, node)
        return Number(value, written=True)
    if isinstance(value, str):
        return Text(value)
    shown = "..." if value is ... else repr(value)
    raise scope.type_error(node, f"Literal '{shown}' is not a number of the language.")


def _name(scope: Scope, node: ast.Name) -> Meaning:
    name = node.id
    variable = scope.variables.get(name)
    if variable is not None:
        return scope.add(syntax.Name(id=name, type=variable.type), node)
    if name not in scope.assigned:
        missing = object()
        value = scope.closure.get(name, missing)
        if value is missing:
            value = getattr(builtins, name, missing)
        if value is not missing:
            return static(scope, node, value, name, name)
    known = (each for each in scope.closure if each not in scope.assigned)
    raise UndefinedSymbolError(
        scope.source.span(node), name, sorted({*scope.variables, *known}),
        hints=[_import(name)] if name in language.__all__ else [],
    )  # fmt: skip


def _import(name: str) -> str:
    return f"Use '{name}' of the language: 'from fieldforge import {name}'."


def static(scope: Scope, node: ast.expr, value: Any, path: str, name: str) -> Meaning:
    """Return the meaning of a free name, or raise an error if the language has none for it."""
    meaning = meaning_of(value, path, node)
    if isinstance(meaning, Number):
        scope.number_type(meaning.value, node)
    if meaning is not None:
        return meaning
    kind = type(value).__qualname__
    hints = []
    if is_named_tuple(type(value)):
        hints = [f"A constant of '{kind}' holds numbers of the types that the class declares."]
    if isinstance(value, np.ufunc) or callable(value):
        hints = ["Only builtins of the language and decorated operators can be called."]
        own = path.rpartition(".")[2]
        if own in INSTEAD:
            hints = [INSTEAD[own]]
        if own in language.__all__:
            hints.insert(0, _import(own))
    raise scope.type_error(
        node, f"Unexpected object '{name}' of type '{kind}' encountered.", hints=hints
    )


_REDUCED: Final = (
    "An operator computes point by point: reduce the field in Python, as in 'ff.sum(field)', and "
    "neighbours with 'neighbor_sum(f, axis=L)'."
)


def _attribute(scope: Scope, node: ast.Attribute) -> Meaning:
    owner = scope.meanings[node.value]
    if isinstance(owner, Row | Pack) and isinstance(owner.type, CollectionType):
        if node.attr in owner.type.keys:
            place = owner.type.keys.index(node.attr)
            return (
                owner.elements[place]
                if isinstance(owner, Pack)
                else element(scope, node, owner, place)
            )
        raise MissingAttributeError(
            scope.source.span(node),
            node.attr,
            owner=f"'{owner.type.name}'",
            candidates=owner.type.keys,
        )
    if isinstance(owner, Number) and not owner.written and node.attr == "value":
        return owner  # a member of an enum, spelled out
    if isinstance(owner, Namespace):
        there, value = member(owner.members, node.attr)
        path = f"{owner.path}.{node.attr}"
        if there:
            return static(scope, node, value, path, path)
        names = [name for name in dir(owner.members) if not name.startswith("_")]
        raise MissingAttributeError(
            scope.source.span(node), node.attr, owner=f"'{owner.path}'", candidates=names
        )
    shown = describe(owner)
    raise MissingAttributeError(
        scope.source.span(node),
        node.attr,
        owner=shown[0].upper() + shown[1:],
        hints=[_REDUCED] if node.attr in ("sum", "max", "min", "mean", "norm") else [],
    )


def _subscript(scope: Scope, node: ast.Subscript) -> Meaning:
    of = scope.meanings[node.value]
    if isinstance(of, OffsetTag):
        return offset_element(scope, node, of)
    if isinstance(of, Row) and isinstance(of.type, FieldType):
        return local_element(scope, node, of)
    count = _length(of)
    if count is None:
        raise scope.type_error(
            node.value, f"Expected a tuple to take an element of, got {describe(of)}."
        )
    index = scope.meanings[node.slice]
    if not isinstance(index, Number) or type(index.value) is not int:
        raise scope.type_error(
            node.slice,
            f"Elements of a tuple are chosen by a literal integer, got {describe(index)}.",
        )
    if not -count <= index.value < count:
        raise scope.type_error(
            node.slice, f"Index {index.value} is out of range for a tuple of {count} elements."
        )
    position = index.value % count
    if isinstance(of, Pack):
        return of.elements[position]
    assert isinstance(of, Row)  # `_length` knows rows and packs only
    return element(scope, node, of, position)


def _length(of: Meaning) -> int | None:
    if isinstance(of, Pack):
        return len(of.elements)
    if isinstance(of, Row) and isinstance(of.type, TupleType | CollectionType):
        return len(of.type.elements)
    return None


def element(scope: Scope, node: Located, of: Row, index: int) -> Row:
    """Append the row that reads one element of a tuple or collection."""
    type_ = of.type.elements[index]  # type: ignore[union-attr]  # the caller checked the length
    return scope.add(syntax.Element(of=of.ref, index=index, type=type_), node)  # type: ignore[arg-type]


def _tuple(scope: Scope, node: ast.Tuple) -> Meaning:
    for each in node.elts:
        if isinstance(scope.meanings[each], Text):
            raise scope.type_error(each, "Expected a value, got a string.")
    return Pack(tuple(scope.meanings[each] for each in node.elts), tuple(node.elts))


def _ternary(scope: Scope, node: ast.IfExp) -> Meaning:
    condition = expect_condition(scope, node.test, "ternary")
    then, otherwise = scope.value(node.body), scope.value(node.orelse)
    if then.type != otherwise.type:
        raise scope.type_error(
            node,
            f"Expected both branches of the ternary to be of one type, got '{then.type}' and "
            f"'{otherwise.type}'.",
            hints=_spread(then.type, otherwise.type),
        )
    if isinstance(then.type, DomainType):
        raise scope.type_error(node, "A ternary can not choose between regions.")
    return scope.add(
        syntax.Select(
            condition=condition.ref, then=then.ref, otherwise=otherwise.ref, type=then.type
        ),
        node,
    )


def _spread(*types: RowType) -> list[str]:
    """Return what to write where one branch is a field and the other a number."""
    fields = [each for each in types if isinstance(each, FieldType)]
    if len(fields) != 1 or fields[0].dtype not in types:
        return []
    dims = ", ".join(dim.value for dim in fields[0].dims)
    more = "," if len(fields[0].dims) == 1 else ""
    return [f"Make the number a field: 'broadcast(x, ({dims}{more}))'."]


def expect_condition(scope: Scope, node: ast.expr, where: str) -> Row:
    """Return the row of a condition, which must be a scalar truth value."""
    row = scope.value(node)
    if isinstance(row.type, FieldType):
        raise scope.type_error(
            node,
            f"Condition for '{where}' must be scalar, got '{row.type}'.",
            hints=["To choose point by point write 'where(condition, a, b)'."],
        )
    if not isinstance(row.type, ScalarType):
        raise scope.type_error(node, f"Condition for '{where}' must be scalar, got '{row.type}'.")
    if row.type != BOOL:
        raise scope.type_error(
            node, f"Condition for '{where}' must be of boolean type, got '{row.type}'."
        )
    return row


def _call_operands(node: ast.Call) -> Sequence[ast.expr]:
    plain = [each for each in node.args if not isinstance(each, ast.Starred)]
    return [node.func, *plain, *(keyword.value for keyword in node.keywords)]


Operands = Callable[[Any], Sequence[ast.expr]]
Combine = Callable[[Scope, Any], Meaning]
RULES: Final[dict[type[ast.AST], tuple[Operands, Combine]]] = {
    ast.Constant: (lambda _: (), _constant),
    ast.Name: (lambda _: (), _name),
    ast.Attribute: (lambda node: (node.value,), _attribute),
    ast.Subscript: (lambda node: (node.value, node.slice), _subscript),
    ast.Tuple: (lambda node: node.elts, _tuple),
    ast.UnaryOp: (lambda node: (node.operand,), unary),
    ast.BinOp: (lambda node: (node.left, node.right), binary),
    ast.Compare: (lambda node: (node.left, *node.comparators), compare),
    ast.IfExp: (lambda node: (node.test, node.body, node.orelse), _ternary),
    ast.Call: (_call_operands, call),
}
