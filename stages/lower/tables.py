"""Find the neighbour tables of a program and their properties."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...runtime.language import Dimension, DimensionKind, OffsetType
from ...runtime.process import DSLError, MissingOffsetError, classes
from ..ir import syntax
from ..ir.dataflow import Table


@classes.define
class Tables:
    """Find tables by offset or by local dimension, and collect those in use."""

    given: dict[str, tuple[int, bool]]
    offsets: dict[str, OffsetType]
    used: dict[str, Table] = classes.field(factory=dict)

    @classmethod
    def of(
        cls, given: Iterable[tuple[str, int, bool]], nodes: Iterable[tuple[syntax.Expression, ...]]
    ) -> Tables:
        """Make the tables from those of a call and the offsets that operators mention."""
        offsets: dict[str, OffsetType] = {}
        for table in nodes:
            for node in table:
                if isinstance(node, syntax.Neighbour | syntax.Neighbours):
                    offsets.setdefault(node.offset.name, node.offset)
        return cls({name: (width, skip) for name, width, skip in given}, offsets)

    def at(self, offset: OffsetType) -> Table:
        """Return the table of an offset."""
        target, local = offset.target
        return self._use(offset.name, offset.source, target, local)

    def along(self, local: Dimension, dims: Sequence[Dimension]) -> Table:
        """Return the table with the local dimension `local`; usually both have the same name."""
        names = [
            name
            for name, offset in sorted(self.offsets.items())
            if offset.target[1:] == (local,) and name in self.given
        ]
        if local.value in self.given or not names:
            names = [local.value]
        known = self.offsets.get(names[0])
        if known is not None and known.target[1:] == (local,):
            return self.at(known)
        target = _target(local, dims)
        return self._use(names[0], local, target, local)  # the source is unknown

    def _use(self, name: str, source: Dimension, target: Dimension, local: Dimension) -> Table:
        if name not in self.given:
            raise MissingOffsetError.of(name, self.given)
        width, skip = self.given[name]
        table = self.used.setdefault(name, Table(name, source, target, local, width, skip))
        if (table.target, table.local) != (target, local):
            raise DSLError(None, f"Two offsets of different dimensions have the name '{name}'.")
        if table.source is table.local and source is not local:
            # a reduction does not need the source of its table
            table = self.used[name] = Table(name, source, target, local, width, skip)
        return table


def _target(local: Dimension, dims: Sequence[Dimension]) -> Dimension:
    """Return the target dimension of the table for a sparse field."""
    found = [dim for dim in dims if dim.kind is DimensionKind.HORIZONTAL]
    if len(found) != 1:
        raise DSLError(
            None,
            f"The reduction over '{local.value}' has no unique target dimension.",
            hints=[
                f"Reduce a field with exactly one horizontal dimension besides '{local.value}'."
            ],
        )
    return found[0]
