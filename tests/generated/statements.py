"""Draw the statements of a body: assignments, tuples, branches, calls."""

from .calls import Operator, Statement, call_statement
from .demand import Meaning, all_of
from .expressions import DEPTH, Scope, exactly, expression, fielded
from .grids import ordered
from .pieces import DTYPES, Draw, Env, Expr, Kind, Variable
from .regions import concat_where_of_pairs


def statement(
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
            return call_statement(d, scope, name, d.pick(known))
        case "again" if scope.variables:
            name = d.pick(sorted(each for each in scope.variables if each[0] != "a") or [name])
    one = expression(d, scope, some_dtype(d), within, DEPTH)
    return _assign(scope, name, one)


def _assign(scope: Scope, name: str, one: Expr) -> Statement:
    scope.variables[name] = Variable(name, one.kind, (one.flags,))

    def run(names: dict[str, Meaning], env: Env) -> None:
        names[name] = one.mean(env)

    return Statement((f"{name} = {one.text}",), run)


def _pair(d: Draw, scope: Scope, within: tuple[str, ...], name: str) -> Statement:
    """Draw a tuple that is kept, or one that is taken apart at once."""
    pair = tuple(expression(d, scope, some_dtype(d), within, DEPTH - 1) for _ in range(2))
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
    dtypes = some_dtype(d), some_dtype(d)
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
    dtypes = some_dtype(d), some_dtype(d)
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
    kind = Kind(ordered(dim for dim in within if d.chance(70)), some_dtype(d))
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


def some_dtype(d: Draw) -> str:
    return d.pick(DTYPES[:4]) if d.chance(75) else d.pick(DTYPES)
