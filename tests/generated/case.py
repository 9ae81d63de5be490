"""What a generated program is made of: text, fields, scalars."""

import attrs

from .grids import Box, header
from .pieces import Kind


@attrs.define
class FieldSpec:
    """A field of the program: where it lives and what is in it.

    The box of an input grows with what is read; that of an output is `fixed`. One that is compared
    within some `ulps` is never read again.
    """

    name: str
    kind: Kind
    box: Box
    fixed: bool
    layout: str = "default"
    ulps: int = 0
    written: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents in order."""
        return tuple(self.box[dim][1] - self.box[dim][0] for dim in self.kind.dims)


@attrs.frozen
class Group:
    """A collection that is a parameter of the program; `members` are its fields and scalars."""

    name: str
    kind: str
    members: tuple[str, ...]
    keys: tuple[str, ...]


@attrs.frozen
class Case:
    """A program and what it is called with; `seed` and `percent` make the data.

    `order` are the parameters of the program: fields, scalars, and groups of them.
    """

    text: str
    unstructured: bool
    fields: tuple[FieldSpec, ...]
    scalars: tuple[tuple[str, str, str], ...]  # name, dtype, literal
    order: tuple[str, ...]
    seed: int
    percent: int
    groups: tuple[Group, ...] = ()

    def leaf(self, name: str) -> str:
        """Return the name that a field or scalar has as a leaf of the parameters."""
        for group in self.groups:
            if name in group.members:
                return f"{group.name}.{group.members.index(name)}"
        return name

    @property
    def source(self) -> str:
        """The text that runs by itself."""
        return f"{header(self.unstructured)}\n\n{self.text}"
