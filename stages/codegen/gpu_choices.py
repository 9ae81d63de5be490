"""What the options of a GPU backend say about the threads of a kernel."""

from __future__ import annotations

from typing import Final

import attrs


@attrs.frozen
class GpuChoices:
    """Numbers that replace those of the model; empty or 0 leaves the choice to the model.

    Attributes:
        points: points of a thread along the innermost loop, and along the loop around it.
        block: threads of a block along x, y and z; one number counts the points of all loops in
            one row.
        column_block: the same for scans.
        ahead: levels that a scan loads before it uses them; -1 for none.
        shared: whether scans hand numbers on in shared memory.
        tiles: columns of a block where levels have unit stride; -1 for one thread a column as
            elsewhere.
        keep: whether scans of one kernel ask the caches to keep what several of them read, and not
            what is used once.
        unaligned: whether short nests have a version for memory that is not aligned; None for
            those whose elements all have 8 bytes.
        blocked: whether columns that do not fit are scanned in one kernel, some levels through
            memory.
        land: levels of a scan on their way to shared memory by asynchronous copies; -1 for none.
        patches: for nests that are one kernel for each patch of a mesh: elements of a patch, levels
            of a block, points of a thread, threads of a block, blocks on a multiprocessor. 0 leaves
            one to the model; with (-1,) each nest is a kernel.
        most_shared: bytes of shared memory of a block.

    """

    points: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    column_block: tuple[int, ...] = ()
    ahead: int = 0
    shared: bool = True
    tiles: int = 0
    keep: bool = True
    unaligned: bool | None = None
    blocked: bool = True
    land: int = 0
    patches: tuple[int, ...] = ()
    most_shared: int = 48 << 10


NO_CHOICES: Final = GpuChoices()
