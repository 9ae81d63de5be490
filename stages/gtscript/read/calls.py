"""Inline calls of functions: their statements stand before the one that calls them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final, cast

from ....runtime.language import Definition
from ...ir.stencil import Ref
from ...parse.source import Source, read as read_source
from .. import Constant, FunctionDefinition, GTScriptSyntaxError, Number, Parameter, path_of
from . import expressions
from .assignments import assign
from .scope import Binding, Elements, Scope
from .statements import assigned_names, read_imports, read_statements

DEEPEST: Final = 64


def inlined(
    scope: Scope, node: ast.Call, function: FunctionDefinition, count: int
) -> tuple[Ref, ...]:
    """Read the statements of a function, and return the rows of its `count` results."""
    if function.name in scope.callers or len(scope.callers) > DEEPEST:
        raise scope.syntax_error(
            node, f"Found recursive function call '{function.name}' in the stack."
        )
    given = dict(_arguments(scope, node, function))
    source = source_of(function)
    inner = _scope(scope, function, source)
    for name, argument in given.items():
        inner.names[name] = _binding(scope, inner, name, argument, node)
    body = source.function.body
    read_imports(inner, body)
    *statements, last = body
    if not isinstance(last, ast.Return) or any(
        isinstance(each, ast.Return) for kept in statements for each in ast.walk(kept)
    ):
        raise scope.syntax_error(
            node,
            "GTScript Functions should have a single return statement.",
            f"'{function.name}' returns at its end, and nowhere else.",
        )
    read_statements(inner, statements)
    return _results(scope, inner, node, last, count)


def source_of(function: FunctionDefinition) -> Source:
    """Parse the text of a function."""
    return read_source(cast(Definition, function))  # it reads the source and the name


def _scope(scope: Scope, function: FunctionDefinition, source: Source) -> Scope:
    scope.tables.calls += 1
    return Scope(
        tables=scope.tables,
        source=source,
        inline=scope.inline,
        constants=dict(function.names),
        suffix=f".{function.name}.{scope.tables.calls}",
        callers=(*scope.callers, function.name),
        assigned=assigned_names(source.function.body),
        block=scope.block,
        part=scope.part,
    )


def _arguments(
    scope: Scope, node: ast.Call, function: FunctionDefinition
) -> Iterator[tuple[str, ast.expr | Constant]]:
    """Yield the parameters of a function, in order, with their arguments or defaults."""
    positional = [each for each in function.parameters if not each.keyword_only]
    given: dict[str, ast.expr] = {}
    if len(node.args) > len(positional):
        raise _wrong_call(scope, node, function)
    given.update(zip((each.name for each in positional), node.args, strict=False))
    names = {each.name for each in function.parameters}
    for keyword in node.keywords:
        if keyword.arg not in names or keyword.arg in given:
            raise _wrong_call(scope, node, function)
        assert keyword.arg is not None  # None is no name of a parameter
        given[keyword.arg] = keyword.value
    for each in function.parameters:
        if each.name in given:
            yield each.name, given[each.name]
        elif each.default is not None:
            yield each.name, each.default
        else:
            raise _wrong_call(scope, node, function)


def _wrong_call(scope: Scope, node: ast.Call, function: FunctionDefinition) -> GTScriptSyntaxError:
    takes = ", ".join(map(_shown, function.parameters))
    return scope.syntax_error(
        node,
        f"Invalid call signature when calling {function.name}.",
        f"It is '{function.name}({takes})'.",
    )


def _shown(parameter: Parameter) -> str:
    return parameter.name if parameter.default is None else f"{parameter.name}=..."


def _binding(
    scope: Scope, inner: Scope, name: str, argument: ast.expr | Constant, node: ast.Call
) -> Binding:
    """Return what a parameter means: the variable of the caller, a constant, or a temporary."""
    path = path_of(argument) if isinstance(argument, ast.expr) else ""
    meaning = scope.meaning(path or "?") if isinstance(argument, ast.expr) else argument
    is_kept = name not in inner.assigned
    if is_kept and isinstance(meaning, int | Elements | FunctionDefinition):
        return meaning
    if is_kept and isinstance(meaning, Number) and not isinstance(argument, ast.Attribute):
        return meaning
    if isinstance(argument, ast.expr):
        row = expressions.read(scope, argument)
    else:
        assert isinstance(argument, Number)  # `capture_function` takes no other defaults
        row = expressions.constant(scope, argument, node)
    return assign(inner, name, row, node, inner.names)


def _results(
    scope: Scope, inner: Scope, node: ast.Call, last: ast.Return, count: int
) -> tuple[Ref, ...]:
    value = last.value
    elements = value.elts if isinstance(value, ast.Tuple) else [value]
    if len(elements) != count:
        message = "Number of returns values does not match arguments on left side."
        if count == 1:
            message = "Only functions with a single return value can be used in expressions."
        raise scope.syntax_error(node, message)
    rows = [expressions.read(inner, each) for each in elements if each is not None]
    if len(rows) < count:
        raise scope.syntax_error(node, "A function of GTScript returns a value.")
    if count == 1:
        return tuple(rows)
    kept = []
    for index, row in enumerate(rows):  # no result sees the assignment of another
        variable = assign(inner, f"result.{index}", row, node, {})
        kept.append(scope.read(variable, node))
    return tuple(kept)
