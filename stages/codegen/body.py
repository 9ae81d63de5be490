"""Write the body of a nest: every value once at every point, outside the loops it does not need."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from ..ir import dataflow
from ..ir.loops import Argument, Buffer, Compute, Constant, Instruction, Load, Loop, Store
from .order import level_of
from .points import Offsets, Point, Points


def write_body(
    points: Points,
    stores: Sequence[tuple[str, Point]],
    loops: Sequence[Loop],
    arrays: Mapping[int, str],
) -> tuple[Instruction, ...]:
    """Return instructions that compute `stores` (buffer, point); all loads precede all stores.

    `arrays` names the buffers of nodes that are arrays; other nests than this have filled them.
    """
    own = {buffer for buffer, _ in stores}
    body: list[Instruction] = []
    rows: dict[Point, int] = {}
    for _, root in stores:
        pending = [root]
        while pending:
            point = pending[-1]
            if point in rows:
                pending.pop()
                continue
            buffer = _buffer(points, point, arrays, own)
            operands = points.operands(point) if buffer is None else []
            missing = [operand for operand in operands if operand not in rows]
            if missing:
                pending.extend(reversed(missing))
                continue
            rows[pending.pop()] = len(body)
            value = points.nodes[point[0]].value
            if buffer is None:
                body.append(_computed(value, [rows[operand] for operand in operands], body))
            else:
                body.append(_load(buffer, value, point[1], loops))
    for target, root in stores:
        row = rows[root]
        body.append(Store(dtype=body[row].dtype, level=len(loops), buffer=target, value=row))
    return tuple(body)


def copy_body(field: str, array: Buffer, loops: Sequence[Loop]) -> tuple[Instruction, ...]:
    """Return instructions that copy an array to a field of the same dimensions."""
    level, zeros = len(loops), (0,) * len(array.dims)
    return (
        Load(dtype=array.dtype, level=level, buffer=array.name, dims=array.dims, offsets=zeros),
        Store(dtype=array.dtype, level=level, buffer=field, value=0),
    )


def _buffer(
    points: Points, point: Point, arrays: Mapping[int, str], own: Container[str]
) -> str | None:
    """Return the buffer that holds the value at a point, None where this nest computes it."""
    value = points.nodes[point[0]].value
    if isinstance(value, dataflow.Input):
        return value.name
    array = arrays.get(point[0])
    return None if array is None or array in own else array


def _load(
    buffer: str, value: dataflow.Value, offsets: Offsets, loops: Sequence[Loop]
) -> Instruction:
    level = level_of(value.dims, loops)
    return Load(dtype=value.dtype, level=level, buffer=buffer, dims=value.dims, offsets=offsets)


def _computed(
    value: dataflow.Value, args: Sequence[int], body: Sequence[Instruction]
) -> Instruction:
    match value:
        case dataflow.Scalar(name=name):
            return Argument(dtype=value.dtype, name=name)
        case dataflow.Literal(text=text):
            return Constant(dtype=value.dtype, text=text)
        case dataflow.Map(op=op):
            level = max((body[arg].level for arg in args), default=0)
            return Compute(dtype=value.dtype, level=level, op=op, args=tuple(args))
    raise TypeError(f"The CPU code generator does not know '{type(value).__name__}' yet.")
