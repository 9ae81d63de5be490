"""Loop IR: the loop nests, memory and order of a program, scheduled for one target.

    kernel      ::= buffers, nests in order, tilings, arena slots, notes
    buffer      ::= field parameter | neighbour table | arena array over a box, in a slot
                  | tile array: one for each thread, as large as a tile | array in shared memory
    tiling      ::= consecutive nests that run tile by tile, the tiles shared among threads
    nest        ::= loops outer to inner, parts of the innermost, states, body, what is read,
                    the box whose emptiness skips it
    loop        ::= (parallel | sequential | vector | thread) dim: start .. stop, maybe backward
    instruction ::= Load(buffer[offsets]) | Constant | Argument | Compute(op, row...)
                  | Index(dim) | Number(bound) | State(k) | Store(buffer, row) | Advance(k, row)

Instructions and nests stand in `nests.py`, what runs several nests together in `nest_groups.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from .bounds import Bound
from .loops.buffers import Buffer
from .nest_groups import Instead, Patches, Portions, Tiling, Together
from .nests import NOTHING, Load, Nest, Store

__all__ = ["Buffer", "Kernel"]


@attrs.frozen
class Kernel:
    """A scheduled program; `slots` are the sizes in bytes of the slots of the arena.

    `threads` is the largest number of threads on a tiling; `tilings` are in order and disjoint.
    `together` are scans that are one kernel, `instead` nests in place of others, `patches` nests
    that are one kernel for each patch of a mesh, in order and disjoint too, `portions` those that
    threads of a CPU run in portions of patches. `members` are the statements of the program to
    which the statements of nests, each with one box, belong.
    """

    name: str
    scalars: tuple[tuple[str, str], ...]
    buffers: tuple[Buffer, ...]
    nests: tuple[Nest, ...]
    slots: tuple[Bound, ...] = ()
    workspace: Bound = NOTHING
    notes: tuple[str, ...] = ()
    tilings: tuple[Tiling, ...] = ()
    threads: int = 1
    together: tuple[Together, ...] = ()
    instead: tuple[Instead, ...] = ()
    patches: tuple[Patches, ...] = ()
    portions: tuple[Portions, ...] = ()
    members: tuple[int, ...] = ()

    def statement_of(self, nest: Nest) -> int:
        """Return the statement of the program that a nest belongs to."""
        return self.members[nest.statement]

    def buffer(self, name: str) -> Buffer:
        """Return the buffer of that name."""
        return next(buffer for buffer in self.buffers if buffer.name == name)

    def touched_outside(self, first: int, stop: int) -> set[str]:
        """Return the buffers that nests other than those of `first:stop` load or store."""
        return {
            row.buffer
            for number, nest in enumerate(self.nests)
            if not first <= number < stop
            for row in nest.body
            if isinstance(row, Load | Store)
        }

    def steps(self) -> Iterator[tuple[Nest, ...]]:
        """Yield the steps of a kernel, each complete before the next starts: a nest or a tiling."""
        ends = {tiling.first: tiling.stop for tiling in self.tilings}
        index = 0
        while index < len(self.nests):
            stop = ends.get(index, index + 1)
            yield self.nests[index:stop]
            index = stop
