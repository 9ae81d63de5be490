"""Fields of the host for the emulated GPU, with guards around their memory while those are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...language import Domain, DType, NamedIndex
from ...process import classes
from ..layout import memory_order
from .standard import CPUAllocator


@classes.frozen
class GuardedAllocator(CPUAllocator):
    """Makes NumPy arrays, with guards around them while `gpu.null.guarded()` is on.

    The setting `FIELDFORGE_GPU_GUARD` turns guards on for a process. The arrays are dense then, so
    that the first element behind or before a field is on a page that a kernel may not touch.
    """

    def __gt_allocate__(
        self,
        domain: Domain,
        dtype: DType,
        device_id: int = 0,
        aligned_index: Sequence[NamedIndex] | None = None,
        *,
        zeroed: bool = False,
    ) -> np.ndarray[Any, Any]:
        """Make an array in memory of the simulated driver, or as on a CPU without guards."""
        from ... import gpu

        if gpu.null.guard() is None or not domain.shape or 0 in domain.shape:
            return CPUAllocator.__gt_allocate__(
                self, domain, dtype, device_id, aligned_index, zeroed=zeroed
            )
        device = gpu.Device(0, platform="null")
        made = gpu.Array.empty(
            domain.shape,
            dtype.dtype,
            layout=memory_order(domain.dims)[::-1],
            resource=gpu.ManagedMemoryResource(device),  # pinned memory is kept for reuse
        )
        array: np.ndarray[Any, Any] = np.asarray(made)
        if zeroed:
            array[...] = 0
        return array
