"""The state of parsing one function: its rows so far, and the names in scope."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from typing import Any, Final

from ...runtime.language import CollectionType, DataType, DomainType, ScalarType, TupleType
from ...runtime.process import DSLError, DSLTypeError, Span, classes
from ..ir import syntax
from .free_names import number_text, number_type
from .meanings import Meaning, Number, Pack, Row, describe
from .promotion import RowType
from .source import Located, Source

MAX_LEAVES: Final = 4096
MAX_NESTING: Final = 32


@classes.frozen
class Variable:
    """A local variable: its type, and the place of its last binding."""

    type: RowType
    node: Located


@classes.define(eq=False)
class Scope:
    """The state of parsing one function.

    `operators` maps the identity of each callee's `Definition` to its key and tree. `assigned` are
    the names that Python treats as local because a statement binds them. `meanings` maps each
    expression read so far to its meaning. `called` lists the keys of the callees in order.
    `variables_of` has the type variables of a generic operator, by the type that each has here.
    """

    source: Source
    closure: Mapping[str, Any]
    operators: Mapping[int, tuple[str, syntax.Callee]]
    assigned: frozenset[str]
    variables: dict[str, Variable]
    scan: bool = False
    result: DataType | None = None
    annotated: DataType | None = None
    nodes: list[syntax.Expression] = classes.field(factory=list)
    spans: list[Span] = classes.field(factory=list)
    meanings: dict[ast.expr, Meaning] = classes.field(factory=dict)
    called: dict[str, None] = classes.field(factory=dict)
    variables_of: Mapping[str, str] = classes.field(factory=dict)

    def add(self, expression: syntax.Expression, node: Located) -> Row:
        """Append a row for the source at `node`."""
        self.nodes.append(expression)
        self.spans.append(self.source.span(node))
        return Row(len(self.nodes) - 1, expression.type)

    def value(self, node: ast.expr) -> Row:
        """Return the row of an expression that has been read; refuse static meanings."""
        return self.row(self.meanings[node], node)

    def row(self, meaning: Meaning, node: ast.expr) -> Row:
        """Turn a meaning into a row: a number becomes a literal, a pack becomes a tuple."""
        if isinstance(meaning, Row):
            return meaning
        if isinstance(meaning, Number):
            return self._literal(meaning.value, node)
        if isinstance(meaning, Pack):
            pairs = zip(meaning.elements, meaning.nodes, strict=True)
            return self.make_tuple([self.row(each, at) for each, at in pairs], node, meaning.type)
        raise self.type_error(node, f"Expected a value, got {describe(meaning)}.")

    def make_tuple(
        self, rows: Iterable[Row], node: Located, type_: CollectionType | None = None
    ) -> Row:
        """Append the row that makes a tuple or collection of `rows`."""
        elements = tuple(rows)
        types = tuple(each.type for each in elements if not isinstance(each.type, DomainType))
        if len(types) < len(elements):
            raise self.type_error(node, "A region can not be an element of a tuple.")
        made = type_ or TupleType(types)
        if not _is_small(made):
            raise self.type_error(
                node, f"A tuple holds at most {MAX_LEAVES} values, nested {MAX_NESTING} deep."
            )
        return self.add(
            syntax.TupleOf(elements=tuple(each.ref for each in elements), type=made), node
        )

    def error(self, node: Located, message: str, **details: Any) -> DSLError:
        """Return a located error."""
        return DSLError(self.source.span(node), message, **details)

    def type_error(self, node: Located, message: str, **details: Any) -> DSLTypeError:
        """Return a located error about types."""
        return DSLTypeError(self.source.span(node), message, **details)

    def number_type(self, value: Any, node: ast.expr) -> ScalarType:
        """Return the type of a number; refuse integers beyond 64 bits."""
        found = number_type(value)
        if found is None:
            raise self.type_error(node, "Integers beyond 64 bits are not supported.")
        return found

    def _literal(self, value: Any, node: ast.expr) -> Row:
        type_ = self.number_type(value, node)
        return self.add(syntax.Literal(text=number_text(value), type=type_), node)


def _is_small(type_: DataType) -> bool:
    """Tell whether a type keeps the limits on leaves and nesting; stop at the first violation."""
    stack: list[tuple[Any, int]] = [(type_, 0)]
    count = 0
    while stack:
        part, depth = stack.pop()
        count += 1
        if count > MAX_LEAVES or depth > MAX_NESTING:
            return False
        if isinstance(part, TupleType | CollectionType):
            stack += [(each, depth + 1) for each in part.elements]
    return True
