"""The elements that accesses of a nest touch, as DaCe's subsets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

from ....runtime.language.dimension import Dimension
from ...ir.loops import Load, Store
from .names import Names
from .rooms import Room
from .tasklet import is_lookup, ranged_axes


@attrs.frozen
class Subsets:
    """The subsets of one nest; `indices` are the names of its loops."""

    names: Names
    indices: Mapping[Dimension, str]

    def element_type(self, room: Room, load: Load) -> Any:
        """Return the type of the loaded element."""
        return room.describe.type("uint8" if load.dtype == "bool" else load.dtype)

    def _places(self, room: Room, access: Load | Store) -> list[Any]:
        """Return the index of each axis, without indirect parts."""
        dims = self.names.by_name[access.buffer].dims
        offsets = access.offsets or (0,) * len(dims)
        named = room.dace.symbolic.pystr_to_symbolic
        return [
            (named(self.indices[dim]) if dim in self.indices else 0) + offset
            for dim, offset in zip(dims, offsets, strict=True)
        ]

    def element(self, room: Room, access: Load | Store) -> Any:
        """Return the one element that an access touches in each iteration."""
        places = self._places(room, access)
        return room.dace.subsets.Range([(place, place, 1) for place in places] or [(0, 0, 1)])

    def opened(self, room: Room, load: Load) -> Any:
        """Return the elements that a lookup may read."""
        assert is_lookup(load)
        data = self.names.data[load.buffer]
        room.describe.ensure(room.sdfg, data, nested=room.nested)
        whole = room.describe.whole(room.sdfg, data).ranges
        opened = ranged_axes(load)
        return room.dace.subsets.Range(
            [
                whole[axis] if axis in opened else (place, place, 1)
                for axis, place in enumerate(self._places(room, load))
            ]
            or [(0, 0, 1)]
        )
