"""Watch the inspector of patches: the lists that it makes while calls run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from fieldforge.runtime.fields import patch_lists


@contextlib.contextmanager
def watched() -> Iterator[list[bytes]]:
    """Collect the words of all lists that calls inside the block make, as bytes of uint32."""
    found: list[bytes] = []
    bring = patch_lists.bring

    def keep(data: bytes, *place: int) -> Any:
        found.append(data)
        return bring(data, *place)

    patch_lists.bring = keep  # type: ignore[assignment]
    try:
        yield found
    finally:
        patch_lists.bring = bring
