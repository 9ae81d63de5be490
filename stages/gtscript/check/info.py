"""Collect what calls of a stencil need to know: accesses, boundaries, least levels, warnings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ...ir.stencil import Assign
from .. import (
    CENTRE,
    NONE,
    READ,
    READ_WRITE,
    WRITE,
    DomainInfo,
    FieldInfo,
    FieldOf,
    ParameterInfo,
    StencilInfo,
    boundaries_of,
    least_levels,
    reads_below,
)
from ..read.scope import Tables
from .extents import ZERO, Extents, Side, extents_of


def info_of_tables(tables: Tables, docstring: str) -> StencilInfo:
    """Return the facts about a stencil that has been read."""
    extents = extents_of(tables.nodes, tables.blocks)
    owners = {v: own[0] for own in tables.arguments.values() for v in own}
    accesses, touched = _accesses(tables, extents, owners)
    known = [each for n, each in enumerate(tables.blocks) if n not in tables.of_call]
    levels = boundaries_of(tables.nodes, known, tables.choices, owners)
    fields: list[tuple[str, FieldInfo]] = []
    parameters: list[tuple[str, ParameterInfo]] = []
    arguments = tables.definition.arguments
    for argument in arguments:
        own = tables.arguments[argument.name]
        access, kind = accesses.get(own[0], NONE), argument.annotation
        if not isinstance(kind, FieldOf):
            parameters.append((argument.name, ParameterInfo(access, kind.dtype)))
            continue
        boundary = CENTRE
        if access != NONE:
            used = [each for each in own if each in touched]
            i, j = _around(extents, used)
            boundary = (i, j, levels.get(own[0], (0, 0)))
        elements: tuple[int, ...] = ()
        if kind.axes and kind.data_dims:
            elements = tuple(place for place, each in enumerate(own) if each in touched)
        info = FieldInfo(access, boundary, tuple(kind.axes), kind.data_dims, kind.dtype, elements)
        fields.append((argument.name, info))
    return StencilInfo(
        name=tables.definition.name,
        arguments=tuple(each.name for each in arguments),
        fields=tuple(fields),
        parameters=tuple(parameters),
        domain=DomainInfo(least_levels(tables.blocks)),
        constants=tuple(sorted(tables.constants.items())),
        warnings=tuple(_unset(tables)),
        docstring=docstring,
        in_order=tuple(tables.in_order),
    )


def _around(extents: Extents, variables: Sequence[int]) -> tuple[Side, Side]:
    """Return the boundary of a field along I and J, from what is needed of its elements."""
    found = [extents.variables.get(each, ZERO) for each in variables]
    i, j = (
        (max(-extent[axis][0] for extent in found), max(extent[axis][1] for extent in found))
        for axis in (0, 1)
    )
    return i, j


def _accesses(
    tables: Tables, extents: Extents, owners: Mapping[int, int]
) -> tuple[dict[int, int], set[int]]:
    """Return how each variable is accessed, and all that are; elements count by the first one.

    One that is written first counts as written only. A number that a condition tests counts as read
    even if a region below has no points.
    """
    found: dict[int, int] = {}
    touched: set[int] = set()
    for number, block in enumerate(tables.blocks):
        for each in block.body:
            if not extents.meets(number, each):
                continue
            for read in reads_below(tables.nodes, (each.level, each.mask, each.value)):
                touched.add(read.variable)
                found.setdefault(owners.get(read.variable, read.variable), READ)
            touched.add(each.variable)
            owner = owners.get(each.variable, each.variable)
            if found.setdefault(owner, WRITE) == READ:
                found[owner] = READ_WRITE
    for read in reads_below(tables.nodes, tables.tests):
        found.setdefault(read.variable, READ)
    return found, touched


def _unset(tables: Tables) -> Iterator[str]:
    """Name temporaries that are read though no branch before has certainly assigned them."""
    sure = _Sure(tables)
    for block in tables.blocks:
        for each in block.body:
            yield from sure.missing(each)
            sure.assign(each)


class _Sure:
    """Which temporaries are assigned, and under which masks."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self.masks: dict[int, set[int | None]] = {}
        self.named: set[str] = set()

    def missing(self, assign: Assign) -> Iterator[str]:
        """Yield a warning for each temporary that is read too early."""
        for read in reads_below(self.tables.nodes, (assign.value,)):
            variable = self.tables.variables[read.variable]
            if variable.kind != "temporary" or variable.name in self.named:
                continue
            if not self._is_set(read.variable, assign.mask):
                self.named.add(variable.name)
                yield f"`{variable.name.partition('.')[0]}` may be uninitialized."

    def assign(self, assign: Assign) -> None:
        """Note an assignment."""
        self.masks.setdefault(assign.variable, set()).add(assign.mask)

    def _is_set(self, variable: int, mask: int | None) -> bool:
        known = self.masks.get(variable, set())
        if None in known or mask in known:
            return True
        return any(self._implies(mask, each) for each in known) or self._covers(known)

    def _implies(self, mask: int | None, other: int | None) -> bool:
        """Tell whether a mask is one part of an `and` that is the other mask."""
        if mask is None or other is None:
            return other is None
        node = self.tables.nodes[mask]
        args = getattr(node, "args", ()) if getattr(node, "op", "") == "and" else ()
        return mask == other or any(self._implies(each, other) for each in args)

    def _covers(self, known: set[int | None]) -> bool:
        """Tell whether both branches of a condition are among some masks."""
        for each in known:
            node = self.tables.nodes[each] if each is not None else None
            if getattr(node, "op", "") == "not" and node.args[0] in known:  # type: ignore[union-attr]  # a 'not' has one
                return True
        return False
