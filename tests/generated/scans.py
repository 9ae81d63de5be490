"""Draw scan operators: forward and backward, with a scalar or a tuple as the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .calls import Operator
from .demand import Meaning, column
from .expressions import DEPTH, Scope, expression
from .grids import VERTICAL, Box, ordered
from .literals import literal
from .pieces import DTYPES, PLAIN, Draw, Flags, Kind, Variable, annotation, leaves


def scan_operator(d: Draw, name: str, features: frozenset[str]) -> Operator:
    """Draw an operator that walks columns; its arguments have dimensions, its body has none."""
    dims = _dimensions(d, features)
    dtypes = [
        d.pick(DTYPES[:4]) if d.chance(80) else d.pick(DTYPES) for _ in range(d.pick((1, 2, 3)))
    ]
    nested = len(dtypes) == 3 and d.chance(40)
    state: Any = _nest([Kind((), each) for each in dtypes], nested)
    arguments = [
        Variable(f"a{i}", Kind((), d.pick(DTYPES[:5])), (PLAIN,)) for i in range(d.pick((1, 2, 3)))
    ]
    before = Variable("state", state, tuple(PLAIN for _ in dtypes))
    scope = Scope(frozenset(), [], {each.name: each for each in (before, *arguments)}, True)
    count = d.weighted([(3, 0), (3, 1), (1, 2)])
    lines = [_line(d, scope, f"t{index}") for index in range(count)]
    parts = [expression(d, scope, dtype, (), DEPTH).text for dtype in dtypes]
    first = [literal(d, dtype) for dtype in dtypes]
    signature = ", ".join(
        [f"state: {annotation(state)}", *(f"{each.name}: {each.type}" for each in arguments)]
    )
    forward, init = not d.chance(50), _spell(_nest(first, nested))
    text = "\n".join(
        [
            f"@scan_operator(axis=K, forward={forward}, init={init}, backend=None)",
            f"def {name}({signature}) -> {annotation(state)}:",
            *(f"    {line}" for line in lines),
            f"    return {_spell(_nest(parts, nested))}",
        ]
    )
    return _finished(d, name, text, dims, state, arguments)


def _finished(
    d: Draw, name: str, text: str, dims: tuple[str, ...], state: Any, arguments: list[Variable]
) -> Operator:
    """Choose the dimensions of the arguments; all of `dims` must occur, but for the vertical."""
    given = []
    for index, argument in enumerate(arguments):
        own = dims if index == 0 else ordered(dim for dim in dims if d.chance(60))
        given.append(Variable(argument.name, Kind(own, argument.type.dtype), (PLAIN,)))
    kinds = [Kind(dims, kind.dtype) for _, kind in leaves(state)]
    result: Any = _fields(state, lambda kind: Kind(dims, kind.dtype))

    def mean(values: list[Meaning], target: Box) -> Meaning:
        levels = target[VERTICAL]
        made = tuple(column(dims, tuple(values), levels) for _ in kinds)
        # Embedded execution walks the levels even where nobody uses the result.
        point = {dim: (start, start + 1) for dim, (start, _) in target.items()}
        made[0]({dim: point.get(dim, (0, 1)) for dim in dims})
        waiting = iter(made)
        return _fields(state, lambda kind: next(waiting))

    return Operator(
        name, text, tuple(given), result, tuple(Flags(column=True) for _ in kinds), mean, True
    )


def _dimensions(d: Draw, features: frozenset[str]) -> tuple[str, ...]:
    if "unstructured" in features and d.chance(70):
        return (d.pick(("Cell", "Edge", "Vertex")), VERTICAL)
    return d.weighted([(4, ("I", "K")), (2, ("I", "J", "K")), (1, ("K",))])


def _line(d: Draw, scope: Scope, name: str) -> str:
    dtype = d.pick(DTYPES[:5])
    one = expression(d, scope, dtype, (), DEPTH - 1)
    line = f"{name} = {one.text}"
    if d.chance(25):
        condition = expression(d, scope, "bool", (), 2)
        other = expression(d, scope, dtype, (), DEPTH - 1)
        line = (
            f"if {condition.text}:\n        {name} = {one.text}\n"
            f"    else:\n        {name} = {other.text}"
        )
    scope.variables[name] = Variable(name, Kind((), dtype), (PLAIN,))
    return line


def _nest(parts: list[Any], nested: bool) -> Any:
    """Return one part as it is, several as a tuple, or the first two as a tuple inside of it."""
    if len(parts) == 1:
        return parts[0]
    return ((parts[0], parts[1]), parts[2]) if nested else tuple(parts)


def _spell(parts: Any) -> str:
    return parts if isinstance(parts, str) else f"({', '.join(map(_spell, parts))})"


def _fields(type_: Any, change: Callable[[Kind], Any]) -> Any:
    if isinstance(type_, Kind):
        return change(type_)
    return tuple(_fields(part, change) for part in type_)
