"""Find the points that each statement of a program touches, for any box that it may compute.

The box of a statement becomes a symbol along horizontal dimensions; the walk that infers boxes then
gives what the statement reads as bounds in these symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from ....runtime.language import Dimension, DimensionKind
from ....runtime.process import classes
from ...artifacts import Parsed, Variant
from ...ir.dataflow import Dataflow, Input, Range, Ranges, ScalarSymbol, Statement
from ..build import build
from .infer_boxes import Walk

Part: TypeAlias = tuple[str, Ranges]  # the points of a field

START: Final = "start of the part"
STOP: Final = "stop of the part"


@classes.frozen
class Footprint:
    """What one statement touches.

    `writes` and `reads` are in symbols of the part if there is a box.

    Attributes:
        box: what it computes; None if its outputs have different boxes.
        writes: the points that it writes, by field.
        reads: the points that it reads, by field.
        meshes: the dimensions of the box whose points have neighbours in tables.

    """

    box: Ranges | None
    writes: tuple[Part, ...]
    reads: tuple[Part, ...]
    meshes: tuple[Dimension, ...]


def symbols_of(dim: Dimension) -> tuple[ScalarSymbol, ScalarSymbol]:
    """Return the symbols for the ends of a part along a dimension."""
    return ScalarSymbol(f"{dim.value}: {START}"), ScalarSymbol(f"{dim.value}: {STOP}")


def footprints(parsed: Parsed, variant: Variant) -> tuple[Footprint, ...]:
    """Return what each statement of a program touches."""
    program = build(parsed, variant)
    walk = Walk.of(program)
    meshes = {dim for table in program.tables for dim in (table.target, table.source)}
    return tuple(_footprint(program, each, walk, meshes) for each in program.statements)


def horizontal(ranges: Ranges) -> Ranges:
    """Return the ranges along horizontal dimensions."""
    return tuple(each for each in ranges if each.dim.kind is DimensionKind.HORIZONTAL)


def _footprint(
    program: Dataflow, statement: Statement, walk: Walk, meshes: set[Dimension]
) -> Footprint:
    boxes = {store.box for store in statement.stores}
    box = next(iter(boxes)) if len(boxes) == 1 else None
    if box is not None:
        statement = _with_boxes(statement, _symbolic)
    return Footprint(
        box,
        tuple((store.target, store.box) for store in statement.stores),
        tuple(_reads(program, statement, walk)),
        tuple(each.dim for each in horizontal(box or ()) if each.dim in meshes),
    )


def _with_boxes(statement: Statement, change: Callable[[Ranges], Ranges]) -> Statement:
    stores = (classes.evolve(store, box=change(store.box)) for store in statement.stores)
    return classes.evolve(statement, stores=tuple(stores))


def _symbolic(box: Ranges) -> Ranges:
    part = {each.dim for each in horizontal(box)}
    return tuple(
        Range(each.dim, *symbols_of(each.dim)) if each.dim in part else each for each in box
    )


def _reads(program: Dataflow, statement: Statement, walk: Walk) -> Iterator[Part]:
    for ref, need in walk.needs(statement).items():
        value = program.values[ref]
        if isinstance(value, Input) and need:
            yield value.name, walk.areas.of(value.dims, need)
