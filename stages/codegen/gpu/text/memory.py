"""Write the arrays of the arena as a kernel sees them."""

from __future__ import annotations

from collections.abc import Iterator

from ...rows.memory import strides
from ...rows.names import Names, stored_type


def array_text(names: Names, name: str) -> Iterator[str]:
    """Define an array of the arena, moved to index 0; nothing for other buffers."""
    buffer = names.by_name[name]
    if buffer.memory != "arena":
        return
    yield from strides(names, buffer)
    starts = {range_.dim: names.bound(range_.start) for range_ in buffer.box}
    origin = "".join(
        f" - {names.term(buffer, axis, starts[dim])}" for axis, dim in enumerate(buffer.dims)
    )
    type_, own = stored_type(buffer), names.buffers[name]
    yield f"  {type_}* const {own} = ({type_}*)slot{buffer.slot}{origin};"
