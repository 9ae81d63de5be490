"""Exchange halos by MPI: persistent requests on packed buffers, on the host or on GPUs."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any, Final

from .. import gpu
from .exchange import HaloExchange, Route
from .messages import Messages, on_device
from .pattern import Pattern


class MpiExchange(HaloExchange):
    """Exchange by persistent requests of MPI; `comm` is a communicator of mpi4py.

    The requests live on a duplicate of the communicator, which this duplicates on all ranks.
    Halos of fields on a GPU go through pinned memory of the host, unless MPI takes memory of GPUs.
    `start` then waits for nothing; `finish` waits for the copies and the messages, while the GPU
    does what it was given in between.

    Args:
        comm: a communicator of mpi4py.
        patterns: of this rank.
        direct: whether MPI gets memory of GPUs; by default, if the library says that it takes it.

    """

    def __init__(
        self, comm: Any, patterns: Sequence[Pattern], *, direct: bool | None = None
    ) -> None:
        super().__init__(patterns)
        self._comm, self._direct = comm.Dup(), direct

    def close(self) -> None:
        """Free the requests and the communicator; all ranks call it, and exchange no more."""
        for route in self._routes.values():
            for request in route.requests:
                request.Free()
        super().close()
        if self._comm is not None:
            self._comm.Free()
        self._comm = None

    def _place(self, fields: tuple[Any, ...]) -> gpu.Device | None:
        arrays = [on_device(field.ndarray) for field in fields]
        devices = {None if each is None else each.device for each in arrays}
        if len(devices) != 1 or None in devices or self._direct is False:
            return None
        (device,) = devices
        assert device is not None
        return device if self._direct or takes_memory_of(device) else None

    def _requests(self, send: Messages, receive: Messages) -> Any:
        tag = len(self._routes)
        return [
            *(
                self._comm.Recv_init(_as_bytes(each.buffer), each.rank, tag)
                for each in receive.each
            ),
            *(self._comm.Send_init(_as_bytes(each.buffer), each.rank, tag) for each in send.each),
        ]

    def _post(self, route: Route) -> None:
        if not route.devices:
            self._start(route)

    def _wait(self, route: Route) -> None:
        if route.devices:
            self._start(route)
        for request in route.requests:
            request.Wait()

    def _start(self, route: Route) -> None:
        self._await_packing(route)
        for request in route.requests:
            request.Start()


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


def _as_bytes(buffer: Any) -> Any:
    """Return memory as mpi4py takes it; the host must not read what lies on a GPU."""
    if isinstance(buffer, gpu.Array) and buffer.device is not None:
        return (ctypes.c_char * buffer.nbytes).from_address(buffer.ptr)
    return buffer
