"""Read statements: `if`, regions, assertions; each assigns under a mask, in a region."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from ...ir.stencil import Assign, End, Ref, Variable
from .. import (
    GTScriptAssertionError,
    GTScriptDefinitionError,
    definition as given,
    path_of,
    reads_below,
)
from ..words import MODULES
from . import expressions
from .assignments import read_annotated, read_assign, read_augmented
from .evaluate import decided
from .offsets import boxes_of
from .scope import Scope, shown
from .typing import condition, logic, operation, reads_field


def read_statements(scope: Scope, statements: Iterable[ast.stmt]) -> None:
    """Read statements in order."""
    for statement in statements:
        _statement(scope, statement)


def read_imports(scope: Scope, body: Sequence[ast.stmt]) -> None:
    """Read imports of externals, anywhere at the top of a function."""
    known = {path.partition(".")[0] for path in scope.tables.externals}
    for each in body:
        if isinstance(each, ast.Import):
            raise scope.syntax_error(
                each, "Invalid 'import' statements: import names from __externals__."
            )
        if not isinstance(each, ast.ImportFrom):
            continue
        if each.module not in MODULES or any(alias.asname for alias in each.names):
            raise scope.syntax_error(
                each,
                f"Invalid 'import' statements: '{shown(each)}'.",
                "Inside a definition, import from '__externals__' and '__gtscript__' only.",
            )
        if each.module.endswith("__gtscript__"):
            continue
        for alias in each.names:
            if alias.name not in known:
                raise GTScriptDefinitionError(
                    scope.place(each),
                    alias.name,
                    None,
                    f"Missing or invalid value for external symbol '{alias.name}'.",
                )
            scope.imported.add(alias.name)


def assigned_names(body: Iterable[ast.stmt]) -> frozenset[str]:
    """Return the plain names that statements assign."""
    found: set[str] = set()
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return frozenset(found)


def _statement(scope: Scope, node: ast.stmt) -> None:
    match node:
        case ast.Assign():
            read_assign(scope, node)
        case ast.AnnAssign():
            read_annotated(scope, node)
        case ast.AugAssign():
            read_augmented(scope, node)
        case ast.If():
            _if(scope, node)
        case ast.With():
            _horizontal(scope, node)
        case ast.Expr(value=ast.Constant(value=str())) | ast.ImportFrom():
            return
        case ast.Expr(value=ast.Call(func=ast.Name(id="compile_assert")) as call):
            check_assertion(scope, call)
        case ast.While():
            _while(scope, node)
        case ast.Expr():
            raise scope.syntax_error(
                node,
                f"An expression is no statement: '{shown(node)}'.",
                "Assign the result of a function to a name.",
            )
        case _:
            raise scope.syntax_error(node, f"Unsupported statement: '{shown(node)}'.")


def check_assertion(scope: Scope, call: ast.Call) -> None:
    """Check `compile_assert(...)`."""
    if not decided(scope, call, call):
        raise GTScriptAssertionError(scope.place(call), f"Assertion failed: '{shown(call)}'.")


# --- if and regions ---------------------------------------------------------------------------


def _if(scope: Scope, node: ast.If) -> None:
    if isinstance(node.test, ast.Call) and path_of(node.test.func) == "__INLINED":
        chosen = node.body if decided(scope, node.test, node.test) else node.orelse
        read_statements(scope, chosen)
        return
    _refuse_calls(scope, node.test)
    draft = scope.draft
    outer, was_inside = draft.mask, draft.is_inside
    draft.is_inside = True
    test = condition(scope, expressions.read(scope, node.test), node.test)
    if reads_field(scope, test):
        test = _kept_mask(scope, test, node.test)
    elif draft.region is None:
        scope.tables.tests.append(test)
    draft.mask = expressions.mask_of(scope, outer, test, node.test)
    read_statements(scope, node.body)
    if node.orelse:
        otherwise = expressions.opposite(scope, test, node.test)
        draft.mask = expressions.mask_of(scope, outer, otherwise, node.test)
        read_statements(scope, node.orelse)
    draft.mask, draft.is_inside = outer, was_inside
    draft.statement += not was_inside


def _kept_mask(scope: Scope, test: Ref, node: ast.expr) -> Ref:
    """Evaluate a condition once; return the row that reads it."""
    tables, draft = scope.tables, scope.draft
    variable = tables.declare(Variable(f"mask.{len(tables.variables)}", "mask", "bool", "IJK"))
    tables.first_block[variable] = len(tables.blocks)
    made = Assign(variable, test, draft.statement, None, draft.region, loops=draft.loops)
    draft.body.append(made)
    draft.wheres.append(scope.place(node))
    return scope.read(variable, node)


def restrict(scope: Scope, call: ast.Call, start: Ref | End, stop: Ref | End) -> tuple[End, End]:
    """Restrict a block to levels that only a call knows: a mask on all of its statements.

    Returns the known bounds. Reads and writes at other levels count as if values gave the levels.
    """
    draft = scope.draft
    known, tests = [End(False, 0), End(True, 0)], []
    for place, (bound, op) in enumerate(((start, "ge"), (stop, "lt"))):
        if isinstance(bound, End) and bound.of_end:
            known[place] = bound
            continue
        level = expressions.level(scope, call)
        if isinstance(bound, End):
            limit = scope.number(scope.dtype(level), str(bound.offset), call)
        else:
            limit = bound
        tests.append(operation(scope, op, (level, limit), call))
    test = tests[0] if len(tests) == 1 else logic(scope, "and", tests, call)
    draft.mask = _kept_mask(scope, test, call)
    draft.statement += 1
    draft.is_of_call = True
    scope.tables.of_call.add(len(scope.tables.blocks))
    return known[0], known[1]


def _while(scope: Scope, node: ast.While) -> None:
    """Read `while`: its condition is a mask, which the loop evaluates once a round.

    What stands below `else` is ignored.
    """
    _refuse_calls(scope, node.test, "a while")
    tables, draft = scope.tables, scope.draft
    outer, loops, was_inside = draft.mask, draft.loops, draft.is_inside
    tables.loops += 1
    draft.is_inside, draft.loops = True, (*loops, tables.loops)
    test = condition(scope, expressions.read(scope, node.test), node.test)
    test = expressions.mask_of(scope, outer, test, node.test)
    draft.mask = _kept_mask(scope, test, node.test)
    read_statements(scope, node.body)
    draft.mask, draft.loops, draft.is_inside = outer, loops, was_inside
    draft.statement += not was_inside


def _refuse_calls(scope: Scope, test: ast.expr, what: str = "an if") -> None:
    for each in ast.walk(test):
        if isinstance(each, ast.Call):
            found = scope.meaning(path_of(each.func) or "?")
            if isinstance(found, given.FunctionDefinition):
                raise scope.syntax_error(
                    each,
                    f"Using function calls in the condition of {what} is not allowed, the function "
                    "needs to be assigned to a variable outside the condition.",
                )


def _horizontal(scope: Scope, node: ast.With) -> None:
    draft = scope.draft
    if len(node.items) != 1:
        raise scope.syntax_error(node.items[1].context_expr, "Invalid 'with' statement.")
    (item,) = node.items
    call = item.context_expr
    if not isinstance(call, ast.Call) or path_of(call.func) != "horizontal":
        raise scope.syntax_error(
            call, "Invalid 'with' statement: Mixing nested `with` blocks and statements is not "
            "allowed."
        )  # fmt: skip
    if draft.region is not None or any(
        isinstance(each, ast.With) for kept in node.body for each in ast.walk(kept)
    ):
        raise scope.syntax_error(
            node.items[0].context_expr,
            "Invalid 'with' statement: Cannot nest `with` node inside a horizontal region.",
        )
    in_regions(scope, call, node.body, is_nested=True)


def in_regions(scope: Scope, call: ast.Call, body: Sequence[ast.stmt], is_nested: bool) -> None:
    """Read statements once for each region of `horizontal(...)`."""
    draft, before = scope.draft, frozenset(scope.tables.written)
    first, was_inside = len(draft.body), draft.is_inside
    draft.is_inside = True
    for limits in boxes_of(scope, call):
        draft.region = limits
        read_statements(scope, body)
        draft.statement += not was_inside
    draft.region, draft.is_inside = None, was_inside
    if is_nested:
        _check_shifted(scope, call, first, before)


def _check_shifted(scope: Scope, call: ast.Call, first: int, before: frozenset[int]) -> None:
    """Refuse to read at an offset what the stencil has written before the region."""
    nodes = scope.tables.nodes
    wrong: dict[str, None] = {}
    roots = [ref for each in scope.draft.body[first:] for ref in each.roots]
    for read in reads_below(nodes, roots):
        if read.offset[:2] != (0, 0) and read.variable in before:
            wrong[scope.tables.variables[read.variable].name] = None
    if wrong:
        raise scope.syntax_error(
            call,
            "The following variables are written before being referenced with an offset in a "
            f"horizontal region: {', '.join(sorted(wrong))}.",
        )
