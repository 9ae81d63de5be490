"""Copy what scans over contiguous levels touch to arrays where columns lie beside each other.

A thread of a GPU has a column. Where levels have unit stride, neighbouring threads touch memory far
apart, and a walk moves many times what it uses. So a nest before the scan copies each field that it
reads, and one after it each field that it writes; threads of a copy form tiles of levels and
columns, which use whole sectors of memory on both sides. Arrays between scans are laid out so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from .....runtime.process import classes
from ....ir.loops import (
    Buffer,
    Kernel,
    Load,
    Nest,
    NestLoop,
    Node,
    Ranges,
    Reading,
    Seq,
    Store,
    arrays_of,
    in_order,
    nodes_of,
    rewrite,
)
from ....ir.loops.gpu import GpuMarks
from ...acts.act_trees import renamed
from ...pass_list import Rules

TILE: Final = (8, 32)  # threads of a copy along levels, and along the dimension around them


def beside(kernel: Kernel, rules: Rules) -> Kernel:
    """Return the kernel with copies around scans over contiguous levels.

    Checked programs keep their loops: a copy would hide which store wrote a number.
    """
    if rules.checked:
        return kernel
    nests = tuple(nodes_of(kernel, Nest))
    buffers = [_turned(buffer, nests) for buffer in kernel.buffers]
    work = _Copies(kernel)
    made = rewrite(kernel, work.around)
    return classes.evolve(made, buffers=(*buffers, *work.arrays))


class _Copies:
    """Adds nests that copy; `arrays` are what they copy to."""

    def __init__(self, kernel: Kernel) -> None:
        self.buffers = {buffer.name: buffer for buffer in kernel.buffers}
        self.arrays: list[Buffer] = []
        self.held: dict[tuple[int, Reading], str] = {}  # what is copied already, by group

    def around(self, node: Node) -> Node:
        """Return a nest with the copies before and after it."""
        if isinstance(node, Seq):
            return in_order(*node.steps)
        return in_order(*self._around(node)) if isinstance(node, Nest) else node

    def _around(self, nest: Nest) -> Iterator[Nest]:
        stored = {row.buffer for row in nest.body if isinstance(row, Store)}
        if not is_column_scan(nest):
            yield nest
        else:
            inside: dict[str, str] = {}
            for reading in self._readings(nest, stored):
                key = (nest.group, reading)
                if key not in self.held:
                    self.held[key] = self._array(nest, reading.buffer, reading.box)
                    yield _copy(nest, reading.box, reading.buffer, self.held[key],
                                self.buffers[reading.buffer], (reading,))  # fmt: skip
                inside[reading.buffer] = self.held[key]
            outputs = [name for name in stored if self._is_written_only(nest, name)]
            inside |= {name: self._array(nest, name, nest.box) for name in sorted(outputs)}
            yield classes.evolve(nest, body=tuple(renamed(row, inside) for row in nest.body))
            for name in sorted(outputs):
                for box in _boxes(nest, name):
                    yield _copy(nest, box, inside[name], name, self.buffers[name])
        if any(self.buffers[name].memory == "field" for name in stored):
            self.held.clear()  # fields may share memory

    def _readings(self, nest: Nest, stored: set[str]) -> Iterator[Reading]:
        """Yield the boxes of fields that a scan reads level by level."""
        for name in dict.fromkeys(row.buffer for row in nest.body if isinstance(row, Load)):
            boxes = [each for each in nest.reads if each.buffer == name]
            loads = [row for row in nest.body if isinstance(row, Load) and row.buffer == name]
            is_plain = all(row is None for load in loads for row in load.rows)
            if len(boxes) == 1 and is_plain and name not in stored and self._is_deep(nest, name):
                (reading,) = boxes
                dims = {each.dim for each in reading.box}
                if not reading.moved and dims == set(self.buffers[name].dims):
                    yield reading

    def _is_written_only(self, nest: Nest, name: str) -> bool:
        rows = (row for row in nest.body if isinstance(row, Load | Store) and row.buffer == name)
        return self._is_deep(nest, name) and all(
            isinstance(row, Store) and not any(row.offsets) for row in rows
        )

    def _is_deep(self, nest: Nest, name: str) -> bool:
        """Tell whether a field has the dimensions of a scan, and unit stride along its axis."""
        buffer, dims = self.buffers[name], [loop.range.dim for loop in nest.loops]
        is_whole = len(buffer.dims) == len(dims) and set(buffer.dims) == set(dims)
        return buffer.memory == "field" and buffer.unit is dims[-1] and is_whole

    def _array(self, nest: Nest, name: str, box: Ranges) -> str:
        field = self.buffers[name]
        ranges = {each.dim: each for each in box}
        columns = tuple(loop.range.dim for loop in nest.loops[:-1])
        array = Buffer(
            f"@columns{len(self.arrays)} of {name}", "arena", field.dtype, field.dims, columns[-1],
            tuple(ranges[dim] for dim in field.dims), (nest.loops[-1].range.dim, *columns),
            reason=f"the columns of {name} beside each other",
        )  # fmt: skip
        self.arrays.append(array)
        return array.name


def is_column_scan(nest: Nest) -> bool:
    """Tell whether a nest walks columns level by level, many at once."""
    return bool(nest.states) and len(nest.loops) > 1


def _copy(
    nest: Nest,
    box: Ranges,
    source: str,
    target: str,
    like: Buffer,
    reads: tuple[Reading, ...] = (),
) -> Nest:
    """Return the nest that copies a box for a scan."""
    ranges = {each.dim: each for each in box}
    loops = [NestLoop("parallel", ranges[loop.range.dim]) for loop in nest.loops]
    load = Load(
        dtype=like.dtype, level=len(loops), buffer=source, dims=like.dims,
        offsets=(0,) * len(like.dims),
    )  # fmt: skip
    store = Store(dtype=like.dtype, level=len(loops), buffer=target, value=0)
    reason = "copies columns for a scan over contiguous levels"
    return Nest(nest.group, tuple(loops), (load, store), reason, reads, marks=GpuMarks(block=TILE))


def _boxes(nest: Nest, name: str) -> list[Ranges]:
    """Return the boxes in which a scan stores a field: one for each part of its loop that does."""
    if not nest.parts:
        return [nest.box]
    parts = {row.part for row in nest.body if isinstance(row, Store) and row.buffer == name}
    return [(*nest.box[:-1], nest.parts[part]) for part in sorted(parts)]


def _turned(buffer: Buffer, nests: Sequence[Nest]) -> Buffer:
    """Return an array that only scans touch with its columns beside each other."""
    if buffer.memory != "arena":
        return buffer
    around = {
        tuple(loop.range.dim for loop in nest.loops) if is_column_scan(nest) else ()
        for nest in nests
        if buffer.name in arrays_of(nest)
    }
    dims = next(iter(around), ())
    if len(around) != 1 or set(dims) != set(buffer.dims) or buffer.unit is not dims[-1]:
        return buffer
    return classes.evolve(buffer, unit=dims[-2], order=(dims[-1], *dims[:-1]))
