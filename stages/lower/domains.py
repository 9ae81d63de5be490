"""Where statements write: symbolic boxes from whole fields, slices and `domain=`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from ...runtime.dimension import Dimension
from ...runtime.errors import DSLError
from ...runtime.types import INTEGERS
from ..ir import bounds
from ..ir.bounds import Bound, Const, DomainSymbol, Range, Ranges, ScalarSymbol
from ..ir.dataflow import Leaf, Literal, Map, Ref, Scalar
from ..ir.syntax import DomainRange, Output, OutputSlice
from .graph import Graph

LARGEST_POWER: Final = 8

BINARY: Final[Mapping[str, Callable[[Bound, Bound], Bound]]] = {
    "add": bounds.add,
    "sub": bounds.subtract,
    "mul": bounds.multiply,
    "div": bounds.truncate_divide,
    "floordiv": bounds.floor_divide,
    "mod": bounds.modulo,
    "minimum": bounds.minimum,
    "maximum": bounds.maximum,
}


def whole(leaf: Leaf) -> Ranges:
    """Return the box of all of a field."""
    return tuple(Range(dim, *ends(leaf, dim)) for dim in leaf.dims)


def ends(leaf: Leaf, dim: Dimension) -> tuple[Bound, Bound]:
    """Return the first index of a field along `dim`, and one past the last."""
    return DomainSymbol("start", leaf.name, dim), DomainSymbol("stop", leaf.name, dim)


def domain_scalar(leaf: Leaf, dim: Dimension, end: str) -> str:
    """Return the name of the scalar that gives one end of the `domain=` of an operator."""
    return f"domain.{leaf.name}.{dim.value}.{end}"


def domain_given(leaf: Leaf) -> Ranges:
    """Return the box of a field whose bounds are scalars of the call."""
    return tuple(
        Range(
            dim,
            ScalarSymbol(domain_scalar(leaf, dim, "start")),
            ScalarSymbol(domain_scalar(leaf, dim, "stop")),
        )
        for dim in leaf.dims
    )


def box_of(leaf: Leaf, output: Output, evaluate: Callable[[Ref], Bound]) -> Ranges:
    """Return the box of a field leaf that a statement of a program writes."""
    if output.slices:
        return sliced(leaf, output.slices)
    if output.domain:
        return tuple(_range(each, evaluate) for each in output.domain)
    return whole(leaf)


def sliced(leaf: Leaf, slices: Sequence[OutputSlice]) -> Ranges:
    """Return the box of `a[1:-1]`: relative to the field, negative bounds from its end."""
    return tuple(
        Range(
            dim,
            _relative(leaf, dim, each.start, "start"),
            _relative(leaf, dim, each.stop, "stop"),
        )
        for dim, each in zip(leaf.dims, slices, strict=True)
    )


def bound_of(graph: Graph, root: Ref) -> Bound:
    """Return an integer scalar expression as a bound."""
    done: dict[Ref, Bound] = {}
    stack = [root]
    while stack:
        ref = stack[-1]
        missing = [arg for arg in graph[ref].operands if arg not in done]
        stack += missing
        if not missing:
            done[stack.pop()] = _bound(graph, ref, done)
    return done[root]


def _range(each: DomainRange, evaluate: Callable[[Ref], Bound]) -> Range:
    return Range(each.dim, evaluate(each.start), evaluate(each.stop))


def _relative(leaf: Leaf, dim: Dimension, index: int | None, end: str) -> Bound:
    first, last = ends(leaf, dim)
    if index is None:
        return first if end == "start" else last
    return bounds.add(first if index >= 0 else last, index)


def _bound(graph: Graph, ref: Ref, done: Mapping[Ref, Bound]) -> Bound:
    value = graph[ref]
    match value:
        case Literal() if value.dtype in INTEGERS:
            return Const(int(value.text))
        case Scalar() if value.dtype in INTEGERS:
            return ScalarSymbol(value.name)
        case Map(op="cast") if graph[value.args[0]].dtype in INTEGERS and value.dtype in INTEGERS:
            return done[value.args[0]]
        case Map(op="abs"):
            return bounds.maximum(done[value.args[0]], bounds.multiply(done[value.args[0]], -1))
        case Map(op="neg"):
            return bounds.multiply(done[value.args[0]], -1)
        case Map() if value.op in BINARY:
            left, right = (done[arg] for arg in value.args)
            return BINARY[value.op](left, right)
        case Map(op="pow"):
            return _power(*(done[arg] for arg in value.args))
    what = value.op if isinstance(value, Map) else value.dtype
    raise DSLError(None, f"A bound of a domain cannot be made with '{what}'.", hints=(HINT,))


HINT: Final = (
    "Bounds are integers, made of scalar parameters with + - * / // %, minimum and maximum."
)


def _power(base: Bound, exponent: Bound) -> Bound:
    if not isinstance(exponent, Const) or not 0 <= exponent.value <= LARGEST_POWER:
        message = (
            f"A power in a bound of a domain needs a literal exponent from 0 to {LARGEST_POWER}."
        )
        raise DSLError(None, message)
    result: Bound = Const(1)
    for _ in range(exponent.value):
        result = bounds.multiply(result, base)
    return result
