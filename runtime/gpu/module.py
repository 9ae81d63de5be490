"""Modules: compiled kernels on a device."""

from __future__ import annotations

import os
from pathlib import Path

from ..process import settings
from ..process.library_file import place_library
from .native import Device, ModuleBase, current_device


class Module(ModuleBase):
    """Kernels that were compiled together; it is unloaded with the last reference.

    On CUDA and HIP its image is a cubin, PTX, fat binary or code object. On the null platform it
    is a shared library of the host: kernel `axpy` is its function

        extern "C" void axpy(const unsigned grid[3], const unsigned block[3],
                             unsigned shared_bytes, void** args);

    which runs the whole grid. `args[i]` points to the value of argument i, as in cuLaunchKernel.
    A launch calls it at once, in the order of the stream; a graph calls it at each launch.
    """

    __slots__ = ()

    @classmethod
    def load(
        cls, image: bytes | str | os.PathLike[str], *, device: Device | int | None = None
    ) -> Module:
        """Load an image, or the file that holds it, on a device; the current one if none is given.

        Raises a `GpuError` if the device cannot run it.
        """
        data = image if isinstance(image, bytes) else Path(image).read_bytes()
        place = current_device() if device is None else device
        place = Device(place) if isinstance(place, int) else place
        if place.platform == "null":
            folder = settings.current().local_dir / "gpu"
            data = os.fsencode(place_library(data, folder)) + b"\0"
        return cls(data, place)
