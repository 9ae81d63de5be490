"""Watch the levels of a checked call: refuse those that lead out of a field along K."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ...runtime.fields import make
from ...runtime.language import domain, leaves_of
from ...runtime.process import CheckError, DeviceType, classes
from ...stages.artifacts import Variant
from ...stages.gtscript.axes import AXES, I, J, K, size_of
from ...stages.gtscript.guards import NOTES, Guarded, Watched, guarded
from ...stages.gtscript.stage import LowerStencil, ParseStencil
from ...stages.interpret.stage import Entry
from .source import StencilSource


@classes.frozen
class LevelWatch:
    """The guarded stencil, which the interpreter runs on the arguments of a call."""

    name: str
    guard: Guarded
    entry: Entry

    @classmethod
    def of(cls, source: StencilSource) -> LevelWatch | None:
        """Return the watch of a stencil; None if its text gives all levels."""
        read: Any = ParseStencil().run(definition=source)
        guard = guarded(read["parsed"], read["spans"].nodes)
        if guard is None:
            return None
        low: Any = LowerStencil(numerics="strict").run(parsed=guard.parsed, variant=Variant())
        return cls(source.name, guard, Entry(low["lowered"]))

    def __call__(self, given: Mapping[str, Any]) -> None:
        """Run on arguments by name, and raise the error of the first level outside of a field.

        The outputs are written; arguments on a GPU are not watched.
        """
        if not all(map(_is_near, given.values())):
            return
        sizes = {dim: (0, int(given[size_of(axis)])) for axis, dim in AXES.items()}
        counts = tuple(stop for _, stop in sizes.values())
        notes = np.zeros(counts, np.int64)
        limits = dict(self._limits(given, sizes[K]))
        extra = {NOTES: make(notes, domain(sizes)), **dict(self._scalars(limits))}
        program = self.entry.lowered.program
        values = {**given, **extra}
        with np.errstate(all="ignore"):
            self.entry(*(values[each] for each in program.parameters))
        found = np.argwhere(notes)
        if len(found):
            place = tuple(map(int, found[0]))
            access, level = self.guard.read(int(notes[place]))
            raise self._refused(access, level, limits[access.variable], place)

    def _limits(
        self, given: Mapping[str, Any], inside: tuple[int, int]
    ) -> Iterator[tuple[str, tuple[int, int]]]:
        """Yield the levels of each watched variable: those of an argument, or of the domain."""
        dims = {leaf.name: leaf.dims for leaf in self.entry.lowered.program.leaves}
        for name in self.guard.limits:
            if name not in given:
                yield name, inside
                continue
            axis = dims[name].index(K)
            starts = getattr(given[name], "starts", (0,) * len(dims[name]))
            yield name, (starts[axis], starts[axis] + given[name].shape[axis])

    def _scalars(self, limits: Mapping[str, tuple[int, int]]) -> Iterator[tuple[str, Any]]:
        for name, scalars in self.guard.limits.items():
            yield from zip(scalars, map(np.int64, limits[name]), strict=True)

    def _refused(
        self, access: Watched, level: int, limits: tuple[int, int], place: tuple[int, ...]
    ) -> CheckError:
        i, j, k = place
        name, done = access.variable.partition(".")[0], "written" if access.is_write else "read"
        return CheckError(
            access.place,
            f"'{name}' is {done} on level {level} by '{self.name}' at I={i}, J={j}, K={k}, but has "
            f"the levels {limits[0]} to {limits[1] - 1}: a call without checks "
            f"{'drops such values' if access.is_write else 'takes the nearest level'}.",
            self.name,
            {I: i, J: j, K: k},
            level,
        )


def _is_near(value: Any) -> bool:
    fields = (leaf for _, leaf in leaves_of(value))
    return all(getattr(each, "device_type", DeviceType.CPU) == DeviceType.CPU for each in fields)
