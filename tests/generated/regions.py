"""Draw `concat_where` with every form of condition; each branch is read on its own part only."""

import operator
from collections.abc import Callable
from itertools import pairwise, product
from typing import Final, TypeAlias

import attrs

from .boxes import hull
from .demand import Demand, Mode, asking, mode
from .expressions import Scope, expression
from .grids import CARTESIAN, HORIZONTAL, Box, ordered
from .pieces import Draw, Env, Expr, Kind

Truth: TypeAlias = Callable[[Env, dict[str, int]], bool]  # at a point
Cuts: TypeAlias = Callable[[Env], list[tuple[str, int]]]  # where the truth may change
Condition: TypeAlias = tuple[str, frozenset[str], Truth, Cuts]  # text, dimensions, and these

_COMPARE: Final = {
    "<": operator.lt, ">=": operator.ge, "==": operator.eq, "<=": operator.le, ">": operator.gt,
    "!=": operator.ne,
}  # fmt: skip
_MIRRORED: Final = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def concat_where(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw a selection of regions along dimensions out of `within`."""
    along = [dim for dim in within if dim in (*CARTESIAN, *HORIZONTAL)]
    condition = _condition(d, scope, along, d.weighted([(6, 0), (3, 1), (1, 2)]))
    one, other = (expression(d, scope, dtype, within, depth) for _ in range(2))
    made = _selected(condition, one, other)
    text = f"concat_where({condition[0]}, {one.text}, {other.text})"
    return attrs.evolve(made, text=text)


def masked(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `where` by indices: each side has values where it is taken, and is read beyond them."""
    along = [dim for dim in within if dim in (*CARTESIAN, *HORIZONTAL)]
    condition = _condition(d, scope, along, d.weighted([(6, 0), (2, 1)]))
    one, other = (expression(d, scope, dtype, within, depth) for _ in range(2))
    taken = _selected(condition, one, other)
    text = f"where(concat_where({condition[0]}, True, False), {one.text}, {other.text})"

    def mean(env: Env) -> Demand:
        used, sides = taken.mean(env), (one.mean(env), other.mean(env))

        def ask(box: Box) -> None:
            if mode() is Mode.USED:
                used(box)
            with asking(Mode.HIDDEN if mode() is Mode.USED else mode()):
                for side in sides:
                    side(box)

        return Demand(taken.dims, ask)

    return attrs.evolve(taken, text=text, mean=mean)


def concat_where_of_pairs(
    d: Draw, scope: Scope, dtypes: tuple[str, str], within: tuple[str, ...], depth: int
) -> tuple[str, tuple[Expr, ...]]:
    """Draw a selection between two tuples; return its text and its elements."""
    along = [dim for dim in within if dim in (*CARTESIAN, *HORIZONTAL)]
    condition = _condition(d, scope, along, d.weighted([(6, 0), (3, 1)]))
    pairs = [tuple(expression(d, scope, each, within, depth) for each in dtypes) for _ in range(2)]
    texts = [f"({pair[0].text}, {pair[1].text})" for pair in pairs]
    parts = tuple(_selected(condition, *both) for both in zip(*pairs, strict=True))
    return f"concat_where({condition[0]}, {texts[0]}, {texts[1]})", parts


def _selected(condition: Condition, one: Expr, other: Expr) -> Expr:
    """Return what is read for one element; the text is up to the caller.

    A branch is read on the hull of its parts. What a compound condition leaves of it is
    more than its parts wherever a box of it is empty, so there the whole of it may be read.
    """
    text, dims, truth, cuts = condition
    compound = "&" in text or "|" in text
    kind = Kind(ordered({*dims, *one.dims, *other.dims}), one.dtype)

    def mean(env: Env) -> Demand:
        branches = one.mean(env), other.mean(env)

        def ask(box: Box) -> None:
            asked: list[Box | None] = [None, None]
            for part in _parts(box, cuts(env)):
                corner = {dim: start for dim, (start, _) in part.items()}
                side = 0 if truth(env, corner) else 1
                asked[side] = hull(asked[side], part)
            for branch, part in zip(branches, asked, strict=True):
                if part is not None:
                    branch(box if compound else part)

        return Demand(kind.dims, ask)

    return Expr("", kind, mean, one.flags | other.flags)


def _condition(d: Draw, scope: Scope, along: list[str], depth: int) -> Condition:
    if depth <= 0:
        return _comparison(d, scope, along)
    left = _condition(d, scope, along, depth - 1)
    right = _condition(d, scope, along, depth - 1)
    is_and = d.chance(50)

    def truth(env: Env, point: dict[str, int]) -> bool:
        both = left[2](env, point), right[2](env, point)
        return all(both) if is_and else any(both)

    text = f"({left[0]} {'&' if is_and else '|'} {right[0]})"
    return text, left[1] | right[1], truth, lambda env: left[3](env) + right[3](env)


def _comparison(d: Draw, scope: Scope, along: list[str]) -> Condition:
    dim, op = d.pick(along), d.pick(tuple(_COMPARE))
    text, number = _bound(d, scope)
    mirrored = d.chance(20)
    written = f"({text} {_MIRRORED[op]} {dim})" if mirrored else f"({dim} {op} {text})"

    def truth(env: Env, point: dict[str, int]) -> bool:
        return bool(_COMPARE[op](point[dim], number(env)))

    def cuts(env: Env) -> list[tuple[str, int]]:
        return [(dim, number(env)), (dim, number(env) + 1)]

    return written, frozenset({dim}), truth, cuts


def _bound(d: Draw, scope: Scope) -> tuple[str, Callable[[Env], int]]:
    """Draw an int32 scalar whose value the demands can know."""
    known = [each for each in scope.variables.values() if each.region]
    form = d.weighted([(4, "literal"), (3 if known else 0, "known"), (2, "new")])
    if form == "literal" or (form == "new" and not scope.can_grow()):
        value = d.pick((1, 0, 2, 3, -1, 5, 100))
        return str(value), lambda env: value
    name = d.pick(known).name if form == "known" else _fresh(d, scope)
    offset = d.pick((0, 0, 1, -1))
    text = name if not offset else f"{name} {'+' if offset > 0 else '-'} 1"
    return text, lambda env: int(env.names[name].value) + offset


def _fresh(d: Draw, scope: Scope) -> str:
    return scope.new_parameter(d, "int32", (), region=True).text


def _parts(box: Box, cuts: list[tuple[str, int]]) -> list[Box]:
    """Cut a box into pieces on which the condition does not change."""
    ranges = []
    for dim, (start, stop) in box.items():
        inner = {place for at, place in cuts if at == dim and start < place < stop}
        ranges.append([(dim, piece) for piece in pairwise(sorted({start, stop, *inner}))])
    return [dict(pieces) for pieces in product(*ranges)]
