"""Draw field operators: statements, what they return, and what that reads of the parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .calls import Operator, Statement, caller
from .demand import Demand, Meaning, all_of
from .expressions import DEPTH, Scope, approximate, broadcast, exactly, expression, fielded
from .grids import HALVES, VERTICAL, Box, ordered
from .pieces import FLOATS, Draw, Env, Expr
from .statements import some_dtype, statement

EARLY: Final = "return"  # what stands for the result of an early return


def field_operator(
    d: Draw, name: str, features: frozenset[str], known: tuple[Operator, ...]
) -> Operator:
    """Draw an operator that may call the `known` ones."""
    within = _dimensions(d, features)
    if VERTICAL not in within:
        known = tuple(operator for operator in known if not operator.walks)
    scope = Scope(features, [], {}, calls=caller(known))
    statements = [
        statement(d, scope, within, index, known)
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
    if "staggered" in features and d.chance(15):
        return d.pick((("I", "Kh"), ("Ih", "K"), ("Ih", "J", "K"), ("Ih", "Jh"), ("Kh",)))
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
    lines = [f"    {line}" for each in statements for line in each.lines]
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
        for each in statements:
            each.run(meanings, env)
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
        if not leaf.flags.exact and leaf.dims and not {HALVES.get(x) for x in leaf.dims} & {*within}
    ]
    if loose and d.chance(60):
        return d.pick(loose)
    if d.chance(12):
        one = approximate(d, scope, d.pick(FLOATS), within, DEPTH - 1)
    else:
        one = expression(d, scope, some_dtype(d), within, DEPTH)
    return fielded(d, one, within)
