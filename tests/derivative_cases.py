"""Operators and programs with derivatives, random arguments for them, and their leaves."""

import numpy as np

import fieldforge as ff
from fieldforge import broadcast, float64, int32, max_over, maximum, neighbor_sum, sqrt, where
from fieldforge.experimental import as_offset, concat_where
from fieldforge.runtime.language.structure import leaves_of, map_leaves

from .dimensions import C2E, C2EDim, Cell, Column, Edge, I, K, Koff, Line

Plane = ff.Field[ff.Dims[I, K], float64]
Cells, Edges = ff.Field[ff.Dims[Cell], float64], ff.Field[ff.Dims[Edge], float64]
Sparse = ff.Field[ff.Dims[Cell, C2EDim], float64]


@ff.field_operator(backend=None)
def limited(u: Line, dt: float) -> Line:
    rise = u(I + 1) - 2.0 * u + u(I - 1)
    bent = where(rise > 0.0, sqrt(rise), maximum(rise, -0.5) * u)
    return concat_where(I < 5, bent * dt, 3.0)


@ff.scan_operator(axis=K, forward=True, init=(0.0, 1.0))
def bounded(state: tuple[float, float], a: float, b: float) -> tuple[float, float]:
    z = a * state[0] + b
    if z > 0.5:
        z = 0.5 + 0.1 * z * z
    return z, 0.5 * state[1] * z + a


@ff.field_operator(backend=None)
def swept(pair: tuple[Plane, Plane], surface: Line) -> Plane:
    first, second = bounded(pair[0], pair[1] * surface)
    return first * second


@ff.field_operator(backend=None)
def gathered(e: Edges, w: Sparse) -> Cells:
    return neighbor_sum(w * e(C2E), axis=C2EDim) + max_over(e(C2E), axis=C2EDim) * e(C2E[0])


@ff.field_operator(backend=None)
def displaced(u: Column, by: ff.Field[ff.Dims[K], int32]) -> Column:
    return u(as_offset(Koff, by)) * u


@ff.field_operator(backend=None)
def repeated(c: Column, u: Line) -> Plane:
    return broadcast(c, (I, K)) * u


@ff.field_operator(backend=None)
def moved(u: Line) -> Line:
    return u * u(I - 1)


@ff.program(backend=None)
def in_place(u: Line, v: Line, n: int32):
    moved(u, out=v[1:])
    moved(v, out=u, domain={I: (2, n)})
    moved(u, out=v, domain={I: (3, n)})


def draw(*shape, seed=0):
    return np.random.default_rng([seed, *shape]).normal(size=shape)


TABLE = ff.as_connectivity(
    [Cell, C2EDim], Edge, np.array([[0, 1, 2], [2, 3, 0], [4, 1, 3]], np.int32)
)
CASES = {
    "shifts": (limited, {"u": ff.as_field({I: (-1, 9)}, draw(10)), "dt": 0.7}, {I: (0, 8)}, {}),
    "scan": (
        swept,
        {
            "pair": (ff.as_field([I, K], draw(3, 5)), ff.as_field([I, K], draw(3, 5, seed=1))),
            "surface": ff.as_field([I], draw(3)),
        },
        {I: 3, K: 5},
        {},
    ),
    "neighbours": (
        gathered,
        {"e": ff.as_field([Edge], draw(5)), "w": ff.as_field([Cell, C2EDim], draw(3, 3))},
        None,
        {"C2E": TABLE},
    ),
    "displacement": (
        displaced,
        {
            "u": ff.as_field([K], draw(4)),
            "by": ff.as_field([K], np.array([3, 1, -1, -3], np.int32)),
        },
        {K: 4},
        {"Koff": K},
    ),
    "broadcast": (repeated, {"c": ff.as_field([K], draw(3)), "u": ff.as_field([I], draw(2))},
                  {I: 2, K: 3}, {}),
    "program": (
        in_place,
        {"u": ff.as_field([I], draw(7)), "v": ff.as_field([I], draw(7, seed=1)), "n": 6},
        None,
        {},
    ),
}  # fmt: skip


def floats(value):
    return [leaf for _, leaf in leaves_of(value) if leaf is not None and not isinstance(leaf, int)]


def numbers(value):
    """Return all float leaves of arguments or results, one after the other."""
    given = value.values() if isinstance(value, dict) else [value]
    leaves = [leaf for each in given for leaf in floats(each)]
    arrays = [leaf.asnumpy() if hasattr(leaf, "asnumpy") else np.array(leaf) for leaf in leaves]
    return np.concatenate([a.ravel() for a in arrays if a.dtype.kind == "f"])


def like(value, rng):
    """Return random tangents for arguments or results."""
    match value:
        case dict():
            return {name: like(each, rng) for name, each in value.items()}
        case tuple():
            return tuple(like(each, rng) for each in value)
        case int() | None:
            return None
        case float():
            return rng.normal()
    if value.dtype.dtype.kind != "f":
        return None
    return ff.as_field(value.domain, rng.normal(size=value.shape))


def moved_by(value, tangent, h):
    match value:
        case dict():
            return {name: moved_by(each, tangent[name], h) for name, each in value.items()}
        case tuple():
            return tuple(moved_by(*both, h) for both in zip(value, tangent, strict=True))
    if tangent is None:
        return value
    if isinstance(value, float):
        return value + h * tangent
    return ff.as_field(value.domain, value.asnumpy() + h * tangent.asnumpy())


@ff.program(backend=None)
def shift(u: Line, dt: float64, out: Line):
    limited(u, dt, out=out)


@ff.program(backend=None)
def sweep(pair: tuple[Plane, Plane], surface: Line, out: Plane):
    swept(pair, surface, out=out)


@ff.program(backend=None)
def gather(e: Edges, w: Sparse, out: Cells):
    gathered(e, w, out=out)


@ff.program(backend=None)
def displace(u: Column, by: ff.Field[ff.Dims[K], int32], out: Column):
    displaced(u, by, out=out)


@ff.program(backend=None)
def repeat(c: Column, u: Line, out: Plane):
    repeated(c, u, out=out)


PROGRAMS = {
    "shifts": (shift, {I: (0, 8)}),
    "scan": (sweep, {I: 3, K: 5}),
    "neighbours": (gather, {Cell: 3}),
    "displacement": (displace, {K: 4}),
    "broadcast": (repeat, {I: 2, K: 3}),
    "program": (in_place, None),
}


def program_case(case):
    """Return a program with the arguments of a case, its outputs by name, and its tables."""
    _, primals, _, provider = CASES[case]
    program, domain = PROGRAMS[case]
    if domain is None:
        return program, dict(primals), ("u", "v"), provider
    return program, {**primals, "out": ff.zeros(domain)}, ("out",), provider


def copied(value):
    """Return an argument with memory of its own."""
    return map_leaves(
        lambda leaf: (
            ff.as_field(leaf.domain, leaf.asnumpy().copy()) if hasattr(leaf, "domain") else leaf
        ),
        value,
    )


@ff.field_operator(backend=None)
def squared(u: Line) -> Line:
    return u * u


@ff.program(backend=None)
def square(u: Line, out: Line):
    squared(u, out=out)
