"""The parameters of a derivative: those of its program, and a partner for some of them."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence

from ...runtime.process import classes
from ..artifacts import Variant
from ..ir.dataflow import Dataflow, Leaf
from ..lower.build import with_ranges
from .names import Weights, partner


def with_partners(
    program: Dataflow,
    parameters: Sequence[str],
    names: str,
    variant: Variant,
    fields: Container[str] = (),
    weights: Sequence[Weights] = (),
) -> tuple[Leaf, ...]:
    """Return the leaves of a derivative with these parameters, in their order.

    `fields` are the partners of scalars that are fields without dimensions.
    """
    found = _leaves(program, parameters, names, fields, {each.name: each for each in weights})
    return tuple(with_ranges(leaf, variant) for leaf in found)


def _leaves(
    program: Dataflow,
    parameters: Sequence[str],
    names: str,
    fields: Container[str],
    weights: Mapping[str, Weights],
) -> Iterator[Leaf]:
    own = {name: each.parameter for name, each in weights.items()}
    own |= {partner(name, names): name for name in program.parameters}
    own |= {name: name for name in program.parameters}
    for place, parameter in enumerate(parameters):
        first = program.parameters.index(own[parameter])
        for leaf in program.leaves:
            if leaf.path[0] != first:
                continue
            path = (place, *leaf.path[1:])
            if own[parameter] == parameter:
                yield classes.evolve(leaf, path=path)
            elif parameter in weights:
                dims = weights[parameter].type.dims
                yield classes.evolve(leaf, name=parameter, path=path, dims=dims, ranges=())
            else:
                name = partner(leaf.name, names)
                kind = "field" if parameter in fields else leaf.kind
                yield classes.evolve(leaf, name=name, path=path, kind=kind, ranges=())
