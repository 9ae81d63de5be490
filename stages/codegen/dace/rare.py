"""The version of a kernel for calls whose soft reads lead out of a field: written without DaCe.

It clamps the indices of loads (see `soft_reads`). Few calls need it, so it is plain C++ of the
backend `cpu`, on one thread, in memory of its own plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import attrs

from ...ir.bounds import maximum
from ...ir.flat_kernel import Kernel
from ...ir.loops.lift import lift
from ..cpu.text.kernel import CLAMPED, ENDS, WITHIN, clamped_version
from ..integers import integers
from ..rows.checks import beyond
from ..rows.names import Names, Steps, WriterOptions
from ..soft_reads import Clamping
from .tasklet import Style


class RareVersion:
    """The text of that version, empty where a program has no soft reads.

    `integers` are those of the call then: those of the kernel before DaCe's passes, and of the ends
    of fields.
    """

    def __init__(
        self, kernel: Kernel, clamping: Clamping | None, style: Style, steps: Sequence[int]
    ) -> None:
        self.kernel = _on_one_thread(kernel)
        known = integers(lift(kernel)) if clamping else ()
        self.integers = (*known, *clamping.integers) if clamping else ()
        self.opening: list[str] = []
        self.lines: list[str] = []
        self._functions: dict[str, str] = {}
        self.needs_memory = False
        if clamping is None:
            return
        flag = f"  if (ints[{clamping.flag}]) return "
        if style.checked:
            self.opening = [f"{flag}{beyond(kernel)};"]
            return
        options = WriterOptions(0, vector_math=False, own_math=style.own_math)
        names = Names(self.kernel, known, options)
        names.steps = Steps(len(self.integers), tuple(steps)) if steps else None
        written = clamped_version(names, clamping).text({})
        self._functions = names.functions
        self.lines = [ENDS, WITHIN, CLAMPED, *written]
        self.opening = [f"{flag}clamped(ptrs, ints, scalars, arena);"]
        self.needs_memory = True

    def functions(self, others: Mapping[str, str]) -> list[str]:
        """Return the functions that either version calls, each once."""
        return [text for _, text in sorted({**self._functions, **others}.items())]

    def joined(self, kernel: Kernel) -> Kernel:
        """Return a kernel after DaCe's passes, with the integers and the memory that both need."""
        if not self.integers:
            return kernel
        most = kernel.workspace
        if self.needs_memory:
            most = maximum(kernel.workspace, self.kernel.workspace)
        return attrs.evolve(self.kernel, tilings=kernel.tilings, workspace=most)


def _on_one_thread(kernel: Kernel) -> Kernel:
    nests = tuple(
        attrs.evolve(
            nest, loops=tuple(attrs.evolve(loop, kind="sequential") for loop in nest.loops)
        )
        for nest in kernel.nests
    )
    return attrs.evolve(kernel, nests=nests)
