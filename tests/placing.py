"""Put fields and tables where a backend takes them, and bring results back to the host."""

from collections.abc import Mapping
from typing import Any

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.runtime.language.structure import map_leaves


def is_on_host(backend: Any) -> bool:
    """Tell whether a backend takes fields of the host; embedded execution does."""
    return backend is None or backend.allocator.device_type == ff.DeviceType.CPU


def placed(value: Any, backend: Any) -> Any:
    """Return a copy of every field and table inside on the device of a backend."""
    return map_leaves(lambda leaf: _placed(leaf, backend), value)


def placed_tables(tables: Mapping[str, Any], backend: Any) -> dict[str, Any]:
    """Return an offset provider for a backend; dimensions stay as they are."""
    return {name: _placed(table, backend) for name, table in tables.items()}


def bring_back(host: Any, device: Any) -> None:
    """Copy the values of fields on a device to those of the host that they were made of."""

    def copy(leaf: Any, other: Any) -> None:
        if isinstance(leaf, ff.Field) and not leaf.readonly:
            leaf.ndarray[...] = other.asnumpy()

    pairs: list[Any] = []
    map_leaves(pairs.append, host)
    others: list[Any] = []
    map_leaves(others.append, device)
    for leaf, other in zip(pairs, others, strict=True):
        copy(leaf, other)


def _placed(leaf: Any, backend: Any) -> Any:
    allocator = backend.allocator
    if hasattr(leaf, "skip_value") and hasattr(leaf, "codomain") and hasattr(leaf, "asnumpy"):
        return as_connectivity(
            leaf.domain, codomain=leaf.codomain, data=leaf.asnumpy(), skip_value=leaf.skip_value,
            allocator=allocator,
        )  # fmt: skip
    if isinstance(leaf, ff.Field):
        return ff.as_field(leaf.domain, leaf.asnumpy(), allocator=allocator)
    return leaf
