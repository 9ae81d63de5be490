"""Verify the rules of the loop IR; a violation is a bug of the schedule."""

from __future__ import annotations

from collections.abc import Iterator

from ...runtime.language.dimension import Dimension, DimensionKind
from .dataflow import OPERATIONS
from .flat_kernel import Buffer, Kernel
from .nest_groups import Tiling
from .nests import Advance, Compute, Load, Nest, Row, State, Store


def verify(kernel: Kernel) -> Kernel:
    """Return the kernel if it is well formed; a violation is a bug of the schedule.

    Raises:
        ValueError: naming the nest, the row and the rule.

    """
    buffers = {buffer.name: buffer for buffer in kernel.buffers}
    if len(buffers) != len(kernel.buffers):
        raise ValueError(f"Two buffers of kernel '{kernel.name}' have one name.")
    _check_tilings(kernel)
    filled: set[str] = set()
    for index, nest in enumerate(kernel.nests):
        for row, problem in _problems(nest, buffers, filled):
            raise ValueError(f"Nest {index} of kernel '{kernel.name}', row %{row}: {problem}.")
        filled.update(i.buffer for i in nest.body if isinstance(i, Store))
    for each in kernel.patches:
        for index, loop in enumerate(each.loops):
            for row, problem in _problems(loop.nest, buffers, filled):
                raise ValueError(
                    f"Loop {index} of patches of kernel '{kernel.name}', row %{row}: {problem}."
                )
            filled.update(i.buffer for i in loop.nest.body if isinstance(i, Store))
    return kernel


def _check_tilings(kernel: Kernel) -> None:
    """Check that tilings are in order, and that only their own nests touch their arrays."""
    end = 0
    owners: dict[str, int] = {}
    memory = {buffer.name: buffer.memory for buffer in kernel.buffers}
    for number, tiling in enumerate(kernel.tilings):
        if not end <= tiling.first < tiling.stop <= len(kernel.nests):
            raise ValueError(f"Tiling {number} of kernel '{kernel.name}' is not in order.")
        end = tiling.stop
        for index in range(tiling.first, tiling.stop):
            _check_margins(kernel.nests[index], index, tiling)
            for row in kernel.nests[index].body:
                if isinstance(row, Load | Store) and memory.get(row.buffer) == "tile":
                    owners.setdefault(row.buffer, number)
                    if owners[row.buffer] != number:
                        raise ValueError(f"Two tilings share the array '{row.buffer}'.")
    tiled = {index for tiling in kernel.tilings for index in range(tiling.first, tiling.stop)}
    for index, nest in enumerate(kernel.nests):
        touched = {row.buffer for row in nest.body if isinstance(row, Load | Store)}
        if index not in tiled and not touched.isdisjoint(owners):
            raise ValueError(f"Nest {index} touches an array of a tiling that it is not in.")


def _check_margins(nest: Nest, index: int, tiling: Tiling) -> None:
    cut = {loop.range.dim for loop in nest.loops if loop.margin is not None}
    if cut != set(tiling.dims):
        raise ValueError(f"Nest {index} does not walk each dimension of its tiling once.")
    if any(loop.kind == "parallel" for loop in nest.loops):
        raise ValueError(f"Nest {index} shares its loops among threads inside of a tiling.")


def _problems(
    nest: Nest, buffers: dict[str, Buffer], filled: set[str]
) -> Iterator[tuple[Row, str]]:
    dims = tuple(loop.range.dim for loop in nest.loops)
    for row, instruction in enumerate(nest.body):
        if not 0 <= instruction.level <= len(dims):
            yield row, f"level {instruction.level} is not one of {len(dims)} loops"
        if not 0 <= instruction.part < max(1, len(nest.parts)):
            yield row, f"there is no part {instruction.part}"
        for operand in instruction.operands:
            if not 0 <= operand < row:
                yield row, f"refers to row %{operand}, which is not defined before it"
                continue
            other = nest.body[operand]
            if other.level > instruction.level:
                yield row, f"stands outside a loop that its operand %{operand} needs"
            elif other.level == len(dims) and other.part != instruction.part:
                yield row, f"its operand %{operand} stands in another part"
        if isinstance(instruction, Compute) and instruction.op not in OPERATIONS:
            yield row, f"unknown operation '{instruction.op}'"
        if isinstance(instruction, State | Advance) and instruction.index >= len(nest.states):
            yield row, f"there is no state {instruction.index}"
        if isinstance(instruction, Load | Store):
            yield from (
                (row, text) for text in _access_problems(instruction, dims, buffers, filled)
            )


def _access_problems(
    access: Load | Store,
    dims: tuple[Dimension, ...],
    buffers: dict[str, Buffer],
    filled: set[str],
) -> Iterator[str]:
    buffer = buffers.get(access.buffer)
    if buffer is None:
        yield f"unknown buffer '{access.buffer}'"
        return
    rows = access.rows if isinstance(access, Load) and access.rows else (None,) * len(buffer.dims)
    own = [dim for dim, row in zip(buffer.dims, rows, strict=True) if row is None]
    needed = [dims.index(dim) + 1 for dim in own if dim in dims]
    if any(dim not in dims and dim.kind is not DimensionKind.LOCAL for dim in own):
        yield f"buffer '{buffer.name}' has a dimension that no loop walks"
    elif max(needed, default=0) > access.level:
        yield f"stands outside a loop that buffer '{buffer.name}' needs"
    if isinstance(access, Load):
        if access.dims != buffer.dims or len(access.offsets) != len(buffer.dims):
            yield f"dimensions or offsets are not those of '{buffer.name}'"
        if buffer.memory in ("arena", "tile", "shared") and buffer.name not in filled:
            yield f"reads '{buffer.name}' before a nest has written it"
    elif buffer.memory == "table":
        yield f"writes table '{buffer.name}'"
