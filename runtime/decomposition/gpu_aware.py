"""Whether MPI takes memory of GPUs, which libraries tell in their own ways."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, Final

from .. import gpu

_OF_OPEN_MPI: Final = {"cuda": "MPIX_Query_cuda_support", "hip": "MPIX_Query_rocm_support"}
_OF_MPICH: Final = {"cuda": 0, "hip": 2}  # MPIX_GPU_SUPPORT_*


def takes_memory_of(device: gpu.Device) -> bool:
    """Tell whether the MPI of mpi4py, if it is in use, takes memory of a device."""
    module = sys.modules.get("mpi4py.MPI")
    if module is None or module.__file__ is None:
        return False
    return is_aware(ctypes.CDLL(module.__file__), device.platform)


def is_aware(library: Any, platform: str) -> bool:
    """Ask an MPI library, Open MPI or MPICH and those that come from it.

    Args:
        library: what `ctypes` opened, or anything that has its functions.
        platform: of the GPU: "cuda", "hip" or "null", of which no library knows.
    """
    ask = getattr(library, _OF_OPEN_MPI.get(platform, ""), None)
    if ask is not None:
        return bool(ask())
    ask = getattr(library, "MPIX_GPU_query_support", None)
    if ask is None or platform not in _OF_MPICH:
        return False
    found = ctypes.c_int(0)
    failed = ask(_OF_MPICH[platform], ctypes.byref(found))
    return not failed and bool(found.value)


def as_bytes(buffer: Any) -> Any:
    """Return memory as mpi4py takes it; the host must not read what lies on a GPU."""
    if isinstance(buffer, gpu.Array) and buffer.device is not None:
        return (ctypes.c_char * buffer.nbytes).from_address(buffer.ptr)
    return buffer
