"""Draw field operators: statements, tuples, branches, calls of other operators, results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import attrs

from .demand import Demand, Meaning, all_of, nothing
from .expressions import (
    Scope,
    approximate,
    broadcast,
    exactly,
    expression,
    fielded,
)
from .grids import VERTICAL, Box, ordered
from .regions import concat_where_of_pairs
from .pieces import (
    DTYPES,
    FLOATS,
    PLAIN,
    Draw,
    Env,
    Expr,
    Flags,
    Kind,
    Type,
    Variable,
    annotation,
    at,
    leaves,
)

DEPTH: Final = 3
EARLY: Final = "return"  # what stands for the result of an early return


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


def field_operator(
    d: Draw, name: str, features: frozenset[str], known: tuple[Operator, ...]
) -> Operator:
    """Draw an operator that may call the `known` ones."""
    within = _dimensions(d, features)
    if VERTICAL not in within:
        known = tuple(operator for operator in known if not operator.walks)
    scope = Scope(features, [], {}, calls=_caller(known))
    statements = [
        _statement(d, scope, within, index, known)
        for index in range(d.weighted([(3, 0), (4, 1), (3, 2), (2, 3), (1, 5)]))
    ]
    parts = _result(d, scope, within)
    early = _early_return(d, scope, parts) if d.chance(12) else None
    if early is not None:
        statements.append(early)
    if scope.walks and early is None:
        parts = _mapped(parts, lambda part: broadcast(part, ordered({*part.dims, VERTICAL})))
    return _assembled(name, scope, statements, _written(parts), parts)


def _dimensions(d: Draw, features: frozenset[str]) -> tuple[str, ...]:
    """Draw the dimensions that the values of an operator may have."""
    if "unstructured" in features and d.chance(75):
        horizontal = d.pick(("Edge", "Cell", "Vertex"))
        return (horizontal, VERTICAL) if d.chance(60) else (horizontal,)
    return d.weighted(
        [(3, ("I",)), (4, ("I", "K")), (4, ("I", "J", "K")), (2, ("I", "J")), (1, ("K",))]
    )


def _early_return(d: Draw, scope: Scope, parts: Any) -> Statement | None:
    """Draw `if c: return ...` with the type of the result, or nothing after a scan was called."""
    condition = expression(d, scope, "bool", (), 2)
    others = _mapped(parts, lambda part: exactly(d, scope, part.kind, DEPTH - 2))
    if scope.walks:
        return None

    def run(names: dict[str, Meaning], env: Env) -> None:
        names[EARLY] = _mapped(others, lambda part: part.mean(env))

    lines = f"if {condition.text}:", f"    return {_written(others)}"
    return Statement(lines, run)


def _assembled(
    name: str, scope: Scope, statements: list[Statement], text: str, parts: Any
) -> Operator:
    lines = [f"    {line}" for statement in statements for line in statement.lines]
    signature = ", ".join(f"{each.name}: {each.type}" for each in scope.parameters)
    whole = [
        "@field_operator(backend=None)",
        f"def {name}({signature}):",
        *lines,
        f"    return {text}",
    ]
    flat = [part for _, part in _flat(parts)]
    names = [parameter.name for parameter in scope.parameters]

    def mean(arguments: list[Meaning], target: Box) -> Meaning:
        meanings: dict[str, Meaning] = dict(zip(names, arguments, strict=True))
        env = Env(meanings, target)
        for statement in statements:
            statement.run(meanings, env)
        result = _mapped(parts, lambda part: part.mean(env))
        return result if EARLY not in meanings else _either(result, meanings[EARLY])

    return Operator(
        name,
        "\n".join(whole),
        tuple(scope.parameters),
        _mapped(parts, lambda part: part.kind),
        tuple(part.flags for part in flat),
        mean,
        scope.walks,
    )


def _either(one: Meaning, other: Meaning) -> Meaning:
    if isinstance(one, Demand):
        return all_of(one.dims, one, other)
    return tuple(_either(*pair) for pair in zip(one, other, strict=True))


def _flat(parts: Any, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Expr]]:
    if isinstance(parts, Expr):
        return [(path, parts)]
    return [leaf for i, part in enumerate(parts) for leaf in _flat(part, (*path, i))]


def _mapped(parts: Any, change: Callable[[Expr], Any]) -> Any:
    if isinstance(parts, Expr):
        return change(parts)
    return tuple(_mapped(part, change) for part in parts)


def _written(parts: Any) -> str:
    if isinstance(parts, Expr):
        return parts.text
    return f"({', '.join(_written(part) for part in parts)},)"


# --- results ----------------------------------------------------------------------------------


def _result(d: Draw, scope: Scope, within: tuple[str, ...]) -> Any:
    """Draw what is returned: one field, several, or nested tuples of them."""
    match d.weighted([(6, "one"), (4, "two"), (2, "three"), (1, "nested")]):
        case "one":
            parts: Any = _field(d, scope, within)
        case "two":
            parts = tuple(_field(d, scope, within) for _ in range(2))
        case "three":
            parts = tuple(_field(d, scope, within) for _ in range(3))
        case _:
            pair = tuple(_field(d, scope, within) for _ in range(2))
            parts = (pair, _field(d, scope, within))
    return parts


def _field(d: Draw, scope: Scope, within: tuple[str, ...]) -> Expr:
    """Draw one result; what agrees only within some ulp can be nothing else."""
    loose = [
        leaf
        for variable in scope.variables.values()
        for leaf in variable.expressions()
        if not leaf.flags.exact and leaf.dims
    ]
    if loose and d.chance(60):
        return d.pick(loose)
    if d.chance(12):
        one = approximate(d, scope, d.pick(FLOATS), within, DEPTH - 1)
    else:
        one = expression(d, scope, _dtype(d), within, DEPTH)
    return fielded(d, one, within)


def _dtype(d: Draw) -> str:
    return d.pick(DTYPES[:4]) if d.chance(75) else d.pick(DTYPES)


# --- statements -------------------------------------------------------------------------------


def _statement(
    d: Draw, scope: Scope, within: tuple[str, ...], index: int, known: tuple[Operator, ...]
) -> Statement:
    name = f"t{index}"
    options = [(6, "assign"), (2, "pair"), (2, "branch"), (1, "where"), (1, "again")]
    options += [(1, "regions")] if "regions" in scope.features else []
    options += [(4, "call")] if known else []
    match d.weighted(options):
        case "pair":
            return _pair(d, scope, within, name)
        case "branch":
            return _branch(d, scope, within, name)
        case "where":
            return _choice_of_pairs(d, scope, within, name)
        case "regions":
            return _regions_of_pairs(d, scope, within, name)
        case "call":
            return _call_statement(d, scope, name, d.pick(known))
        case "again" if scope.variables:
            name = d.pick(sorted(each for each in scope.variables if each[0] != "a") or [name])
    one = expression(d, scope, _dtype(d), within, DEPTH)
    return _assign(scope, name, one)


def _assign(scope: Scope, name: str, one: Expr) -> Statement:
    scope.variables[name] = Variable(name, one.kind, (one.flags,))

    def run(names: dict[str, Meaning], env: Env) -> None:
        names[name] = one.mean(env)

    return Statement((f"{name} = {one.text}",), run)


def _pair(d: Draw, scope: Scope, within: tuple[str, ...], name: str) -> Statement:
    """Draw a tuple that is kept, or one that is taken apart at once."""
    pair = tuple(expression(d, scope, _dtype(d), within, DEPTH - 1) for _ in range(2))
    kinds, flags = tuple(each.kind for each in pair), tuple(each.flags for each in pair)
    if d.chance(15):
        return _starred(scope, name, pair)
    if d.chance(50):
        scope.variables[name] = Variable(name, kinds, flags)

        def keep(names: dict[str, Meaning], env: Env) -> None:
            names[name] = tuple(each.mean(env) for each in pair)

        return Statement((f"{name} = ({pair[0].text}, {pair[1].text})",), keep)
    parts = f"{name}x", f"{name}y"
    for part, kind, flag in zip(parts, kinds, flags, strict=True):
        scope.variables[part] = Variable(part, kind, (flag,))

    def unpack(names: dict[str, Meaning], env: Env) -> None:
        names.update(zip(parts, [each.mean(env) for each in pair], strict=True))

    return Statement((f"{parts[0]}, {parts[1]} = {pair[0].text}, {pair[1].text}",), unpack)


def _starred(scope: Scope, name: str, pair: tuple[Expr, ...]) -> Statement:
    """Write `x, *rest = a, b, a`."""
    first, rest = f"{name}x", f"{name}rest"
    scope.variables[first] = Variable(first, pair[0].kind, (pair[0].flags,))
    scope.variables[rest] = Variable(
        rest, (pair[1].kind, pair[0].kind), (pair[1].flags, pair[0].flags)
    )

    def run(names: dict[str, Meaning], env: Env) -> None:
        one, other = (each.mean(env) for each in pair)
        names.update({first: one, rest: (other, one)})

    return Statement((f"{first}, *{rest} = {pair[0].text}, {pair[1].text}, {pair[0].text}",), run)


def _choice_of_pairs(d: Draw, scope: Scope, within: tuple[str, ...], name: str) -> Statement:
    """Draw `where` of two tuples."""
    mask = fielded(d, expression(d, scope, "bool", within, DEPTH - 1), within)
    dtypes = _dtype(d), _dtype(d)
    pairs = [
        tuple(expression(d, scope, dtype, within, DEPTH - 2) for dtype in dtypes) for _ in range(2)
    ]
    texts = [f"({pair[0].text}, {pair[1].text})" for pair in pairs]
    columns = list(zip(*pairs, strict=True))
    kinds = tuple(
        Kind(ordered({*mask.dims, *one.dims, *other.dims}), one.dtype) for one, other in columns
    )
    flags = tuple(mask.flags | one.flags | other.flags for one, other in columns)
    scope.variables[name] = Variable(name, kinds, flags)

    def run(names: dict[str, Meaning], env: Env) -> None:
        names[name] = tuple(
            all_of(kind.dims, mask.mean(env), one.mean(env), other.mean(env))
            for kind, (one, other) in zip(kinds, columns, strict=True)
        )

    return Statement((f"{name} = where({mask.text}, {texts[0]}, {texts[1]})",), run)


def _regions_of_pairs(d: Draw, scope: Scope, within: tuple[str, ...], name: str) -> Statement:
    """Draw `concat_where` of two tuples."""
    dtypes = _dtype(d), _dtype(d)
    text, parts = concat_where_of_pairs(d, scope, dtypes, within, DEPTH - 2)
    scope.variables[name] = Variable(
        name, tuple(part.kind for part in parts), tuple(part.flags for part in parts)
    )

    def run(names: dict[str, Meaning], env: Env) -> None:
        names[name] = tuple(part.mean(env) for part in parts)

    return Statement((f"{name} = {text}",), run)


def _branch(d: Draw, scope: Scope, within: tuple[str, ...], name: str) -> Statement:
    """Draw `if` and `else` on a scalar; both give the name one type."""
    condition = expression(d, scope, "bool", (), 2)
    kind = Kind(ordered(dim for dim in within if d.chance(70)), _dtype(d))
    one, other = (exactly(d, scope, kind, DEPTH - 1) for _ in range(2))
    flags = condition.flags | one.flags | other.flags
    scope.variables[name] = Variable(name, kind, (flags,))

    def run(names: dict[str, Meaning], env: Env) -> None:
        names[name] = all_of(kind.dims, one.mean(env), other.mean(env))

    lines = (
        f"if {condition.text}:",
        f"    {name} = {one.text}",
        "else:",
        f"    {name} = {other.text}",
    )
    return Statement(lines, run)


# --- calls ------------------------------------------------------------------------------------


def _call_statement(d: Draw, scope: Scope, name: str, callee: Operator) -> Statement:
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
    if not parameter.region:
        return exactly(d, scope, parameter.type, DEPTH - 2)
    known = [each for each in scope.variables.values() if each.region]
    if known and d.chance(50):
        return d.pick(known).expressions()[0]
    if scope.can_grow():
        return scope.new_parameter(d, "int32", (), region=True)
    value = d.pick((1, 0, 3, -1))
    return Expr(str(value), Kind((), "int32"), lambda env: Demand((), lambda box: None, value))


def _caller(
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
