"""Unroll and jam: compute several rows of a stencil in one pass of the innermost loop.

Neighbouring rows share points. Where arithmetic limits a stencil, and one body for several rows
costs less than a body for each, the next outer loop steps over several rows. A second nest computes
the remaining rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from ....runtime.language import Dimension, DimensionKind
from ....runtime.process import classes
from ...ir import dataflow
from ...ir.loops import (
    Compute,
    Const,
    Instruction,
    Load,
    Nest,
    NestLoop,
    Range,
    add,
    floor_divide,
    multiply,
    subtract,
)
from .body import BodyWriter
from .costs import row_cost
from .discovery import Homes
from .needs import Need
from .places import OWN, Point
from .points import Points

ROWS: Final = 4
# What a shared body may cost of the single ones to be worth it: it needs more registers.
WORTH: Final = 5 / 6
LONGEST: Final = 400  # rows of a shared body
# With fewer operations per load, memory limits the body.
BUSY: Final = 1


def jammed(
    points: Points,
    nest: Nest,
    dims: Sequence[Dimension],
    stores: Sequence[tuple[str, Point]],
    homes: Homes,
    needs: Mapping[int, Need],
) -> list[Nest]:
    """Return the nest, or one for groups of rows and one for the remaining rows.

    The stored points have dimensions `dims`.
    """
    if not _is_stencil(points, nest, needs):
        return [nest]
    rows = nest.loops[-2].range
    whole = multiply(floor_divide(subtract(rows.stop, rows.start), Const(ROWS)), ROWS)
    middle = add(rows.start, whole)
    steps = _over(nest.loops, Range(rows.dim, rows.start, middle), ROWS)
    body = _together(points, stores, steps, homes, dims)
    together, single = (
        [row_cost(row) for row in rows if row.level == len(steps)] for rows in (body, nest.body)
    )
    if len(together) > LONGEST or sum(together) > WORTH * ROWS * sum(single):
        return [nest]
    reason = f"{nest.reason}; {ROWS} rows of {rows.dim.value} at a time"
    rest = _over(nest.loops, Range(rows.dim, middle, rows.stop), 1)
    return [
        classes.evolve(nest, loops=steps, body=body, reason=reason),
        classes.evolve(nest, loops=rest, reason=f"{nest.reason}; the rows that are left"),
    ]


def _is_stencil(points: Points, nest: Nest, needs: Mapping[int, Need]) -> bool:
    """Tell whether unroll-and-jam may pay: no regions, all indices known, loads to share."""
    if (
        len(nest.loops) < 2
        or nest.parts
        or any(reading.moved for reading in nest.reads)
        or nest.loops[-2].range.dim.kind is not DimensionKind.HORIZONTAL
    ):
        return False
    loads = sum(isinstance(row, Load) for row in nest.body)
    if not loads or sum(isinstance(row, Compute) for row in nest.body) < BUSY * loads:
        return False
    return not any(isinstance(points.nodes[node].value, dataflow.Region) for node in needs)


def _over(loops: Sequence[NestLoop], rows: Range, step: int) -> tuple[NestLoop, ...]:
    return (*loops[:-2], classes.evolve(loops[-2], range=rows, step=step), loops[-1])


def _together(
    points: Points,
    stores: Sequence[tuple[str, Point]],
    loops: Sequence[NestLoop],
    homes: Homes,
    dims: Sequence[Dimension],
) -> tuple[Instruction, ...]:
    """Write one body for all rows of a step; it computes shared values once."""
    dim = loops[-2].range.dim
    placed = [
        (target, points.placed(root, {dim: (OWN, row)}), row)
        for row in range(ROWS)
        for target, root in stores
    ]
    roots = [root for _, root, _ in placed]
    writer = BodyWriter(points, roots, loops, homes)
    writer.cut(roots)
    values = [writer.row(root) for root in roots]
    for (target, _, row), value in zip(placed, values, strict=True):
        writer.store(target, value, offsets=tuple(row * (each is dim) for each in dims))
    return tuple(writer.rows)
