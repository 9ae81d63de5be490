"""Points: a value at an offset from where a loop is; equal values at other places are one value.

`lower` moves shifts to the inputs, so that the Laplacians at i and at i + 1 are two
rows of the dataflow IR. Here both are the *node* Laplacian, at two offsets. The place of a
node is the middle of what it reads, so that the parts of a symmetric stencil have one place.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import attrs

from ...runtime.dimension import Dimension
from ..ir import dataflow
from ..ir.dataflow import Ref

Offsets: TypeAlias = tuple[int, ...]  # one for each dimension of the node
Point: TypeAlias = tuple[int, Offsets]


@attrs.frozen
class Node:
    """A value without its place: what it is, and its operands relative to itself.

    `row` is the first row of the program that is this node somewhere; `reach` is the
    smallest and largest offset, for each dimension, at which it reads inputs.
    """

    row: Ref
    value: dataflow.Value
    operands: tuple[Point, ...]
    reach: tuple[tuple[int, int], ...]

    @property
    def dims(self) -> tuple[Dimension, ...]:
        """The dimensions that the node varies over."""
        return self.value.dims

    @property
    def name(self) -> str:
        """What notes and options call it: the row in the listing of `lower`."""
        return f"%{self.row}"


class Points:
    """The nodes of a program, operands first, and where each row stands."""

    def __init__(self, values: Sequence[dataflow.Value]) -> None:
        self.nodes: list[Node] = []
        self._known: dict[tuple[object, ...], int] = {}
        self._views: list[Point] = []
        for row, value in enumerate(values):
            self._views.append(self._view(row, value))

    def at(self, row: Ref) -> Point:
        """Return the point that a row of the program stands for."""
        return self._views[row]

    def operands(self, point: Point) -> list[Point]:
        """Return the points that the value at `point` is made from."""
        index, offsets = point
        node = self.nodes[index]
        ahead = dict(zip(node.dims, offsets, strict=True))
        return [self._moved(operand, ahead) for operand in node.operands]

    def reachable(self, roots: Iterable[int]) -> list[int]:
        """Return the nodes that `roots` are made from, ascending."""
        found = set(roots)
        pending = sorted(found)
        while pending:
            for operand, _ in self.nodes[pending.pop()].operands:
                if operand not in found:
                    found.add(operand)
                    pending.append(operand)
        return sorted(found)

    def _view(self, row: Ref, value: dataflow.Value) -> Point:
        if isinstance(value, dataflow.Shift):
            return self._moved(self._views[value.arg], {value.dim: value.offset})
        if isinstance(value, dataflow.Map):
            return self._map(row, value)
        return self._node((value,), Node(row, value, (), ((0, 0),) * len(value.dims)))

    def _map(self, row: Ref, value: dataflow.Map) -> Point:
        operands = [self._views[arg] for arg in value.args]
        reach: dict[Dimension, tuple[int, int]] = {}
        for index, offsets in operands:
            node = self.nodes[index]
            for dim, offset, (low, high) in zip(node.dims, offsets, node.reach, strict=True):
                least, most = reach.get(dim, (low + offset, high + offset))
                reach[dim] = min(least, low + offset), max(most, high + offset)
        middle = {dim: sum(reach.get(dim, (0, 0))) // 2 for dim in value.dims}
        back = {dim: -place for dim, place in middle.items()}
        relative = tuple(self._moved(operand, back) for operand in operands)
        around = tuple(
            (reach.get(dim, (0, 0))[0] - middle[dim], reach.get(dim, (0, 0))[1] - middle[dim])
            for dim in value.dims
        )
        key = (value.op, value.dtype, value.dims, relative)
        index, _ = self._node(key, Node(row, value, relative, around))
        return index, tuple(middle.values())

    def _node(self, key: tuple[object, ...], node: Node) -> Point:
        index = self._known.setdefault(key, len(self.nodes))
        if index == len(self.nodes):
            self.nodes.append(node)
        return index, (0,) * len(node.dims)

    def _moved(self, point: Point, ahead: dict[Dimension, int]) -> Point:
        index, offsets = point
        dims = self.nodes[index].dims
        return index, tuple(n + ahead.get(dim, 0) for dim, n in zip(dims, offsets, strict=True))
