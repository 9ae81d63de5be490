"""Draw well-typed expressions: the dtype is asked for, the dimensions come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from fieldforge.runtime.language.operations import POINTWISE

from .demand import all_of, displaced, halved, nothing, shifted
from .grids import CARTESIAN, HALVES, TABLES, VERTICAL, ordered
from .literals import literal
from .pieces import DTYPES, FLOATS, INTEGERS, PLAIN, SIGNED, Draw, Expr, Flags, Kind, Variable

_UNARY: Final = {
    name: row for name, row in POINTWISE.items() if row.arity == 1 and row.gives == "operand"
}
ROUNDING: Final = tuple(name for name, row in _UNARY.items() if not row.ulps)
TRANSCENDENTAL: Final = tuple(name for name, row in _UNARY.items() if row.ulps)
ULPS: Final = 4
GAMMA_ULPS: Final = 16  # the C library itself is wrong by up to 10
COMPARISONS: Final = ("<", ">=", "==", "!=", ">", "<=")
MOST_PARAMETERS: Final = 6
DEPTH: Final = 3  # of the expression in a statement


@attrs.define
class Scope:
    """What can be read where an expression stands; parameters come into being when they are used.

    `within` are the dimensions that an expression may have. In a scalar body (a scan's) there are
    none, and no parameters are added. `places` says which features may be drawn.
    """

    features: frozenset[str]
    parameters: list[Variable]
    variables: dict[str, Variable]
    frozen: bool = False
    walks: bool = False
    calls: Callable[[Draw, Scope, str, tuple[str, ...], int], Expr | None] | None = None

    def readable(self, dtype: str, within: tuple[str, ...]) -> list[Expr]:
        """Return the exact leaves of one dtype with no other dimensions than `within`."""
        known = [*self.variables.values()]
        return [
            leaf
            for variable in known
            for leaf in variable.expressions()
            if leaf.dtype == dtype and set(leaf.dims) <= set(within) and leaf.flags.exact
            and not leaf.kind.is_point
        ]  # fmt: skip

    def points(self, dtype: str) -> list[Expr]:
        """Return the parameters of one dtype that are fields without dimensions."""
        known = (each.expressions()[0] for each in self.parameters)
        return [each for each in known if each.kind.is_point and each.dtype == dtype]

    def new_parameter(
        self, d: Draw, dtype: str, within: tuple[str, ...], region: bool = False
    ) -> Expr:
        """Add a parameter to the operator and return it as an expression."""
        dims = ordered(dim for dim in within if not d.chance(20))
        owners = {table.local: table.target for table in TABLES}
        dims = ordered({*dims, *(owners[dim] for dim in dims if dim in owners)})
        dims = () if region or d.chance(12) else dims
        is_point = "points" in self.features and not dims and not region and bool(within)
        is_point = is_point and not is_local(within) and d.chance(50)
        kind = Kind(dims, dtype, is_point)
        variable = Variable(f"a{len(self.parameters)}", kind, (PLAIN,), region)
        self.parameters.append(variable)
        self.variables[variable.name] = variable
        found = variable.expressions()[0]
        return broadcast(found, within) if is_point else found

    def can_grow(self) -> bool:
        """Say whether another parameter may be added."""
        return not self.frozen and len(self.parameters) < MOST_PARAMETERS


def expression(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw an exact expression of a dtype, with dimensions out of `within`."""
    if depth <= 0:
        return leaf(d, scope, dtype, within)
    from .neighbours import unstructured  # it draws expressions, so it stands above this module

    options: list[tuple[int, Callable[..., Expr]]] = [(4, leaf), (12, _RULES[_family(dtype)])]
    options += [(2, converted), (2, ternary)]
    if within:
        options += [(4, choice), (1, repeated)]
        options += [(6, shift)] if _shiftable(within) and not is_local(within) else []
        is_halved = "staggered" in scope.features and _shiftable(within) and not is_local(within)
        options += [(3, half_shift)] if is_halved else []
        options += [(2, displacement)] if VERTICAL in within and not is_local(within) else []
        options += unstructured(scope, within)
        is_region = "regions" in scope.features and _shiftable(within)
        options += [(5, region), (4, masked)] if is_region else []
    if scope.calls is not None:
        options.append((2, call))
    return d.weighted(options)(d, scope, dtype, within, depth - 1)


def exactly(d: Draw, scope: Scope, kind: Kind, depth: int) -> Expr:
    """Draw an expression of exactly this type."""
    return broadcast(expression(d, scope, kind.dtype, kind.dims, depth), kind.dims)


def fielded(d: Draw, value: Expr, within: tuple[str, ...]) -> Expr:
    """Return the expression if it has dimensions, else repeat it along one of `within`."""
    return value if value.dims else broadcast(value, (d.pick(within),))


def broadcast(value: Expr, dims: tuple[str, ...]) -> Expr:
    """Repeat a value along the dimensions that it lacks."""
    if value.dims == dims:
        return value
    written = f"({', '.join(dims)},)"
    return _made(f"broadcast({value.text}, {written})", Kind(dims, value.dtype), value)


def leaf(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int = 0) -> Expr:
    """Draw a variable, a new parameter or a literal."""
    known = scope.readable(dtype, within)
    points = scope.points(dtype) if within and not is_local(within) else []
    options = [(6, "known")] if known else []
    options += [(3, "point")] if points else []
    options += [(3 if known else 8, "new")] if scope.can_grow() else []
    match d.weighted([*options, (2, "literal")]):
        case "known":
            return d.pick(known)
        case "new":
            return scope.new_parameter(d, dtype, within)
        case "point":
            return broadcast(d.pick(points), within)
    return Expr(literal(d, dtype), Kind((), dtype), lambda env: nothing())


# --- arithmetic -------------------------------------------------------------------------------


def integral(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw an operation on integers."""
    binary = ("+", "-", "*", "/", "//", "%", "minimum", "maximum", "fmod", "**")
    unary = ("neg", "abs") if dtype in SIGNED else ("abs",)
    return _operation(d, scope, dtype, within, depth, binary, unary)


def floating(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw an operation on floats whose every bit is defined."""
    binary = ("+", "-", "*", "/", "minimum", "maximum", "//", "fmod")
    return _operation(d, scope, dtype, within, depth, binary, ROUNDING)


def _operation(
    d: Draw,
    scope: Scope,
    dtype: str,
    within: tuple[str, ...],
    depth: int,
    binary: tuple[str, ...],
    unary: tuple[str, ...],
) -> Expr:
    one = expression(d, scope, dtype, within, depth)
    if d.chance(20):
        name = d.pick(unary)
        if name == "neg" and d.chance(60):
            return _made(f"(-{one.text})", one.kind, one)
        return _made(f"{name}({one.text})", one.kind, one)
    op = d.pick(binary)
    points = scope.points(dtype) if one.dims else []
    is_point = bool(points) and d.chance(25)
    other = d.pick(points) if is_point else expression(d, scope, dtype, within, depth)
    return joined(op, one, other, dtype)


def logical(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw a comparison, a predicate, or logic."""
    match d.weighted([(6, "compare"), (3, "logic"), (1, "not"), (2, "predicate")]):
        case "compare":
            of = d.pick(DTYPES[:4]) if d.chance(80) else d.pick((*FLOATS, *INTEGERS))
            one, other = (expression(d, scope, of, within, depth) for _ in range(2))
            return joined(d.pick(COMPARISONS), one, other, "bool")
        case "logic":
            one, other = (expression(d, scope, "bool", within, depth) for _ in range(2))
            return joined(d.pick(("&", "|", "^")), one, other, "bool")
        case "not":
            one = expression(d, scope, "bool", within, depth)
            return _made(f"({'~' if one.dims else 'not '}{one.text})", one.kind, one)
    one = expression(d, scope, d.pick(FLOATS), within, depth)
    name = d.pick(("isnan", "isinf", "isfinite"))
    return _made(f"{name}({one.text})", Kind(one.dims, "bool"), one)


def joined(op: str, one: Expr, other: Expr, dtype: str) -> Expr:
    """Return two expressions with an operator between or a function around them."""
    text = f"{op}({one.text}, {other.text})" if op.isalpha() else f"({one.text} {op} {other.text})"
    return _made(text, Kind(ordered({*one.dims, *other.dims}), dtype), one, other)


def _made(text: str, kind: Kind, *parts: Expr) -> Expr:
    """Return an expression that reads its parts where it is needed."""
    flags = PLAIN
    for part in parts:
        flags |= part.flags
    return Expr(
        text, kind, lambda env: all_of(kind.dims, *(part.mean(env) for part in parts)), flags
    )


def _family(dtype: str) -> str:
    return "bool" if dtype == "bool" else "float" if dtype in FLOATS else "int"


_RULES: Final = {"bool": logical, "float": floating, "int": integral}


# --- choices and conversions ------------------------------------------------------------------


def converted(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `astype` from another dtype."""
    one = expression(d, scope, d.pick(DTYPES), within, depth)
    return _made(f"astype({one.text}, {dtype})", Kind(one.dims, dtype), one)


def choice(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `where`, with a mask that is a field."""
    mask = fielded(d, expression(d, scope, "bool", within, depth), within)
    one, other = (expression(d, scope, dtype, within, depth) for _ in range(2))
    dims = ordered({*mask.dims, *one.dims, *other.dims})
    text = f"where({mask.text}, {one.text}, {other.text})"
    return _made(text, Kind(dims, dtype), mask, one, other)


def ternary(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `a if c else b`, whose branches have one type and whose condition is a scalar."""
    condition = expression(d, scope, "bool", (), min(depth, 2))
    one, other = (expression(d, scope, dtype, within, depth) for _ in range(2))
    dims = ordered({*one.dims, *other.dims})
    parts = condition, broadcast(one, dims), broadcast(other, dims)
    text = f"({parts[1].text} if {condition.text} else {parts[2].text})"
    return _made(text, Kind(dims, dtype), *parts)


def repeated(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `broadcast` to some of the dimensions."""
    one = expression(d, scope, dtype, within, depth)
    dims = ordered(dim for dim in within if dim in one.dims or d.chance(50))
    return broadcast(one, dims)


def call(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw a call of another operator, or something simpler where none fits."""
    assert scope.calls is not None
    made = scope.calls(d, scope, dtype, within, depth)
    return made if made is not None else expression(d, scope, dtype, within, depth)


# --- shifts --------------------------------------------------------------------


def _shiftable(dims: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dim for dim in dims if dim in CARTESIAN)


def shift(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `f(I + 1)` or `f(I + 1, J - 2)`."""
    one = expression(d, scope, dtype, within, depth)
    dims = [dim for dim in _shiftable(one.dims) if not (one.flags.column and dim == VERTICAL)]
    if not dims:
        return one
    steps = [(d.pick(dims), d.pick((1, -1, 2, -3))) for _ in range(2 if d.chance(20) else 1)]
    written = ", ".join(f"{dim} {'+' if n > 0 else '-'} {abs(n)}" for dim, n in steps)
    field = one.text if one.text.endswith(")") or one.text.isidentifier() else f"({one.text})"
    return Expr(
        f"{field}({written})",
        one.kind,
        lambda env: shifted(one.mean(env), tuple(steps)),
        one.flags,
    )


def half_shift(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `f(I + 0.5)`, where `f` lies on the staggered counterpart of `I`, or the reverse."""
    onto = d.pick(_shiftable(within))
    dim = HALVES[onto]
    inner = ordered({*(each for each in within if each != onto), dim})
    one = expression(d, scope, dtype, inner, depth)
    if dim not in one.dims or (one.flags.column and dim == VERTICAL):
        return one if dim not in one.dims else expression(d, scope, dtype, within, depth)
    half = d.pick((0.5, -0.5, 1.5, -2.5))
    offset = int(half - 0.5 if onto.endswith("h") else half + 0.5)
    dims = ordered({*(each for each in one.dims if each != dim), onto})
    return Expr(
        f"{callable_text(one)}({onto} {'+' if half > 0 else '-'} {abs(half)})",
        Kind(dims, dtype),
        lambda env: halved(one.mean(env), dim, onto, offset, dims),
        one.flags,
    )


def displacement(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `f(as_offset(Koff, by % 3 - 1))`."""
    one = expression(d, scope, dtype, within, depth)
    if VERTICAL not in one.dims or one.flags.column:
        return one
    # embedded offsets need an end along the vertical, which a parameter has
    if not scope.can_grow():
        return one
    by = scope.new_parameter(d, "int32", within)
    if VERTICAL not in by.dims:
        return one
    dims = ordered({*one.dims, *by.dims})
    return Expr(
        f"{callable_text(one)}(as_offset(Koff, ({by.text} % 3) - 1))",
        Kind(dims, dtype),
        lambda env: displaced(one.mean(env), by.mean(env), dims, 1),
        one.flags | by.flags,
    )


def is_local(dims: tuple[str, ...]) -> bool:
    """Tell whether there is a local dimension."""
    return any(table.local in dims for table in TABLES)


def callable_text(one: Expr) -> str:
    """Return the text of a field so that brackets with offsets may follow."""
    plain = one.text.endswith(")") or one.text.isidentifier()
    return one.text if plain else f"({one.text})"


# --- regions ----------------------------------------------------------------------------------


def region(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `concat_where`; see `regions.py`."""
    from .regions import concat_where  # it draws expressions, so it stands above this module

    return concat_where(d, scope, dtype, within, depth)


def masked(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw `where` whose sides may be read beyond the inputs; see `regions.py`."""
    from .regions import masked as where  # it draws expressions, so it stands above this module

    return where(d, scope, dtype, within, depth)


# --- results that agree only within some ulp --------------------------------------------------


def approximate(d: Draw, scope: Scope, dtype: str, within: tuple[str, ...], depth: int) -> Expr:
    """Draw a transcendental function of something exact, as the last step before a result."""
    one = expression(d, scope, dtype, within, depth)
    if d.chance(20):
        other = expression(d, scope, dtype, within, depth)
        made = joined("**" if d.chance(50) else "power", one, other, dtype)
        return attrs.evolve(made, flags=made.flags | Flags(ULPS))
    name = d.pick(TRANSCENDENTAL)
    made = _made(f"{name}({one.text})", one.kind, one)
    return attrs.evolve(made, flags=made.flags | Flags(GAMMA_ULPS if name == "gamma" else ULPS))
