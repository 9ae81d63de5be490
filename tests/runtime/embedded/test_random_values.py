"""Random values of embedded execution against a reader that looks at one point at a time."""

import functools

import numpy as np
from hypothesis import given, settings, strategies as st

from fieldforge.runtime.embedded.builtins import as_offset, concat_where, neighbor_sum
from fieldforge.runtime.embedded.embedded import apply, callee
from fieldforge.runtime.embedded.piecewise_field import AnyValue, gap, on_box
from fieldforge.runtime.fields import context
from fieldforge.runtime.fields.constructors import as_connectivity, as_field
from fieldforge.runtime.language.connectivity import FieldOffset
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.language.domain import domain

from ...dimensions import Cell, K, Koff

Local = Dimension("C2C", DimensionKind.LOCAL)
C2C = FieldOffset("C2C", source=Cell, target=(Cell, Local))

CELLS, LEVELS = 6, 4
RNG = np.random.default_rng(11)
TABLE = RNG.integers(0, CELLS, (CELLS, 3))
TABLE[RNG.random(TABLE.shape) < 0.2] = -1
PROVIDER = {"C2C": as_connectivity([Cell, Local], Cell, TABLE, skip_value=-1)}
DATA = RNG.integers(-9, 10, (CELLS, LEVELS)).astype(np.float64)
OFFSETS = RNG.integers(-1, 2, (CELLS, LEVELS)).astype(np.int32)
OPS = {"lt": np.less, "ge": np.greater_equal, "eq": np.equal, "ne": np.not_equal}

CONDITIONS = st.recursive(
    st.one_of(
        st.tuples(st.just(Cell), st.sampled_from(sorted(OPS)), st.integers(0, CELLS)),
        st.tuples(st.just(K), st.sampled_from(sorted(OPS)), st.integers(-1, LEVELS)),
    ),
    lambda c: st.tuples(st.sampled_from(["and", "or"]), c, c),
    max_leaves=3,
)
BOXES = st.tuples(st.integers(0, 2), st.integers(3, CELLS), st.integers(0, 1), st.integers(2, 4))
TREES = st.recursive(
    st.one_of(
        st.tuples(st.just("field"), BOXES),
        st.tuples(st.just("column"), BOXES),
        st.tuples(st.just("number"), st.integers(-3, 3)),
    ),
    lambda t: st.one_of(
        st.tuples(st.sampled_from(["add", "mul"]), t, t),
        st.tuples(st.just("concat"), CONDITIONS, t, t),
        st.tuples(st.just("shift"), st.integers(-2, 2), t),
        st.tuples(st.just("near"), st.integers(0, 2), t),
        st.tuples(st.just("sum"), t),
        st.tuples(st.just("move"), t),
    ),
    max_leaves=6,
)


def region(condition):
    first, second, third = condition
    if first in ("and", "or"):
        return apply(first, region(second), region(third))
    return apply(second, first, np.int32(third))


def holds(condition, at):
    first, second, third = condition
    if first == "and":
        return holds(second, at) and holds(third, at)
    if first == "or":
        return holds(second, at) or holds(third, at)
    return bool(OPS[second](at[first], third))


def value(tree):
    """Evaluate a tree as embedded execution does."""
    match tree:
        case ("field", (c0, c1, k0, k1)):
            return as_field({Cell: (c0, c1), K: (k0, k1)}, DATA[c0:c1, k0:k1])
        case ("column", (_, _, k0, k1)):
            return as_field({K: (k0, k1)}, DATA[0, k0:k1])
        case ("number", number):
            return np.float64(number)
        case ("add" | "mul" as op, left, right):
            return apply(op, value(left), value(right))
        case ("concat", condition, then, otherwise):
            return concat_where(region(condition), value(then), value(otherwise))
    argument = value(tree[-1])
    dims = argument.domain.dims if isinstance(argument, AnyValue) else ()
    match tree:
        case ("shift", offset, _) if K in dims:
            return callee(argument)(K + offset)
        case ("near", slot, _) if Cell in dims:
            return callee(argument)(C2C[slot])
        case ("sum", _) if Cell in dims:
            return neighbor_sum(callee(argument)(C2C), axis=Local)
        case ("move", _) if K in dims:
            return callee(argument)(as_offset(Koff, as_field([Cell, K], OFFSETS)))
    return argument


UNDEFINED, ABSENT = "undefined", "absent"


def read(tree, at):  # noqa: PLR0912 - a branch for each kind of value
    """Return the value at one point, or that there is none, or none that means anything."""
    match tree:
        case ("field", (c0, c1, k0, k1)):
            inside = c0 <= at[Cell] < c1 and k0 <= at[K] < k1
            return DATA[at[Cell], at[K]] if inside else ABSENT
        case ("column", (_, _, k0, k1)):
            return DATA[0, at[K]] if k0 <= at[K] < k1 else ABSENT
        case ("number", number):
            return float(number)
        case ("add" | "mul" as op, left, right):
            return both(op, read(left, at), read(right, at))
        case ("concat", condition, then, otherwise):
            return read(then if holds(condition, at) else otherwise, at)
    argument = tree[-1]
    match tree:
        case ("shift", offset, _) if K in dims_of(argument):
            return read(argument, {**at, K: at[K] + offset})
        case ("near", slot, _) if Cell in dims_of(argument):
            if not 0 <= at[Cell] < CELLS:
                return ABSENT
            found = TABLE[at[Cell], slot]
            return UNDEFINED if found < 0 else read(argument, {**at, Cell: found})
        case ("sum", _) if Cell in dims_of(argument):
            if not 0 <= at[Cell] < CELLS:
                return ABSENT
            total = 0.0
            for found in TABLE[at[Cell]]:
                if found >= 0:
                    total = both("add", total, read(argument, {**at, Cell: found}))
            return total
        case ("move", _) if K in dims_of(argument):
            if not (0 <= at[Cell] < CELLS and 0 <= at[K] < LEVELS):
                return ABSENT
            found = read(argument, {**at, K: at[K] + int(OFFSETS[at[Cell], at[K]])})
            return UNDEFINED if found == ABSENT else found
    return read(argument, at)


def both(op, left, right):
    if ABSENT in (left, right):
        return ABSENT
    if UNDEFINED in (left, right):
        return UNDEFINED
    return left + right if op == "add" else left * right


def dims_of(tree):
    match tree:
        case ("field", _) | ("sum" | "move", ("field", _)):
            return {Cell, K}
        case ("column", _):
            return {K}
        case ("number", _):
            return set()
        case ("add" | "mul", left, right):
            return dims_of(left) | dims_of(right)
        case ("concat", condition, then, otherwise):
            return named(condition) | dims_of(then) | dims_of(otherwise)
        case ("move", argument):
            inner = dims_of(argument)
            return inner | {Cell} if K in inner else inner
    return dims_of(tree[-1])


def named(condition):
    first, second, third = condition
    return named(second) | named(third) if first in ("and", "or") else {first}


@functools.cache
def point(dims, indices):
    """Return the domain of one point."""
    return domain({dim: (index, index + 1) for dim, index in zip(dims, indices, strict=True)})


@settings(max_examples=400, deadline=None)
@given(TREES)
def test_a_value_is_what_one_reads_point_by_point_wherever_there_is_one(tree):
    box = domain({Cell: (-1, CELLS + 1), K: (-2, LEVELS + 2)})
    with context.running(PROVIDER):
        found = value(tree)
    if not isinstance(found, AnyValue):
        return

    assert set(found.domain.dims) == dims_of(tree)
    wanted = domain({dim: box[dim].unit_range for dim in found.domain.dims})
    for place in np.ndindex(wanted.shape):
        at = {dim: own[p] for (dim, own), p in zip(wanted, place, strict=True)}
        here = point(tuple(at), tuple(at.values()))
        expected = read(tree, {Cell: 0, K: 0, **at})
        inside = gap(found, here) is None
        if expected != UNDEFINED:
            assert inside == (expected != ABSENT)
        if inside and expected != UNDEFINED:
            assert on_box(found, here).asnumpy().item() == expected
