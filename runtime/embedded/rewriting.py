"""Compile the copy of an operator's body that embedded execution runs.

In the copy `a + b - c` reads `apply("add", a, b, "sub", c)` and `f(x)` reads
`callee(f)(x)`, so that scalars too follow the language (5 / 2 is 2, int32 wraps). File,
lines and columns, globals and closure are those of the function, so debuggers and
tracebacks show what the user wrote.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import CellType, CodeType, FunctionType, MappingProxyType
from typing import Any, Final

from ..process import PYTHON_PARSER, SourceText

APPLY: Final = "__fieldforge_apply__"
CALLEE: Final = "__fieldforge_callee__"
CONSTANT: Final = "__fieldforge_constant__"

OPERATORS: Final[dict[type[ast.AST], str]] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div",
    ast.FloorDiv: "floordiv", ast.Mod: "mod", ast.Pow: "pow",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not",
}  # fmt: skip


def rewritten(
    function: FunctionType,
    source: SourceText,
    apply: Callable[..., Any],
    callee: Callable[[Any], Any],
    constant: Callable[[Any], Any],
    constants: frozenset[str],
    known: Mapping[str, Any] = MappingProxyType({}),
) -> FunctionType:
    """Return the copy of `function` whose operators call `apply` and whose calls `callee`.

    `constant` is called with what the free names `constants` mean, and with members of that. Names
    in `known` mean what stands there.
    """
    with PYTHON_PARSER:
        tree = ast.parse(source.text)
    definition = next(node for node in tree.body if isinstance(node, ast.FunctionDef))
    _strip(definition)
    _replace_operators(definition, constants)
    _move(definition, source.line - 1, source.indent)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    own = {**known, APPLY: apply, CALLEE: callee, CONSTANT: constant}
    cells |= {name: CellType(value) for name, value in own.items()}
    with PYTHON_PARSER:
        code = compiled(definition, tuple(cells), source.file)
    closure = tuple(cells[name] for name in code.co_freevars)
    copy = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def outputs_of(source: SourceText) -> frozenset[str]:
    r"""Return the names that stand in the 'out=' of calls.

    >>> sorted(outputs_of(SourceText("def run(a, b):\n    add(a, out=b[1:])\n", "m.py", 1, 0)))
    ['b']
    """
    with PYTHON_PARSER:
        tree = ast.parse(source.text)
    outs = (each for each in ast.walk(tree) if isinstance(each, ast.keyword) and each.arg == "out")
    return frozenset(
        node.id for out in outs for node in ast.walk(out.value) if isinstance(node, ast.Name)
    )


def _strip(definition: ast.FunctionDef) -> None:
    """Remove decorators, annotations and defaults: Python evaluated them at the definition."""
    definition.decorator_list, definition.returns = [], None
    definition.args.defaults, definition.args.kw_defaults = [], []
    if hasattr(definition, "type_params"):  # since Python 3.12
        definition.type_params = []
    for node in ast.walk(definition):
        if isinstance(node, ast.arg):
            node.annotation = None


def _replace_operators(definition: ast.FunctionDef, constants: frozenset[str]) -> None:
    # children first, without recursion: chains of a thousand operators are normal
    for parent in reversed(list(ast.walk(definition))):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, list):
                value[:] = [_replaced(child, constants) for child in value]
            elif isinstance(value, ast.AST):
                setattr(parent, field, _replaced(value, constants))


def _replaced(node: Any, constants: frozenset[str]) -> Any:
    match node:
        case ast.Name(name, ast.Load()) if name in constants:
            return _call(CONSTANT, [node], node)
        case ast.Attribute(ast.Call(ast.Name(name)), _, ast.Load()) if name == CONSTANT:
            return _call(CONSTANT, [node], node)
        case ast.BinOp(left, op, right) | ast.Compare(left, [op], [right]) if type(op) in OPERATORS:
            return _continued(left, ast.Constant(OPERATORS[type(op)]), right, node)
        case ast.UnaryOp(ast.USub(), ast.Constant(bool())):
            return _call(APPLY, [ast.Constant("neg"), node.operand], node)  # which refuses it
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)):
            return ast.copy_location(ast.Constant(-value), node)  # its type follows the sign
        case ast.UnaryOp(op, operand):
            return _call(APPLY, [ast.Constant(OPERATORS[type(op)]), operand], node)
        case ast.Call(func):
            node.func = _call(CALLEE, [func], func)
        case ast.AnnAssign(target, _, value) if value is not None:
            return ast.copy_location(ast.Assign([target], value), node)
    return node


def _continued(left: ast.expr, op: ast.Constant, right: ast.expr, place: ast.expr) -> ast.Call:
    """Return one call for a whole chain `a + b - c`: the compiler recurses on nested ones."""
    match left:
        case ast.Call(func=ast.Name(id=name), args=[_, _, _, *_]) if name == APPLY:
            left.args += [ast.copy_location(op, place), right]
            return ast.copy_location(left, place)
    return _call(APPLY, [op, left, right], place)


def _call(name: str, arguments: list[ast.expr], place: ast.AST) -> ast.Call:
    call = ast.Call(ast.Name(name, ast.Load()), arguments, [])
    for node in (call, call.func, *arguments):
        if not hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return call


def _move(definition: ast.FunctionDef, lines: int, columns: int) -> None:
    """Move the nodes to their positions in the file, from those in the dedented text."""
    moved = set()
    for node in ast.walk(definition):
        if isinstance(node, ast.expr | ast.stmt | ast.arg | ast.keyword) and node not in moved:
            moved.add(node)
            node.lineno += lines
            node.col_offset += columns
            if node.end_lineno is not None and node.end_col_offset is not None:
                node.end_lineno += lines
                node.end_col_offset += columns


def compiled(definition: ast.FunctionDef, free: tuple[str, ...], file: str) -> CodeType:
    """Compile a function that finds `free` in its closure; annotations are not evaluated."""
    parameters = [ast.arg(name) for name in free]
    extra: dict[str, Any] = {}
    if "type_params" in ast.FunctionDef._fields:  # since Python 3.12
        extra["type_params"] = []
    outer = ast.FunctionDef(
        name="__fieldforge_scope__",
        args=ast.arguments([], parameters, None, [], [], None, []),
        body=[definition],
        decorator_list=[],
        **extra,
    )
    for node in (outer, *parameters):
        ast.copy_location(node, definition)
    module = compile(ast.Module([outer], []), file, "exec", dont_inherit=True)
    scope = _nested_code(module, outer.name)
    return _nested_code(scope, definition.name)


def _nested_code(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
