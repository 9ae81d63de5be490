"""Parse programs: a sequence of operator calls, each with an output and an optional domain."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from ...runtime.language import CollectionType, DataType, FieldType, ScalarType, TupleType, leaves
from ...runtime.process import MissingArgumentError
from ..ir import syntax
from .calls import callee, operands
from .expressions import understand
from .meanings import Axis, Builtin, Namespace, OperatorName, describe
from .outputs import read_target
from .promotion import is_integral
from .scope import Scope
from .unsupported import unsupported

ONLY_CALLS: Final = "A program is a sequence of operator calls 'op(a, b, out=c)'."
_CALCULATE: Final = "Move the computation into a field operator."
_ARITHMETIC: Final = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow,
    ast.BitAnd, ast.BitOr, ast.BitXor,
)  # fmt: skip
_APPLIED: Final = (
    syntax.ShiftBy, syntax.Displace, syntax.Neighbour, syntax.Neighbours, syntax.LocalElement,
)  # fmt: skip
_NOT_PASSED: Final = ("out", "domain")
_SCALAR_CALLS: Final = ("minimum", "maximum")


def read_calls(scope: Scope, statements: list[ast.stmt]) -> tuple[syntax.CallStatement, ...]:
    """Read the body of a program."""
    body = statements[1:] if _is_docstring(statements[0]) else statements
    if not body:
        raise scope.error(
            statements[0], "A program needs at least one operator call.", hints=[ONLY_CALLS]
        )
    return tuple(_statement(scope, each) for each in body)


def _is_docstring(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _statement(scope: Scope, statement: ast.stmt) -> syntax.CallStatement:
    if not isinstance(statement, ast.Expr):
        raise unsupported(scope.source.span(statement), statement, _as_call(statement))
    node = statement.value
    if not isinstance(node, ast.Call):
        raise scope.error(node, "Expected an operator call.", hints=[ONLY_CALLS])
    called = understand(scope, node.func)
    if not isinstance(called, OperatorName):
        raise scope.type_error(
            node.func, f"Expected an operator to call, got {describe(called)}.", hints=[ONLY_CALLS]
        )
    _read_arguments(scope, node)
    key, root = callee(scope, node, called, _NOT_PASSED)
    out, domain = _keyword(node, "out"), _keyword(node, "domain")
    if out is None:
        missing = MissingArgumentError(scope.source.span(node), "out", True, hints=[ONLY_CALLS])
        missing.message = "Missing required keyword argument 'out'."
        raise missing
    references, result = operands(scope, node, called.path, root, ignored=_NOT_PASSED)
    outputs = _outputs(scope, out, domain, result)
    return syntax.CallStatement(key, references, outputs)


def _as_call(statement: ast.stmt) -> str | None:
    """Return how to write 'b = op(a)' in a program."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Call() as call):
            keywords = [*call.keywords, ast.keyword("out", target)]
            written = ast.unparse(ast.Call(call.func, call.args, keywords))
            return f"Results go into parameters of the program: write '{written}'."
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
            return ONLY_CALLS
    return None


def _keyword(node: ast.Call, name: str) -> ast.expr | None:
    return next((each.value for each in node.keywords if each.arg == name), None)


def _read_arguments(scope: Scope, node: ast.Call) -> None:
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            raise unsupported(scope.source.span(argument), argument)
        read_argument(scope, argument)
    for keyword in node.keywords:
        if keyword.arg is None:
            raise scope.error(keyword, "Keyword arguments are written one by one, without '**'.")
        if keyword.arg not in _NOT_PASSED:
            read_argument(scope, keyword.value)


def read_argument(scope: Scope, node: ast.expr) -> None:
    """Read an argument: a parameter, a tuple, a literal, or an expression of scalars."""
    first = len(scope.nodes)
    for each in ast.walk(node):
        if isinstance(each, ast.expr) and not _is_allowed(scope, each):
            raise _not_for_programs(scope, each)
    understand(scope, node)
    for expression in scope.nodes[first:]:
        if isinstance(expression, _APPLIED):
            raise _not_for_programs(scope, node)
        if isinstance(expression, syntax.Operation) and isinstance(expression.type, FieldType):
            raise scope.error(
                node,
                f"Arithmetic in a program is for scalars only, got '{expression.type}'.",
                hints=[_CALCULATE],
            )


def _not_for_programs(scope: Scope, node: ast.expr) -> Exception:
    return scope.error(
        node,
        "Only parameters, tuples, literals and arithmetic on scalars can be passed in a program.",
        hints=[_CALCULATE],
    )


def _is_allowed(scope: Scope, node: ast.expr) -> bool:
    """Tell whether a program may contain this kind of node; names and types are checked later."""
    match node:
        case ast.BinOp():
            return isinstance(node.op, _ARITHMETIC)
        case ast.UnaryOp():
            return isinstance(node.op, ast.USub | ast.UAdd)
        case ast.Call():
            meaning = _static_name(scope, node.func)
            is_builtin = isinstance(meaning, Builtin) and meaning.name not in _SCALAR_CALLS
            return not is_builtin and not isinstance(meaning, OperatorName)
    return isinstance(node, ast.Name | ast.Constant | ast.Attribute | ast.Subscript | ast.Tuple)


def _static_name(scope: Scope, node: ast.expr) -> Any:
    """Return the meaning of a name or of an attribute of a module; None for other expressions."""
    inner = node
    while isinstance(inner, ast.Attribute):
        inner = inner.value
    if not isinstance(inner, ast.Name) or inner.id in scope.variables:
        return None
    found = understand(scope, node)
    return None if isinstance(found, Namespace) else found


def _as_field(result: DataType) -> DataType:
    """Return the type of the output; a scalar result needs a field without dimensions."""
    return FieldType((), result) if isinstance(result, ScalarType) else result


def _outputs(
    scope: Scope, out: ast.expr, domain: ast.expr | None, result: DataType
) -> tuple[syntax.Output, ...]:
    target = read_target(scope, out)
    found, expected = target.type, _as_field(result)
    if isinstance(out, ast.Tuple | ast.List) and isinstance(result, CollectionType):
        expected = TupleType(result.elements)
    if found == result and isinstance(result, ScalarType) and domain is None:
        return target.outputs  # the definition is accepted; building or running it is refused
    if found != expected:
        raise scope.type_error(
            out, f"Expected keyword argument 'out' to be of type '{expected}', got '{found}'."
        )
    for _, leaf in leaves(found):
        if not isinstance(leaf, FieldType):
            raise scope.type_error(out, f"Only fields can be written, got '{leaf}'.")
    if domain is None:
        return target.outputs
    if any(output.slices for output in target.outputs):
        raise scope.error(domain, "Either only domain or slicing allowed.")
    domains: tuple[_Domain, ...] = _leaf_domains(scope, domain, found, read_argument)
    return tuple(
        syntax.Output(output.parameter, output.path, domain=ranges)
        for output, ranges in zip(target.outputs, domains, strict=True)
    )


_Domain: TypeAlias = tuple[syntax.DomainRange, ...]


def _leaf_domains(
    scope: Scope, node: ast.expr, type_: DataType, read_bound: Callable[[Scope, ast.expr], None]
) -> tuple[_Domain, ...]:
    """Return the domain of each field in an output of type `type_`."""
    if isinstance(node, ast.Tuple | ast.List):
        elements = type_.elements if isinstance(type_, TupleType | CollectionType) else ()
        if len(elements) != len(node.elts):
            raise scope.type_error(
                node, f"Expected 'domain' to have the structure of 'out', which is '{type_}'."
            )
        found: list[_Domain] = []
        for each, element in zip(node.elts, elements, strict=True):
            found += _leaf_domains(scope, each, element, read_bound)  # type: ignore[arg-type]
        return tuple(found)
    if not isinstance(node, ast.Dict):
        raise scope.error(
            node,
            "Expected 'domain' to be a dictionary of ranges, or a tuple of dictionaries.",
            hints=["Write 'domain={I: (0, n), J: (0, m)}'."],
        )
    ranges = _ranges(scope, node, read_bound)
    dims = tuple(each.dim for each in ranges)
    for _, leaf in leaves(type_):
        if isinstance(leaf, FieldType) and leaf.dims != dims:
            raise scope.type_error(
                node,
                "Dimensions in out field and field domain are not equivalent: expected "
                f"'{_names(leaf.dims)}', got '{_names(dims)}'.",
                hints=["Write the same dimensions in the same order."],
            )
    return (ranges,) * sum(1 for _ in leaves(type_))


def _ranges(scope: Scope, node: ast.Dict, read_bound: Callable[[Scope, ast.expr], None]) -> _Domain:
    if not node.keys:
        raise scope.error(node, "Empty domain not allowed.", hints=["Leave 'domain' out."])
    ranges = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise scope.error(value, "Ranges of a domain are written one by one, without '**'.")
        meaning = understand(scope, key)
        if not isinstance(meaning, Axis):
            raise scope.type_error(
                key, f"Only dimensions can be keys of a domain, got {describe(meaning)}."
            )
        if not isinstance(value, ast.Tuple | ast.List) or len(value.elts) != 2:
            raise scope.type_error(
                value, "Expected 2 values for the start and the stop of a range."
            )
        start, stop = (_bound(scope, each, read_bound) for each in value.elts)
        ranges.append(syntax.DomainRange(meaning.dim, start, stop))
    return tuple(ranges)


def _bound(scope: Scope, node: ast.expr, read_bound: Callable[[Scope, ast.expr], None]) -> int:
    read_bound(scope, node)
    row = scope.value(node)
    if not isinstance(row.type, ScalarType) or not is_integral(row.type):
        raise scope.type_error(node, f"Bounds of a domain are integer scalars, got '{row.type}'.")
    return row.ref


def _names(dims: tuple[object, ...]) -> str:
    return ", ".join(getattr(dim, "value", str(dim)) for dim in dims)
