"""Make the symbolic boxes that statements write: from whole fields, slices and `domain=`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ...runtime.language import INTEGERS, Dimension
from ...runtime.language.exact_integers import LARGEST_POWER
from ...runtime.process import DSLError
from ..artifacts import Variant
from ..ir import bounds
from ..ir.dataflow import Bound, Const, Leaf, Literal, Map, Range, Ranges, Ref, Scalar, ScalarSymbol
from ..ir.syntax import DomainRange, Output, OutputSlice
from .graph import Graph

NONE: Final[Mapping[str, Sequence[Leaf]]] = {}

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


Alike: TypeAlias = Mapping[str, Sequence[Leaf]]  # by leaf: the leaf that represents its ranges


def alike_in(variant: Variant, leaves: Mapping[str, Leaf]) -> Alike:
    """Return the leaves that have the ranges of each leaf in a variant."""
    return {
        name: [leaves[each] for each in names if each in leaves]
        for names in variant.alike
        for name in names
    }


def whole(leaf: Leaf, alike: Alike = NONE) -> Ranges:
    """Return the box of a whole field."""
    return tuple(Range(dim, *ends(leaf, dim, alike)) for dim in leaf.dims)


def ends(leaf: Leaf, dim: Dimension, alike: Alike = NONE) -> tuple[Bound, Bound]:
    """Return the first index of a field along `dim`, and one past the last."""
    return _first_alike(leaf, dim, alike).ends(dim)


def domain_scalar(leaf: Leaf, dim: Dimension, end: str) -> str:
    """Return the name of the scalar that gives one end of the `domain=` of an operator."""
    return f"domain.{leaf.name}.{dim.value}.{end}"


def domain_given(leaf: Leaf, alike: Alike = NONE) -> Ranges:
    """Return the box of a field whose bounds are scalars that the call passes."""
    return tuple(_given(_first_alike(leaf, dim, alike), dim) for dim in leaf.dims)


def _given(leaf: Leaf, dim: Dimension) -> Range:
    start, stop = (ScalarSymbol(domain_scalar(leaf, dim, end)) for end in ("start", "stop"))
    return Range(dim, start, stop)


def _first_alike(leaf: Leaf, dim: Dimension, alike: Alike) -> Leaf:
    return next((each for each in alike.get(leaf.name, ()) if dim in each.dims), leaf)


def box_of(
    leaf: Leaf, output: Output, evaluate: Callable[[Ref], Bound], alike: Alike = NONE
) -> Ranges:
    """Return the box of a field leaf that a statement of a program writes."""
    if output.slices:
        return sliced(leaf, output.slices, alike)
    if output.domain:
        return tuple(_range(each, evaluate) for each in output.domain)
    return whole(leaf, alike)


def sliced(leaf: Leaf, slices: Sequence[OutputSlice], alike: Alike = NONE) -> Ranges:
    """Return the box of `a[1:-1]`: relative to the field, negative bounds from its end."""
    return tuple(
        Range(dim, *_slice(each, *ends(leaf, dim, alike)))
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


def _slice(each: OutputSlice, first: Bound, last: Bound) -> tuple[Bound, Bound]:
    start, stop = (
        bounds.add(first if index >= 0 else last, index) if index is not None else None
        for index in (each.start, each.stop)
    )
    return start or first, stop or last


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
