"""Draw calls of operators: what an operator is to those that call it, and its arguments."""

from collections.abc import Callable

import attrs

from .demand import Demand, Meaning
from .expressions import DEPTH, Scope, exactly
from .grids import Box
from .pieces import PLAIN, Draw, Env, Expr, Flags, Kind, Type, Variable, at, leaves


@attrs.frozen
class Operator:
    """A field or scan operator: its text, and what its results read of its arguments."""

    name: str
    text: str
    parameters: tuple[Variable, ...]
    result: Type
    flags: tuple[Flags, ...]
    mean: Callable[[list[Meaning], Box], Meaning] = attrs.field(eq=False)
    walks: bool = False  # calls a scan, or is one: all its results have the vertical dimension


@attrs.frozen
class Statement:
    """Lines of a body, and what they do to the meaning of names."""

    lines: tuple[str, ...]
    run: Callable[[dict[str, Meaning], Env], None] = attrs.field(eq=False)


def call_statement(d: Draw, scope: Scope, name: str, callee: Operator) -> Statement:
    text, mean, flags = _call(d, scope, callee)
    scope.variables[name] = Variable(name, callee.result, flags)

    def run(names: dict[str, Meaning], env: Env) -> None:
        names[name] = mean(env)

    return Statement((f"{name} = {text}",), run)


def _call(
    d: Draw, scope: Scope, callee: Operator
) -> tuple[str, Callable[[Env], Meaning], tuple[Flags, ...]]:
    """Draw the arguments of a call, by position or by name."""
    scope.walks |= callee.walks
    arguments = [_argument(d, scope, parameter) for parameter in callee.parameters]
    given, flags = PLAIN, []
    for argument in arguments:
        given |= argument.flags
    flags = [flag | given for flag in callee.flags]
    named = d.chance(30)
    texts = [
        f"{parameter.name}={argument.text}" if named else argument.text
        for parameter, argument in zip(callee.parameters, arguments, strict=True)
    ]

    def mean(env: Env) -> Meaning:
        return callee.mean([argument.mean(env) for argument in arguments], env.target)

    return f"{callee.name}({', '.join(texts)})", mean, tuple(flags)


def _argument(d: Draw, scope: Scope, parameter: Variable) -> Expr:
    if parameter.type.is_point:
        points = scope.points(parameter.type.dtype)
        if points and d.chance(60):
            return d.pick(points)
        return exactly(d, scope, Kind((), parameter.type.dtype), DEPTH - 2)
    if not parameter.region:
        return exactly(d, scope, parameter.type, DEPTH - 2)
    known = [each for each in scope.variables.values() if each.region]
    if known and d.chance(50):
        return d.pick(known).expressions()[0]
    if scope.can_grow():
        return scope.new_parameter(d, "int32", (), region=True)
    value = d.pick((1, 0, 3, -1))
    return Expr(str(value), Kind((), "int32"), lambda env: Demand((), lambda box: None, value))


def caller(
    known: tuple[Operator, ...],
) -> Callable[[Draw, Scope, str, tuple[str, ...], int], Expr | None] | None:
    """Return what draws a call inside of an expression."""
    if not known:
        return None

    def draw(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr | None:
        fitting = [
            (operator, path, kind)
            for operator in known
            for (path, kind), flag in zip(leaves(operator.result), operator.flags, strict=True)
            if kind.dtype == dtype and set(kind.dims) <= set(within) and flag.exact
        ]
        if not fitting:
            return None
        operator, path, kind = d.pick(fitting)
        text, mean, flags = _call(d, scope, operator)
        index = [where for where, _ in leaves(operator.result)].index(path)
        element = "".join(f"[{i}]" for i in path)
        return Expr(text + element, kind, lambda env: at(mean(env), path), flags[index])

    return draw
