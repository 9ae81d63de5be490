"""Call the operator of a program of one statement by itself, with `out=` and `domain=`."""

import ast
from collections.abc import Mapping
from typing import Any, Final

import attrs

_VALUES: Final = (
    ast.Name, ast.Constant, ast.Attribute, ast.Tuple, ast.Dict, ast.Subscript, ast.Slice,
    ast.UnaryOp, ast.USub, ast.Load,
)  # fmt: skip


@attrs.frozen
class Call:
    """The statement of a program; its arguments mean the same outside of it."""

    operator: str
    node: ast.Call

    def run(self, backend: Any, names: Mapping[str, Any], tables: Mapping[str, Any]) -> None:
        """Call the operator by a backend; `names` has what the arguments mention."""
        arguments = [_value(each, names) for each in self.node.args]
        named = {str(each.arg): _value(each.value, names) for each in self.node.keywords}
        operator = names[self.operator].with_backend(backend)
        operator(*arguments, **named, offset_provider=tables)


def only_call(text: str) -> Call | None:
    r"""Return the only statement of a program, None if there are more or it calculates.

    >>> text = "def program_under_test(f0, s0):\n    op1(s0, out=f0[1:], domain={})\n"
    >>> only_call(text).operator
    'op1'
    >>> only_call(text.replace("(s0", "(s0 + 1")) is None
    True
    """
    program = ast.parse(text).body[-1]
    assert isinstance(program, ast.FunctionDef)
    match program.body:
        case [ast.Expr(ast.Call(ast.Name(operator)) as node)]:
            given = [*node.args, *(each.value for each in node.keywords)]
            return Call(operator, node) if all(map(_is_plain, given)) else None
    return None


def _is_plain(node: ast.expr) -> bool:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            if not isinstance(each.func, ast.Name) or each.func.id in ("minimum", "maximum"):
                return False
        elif not isinstance(each, (*_VALUES, ast.keyword)):
            return False
    return True


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    expression = ast.fix_missing_locations(ast.Expression(node))
    return eval(compile(expression, "<argument>", "eval"), dict(names))
