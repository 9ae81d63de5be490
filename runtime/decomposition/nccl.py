"""The few functions of NCCL that an exchange needs, by `ctypes`; nothing is needed to build them.

The library is that of the system, or of the package `nvidia-nccl-cu12` or `-cu13`.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from .. import gpu
from ..process import FieldforgeError

NAME: Final = "libnccl.so.2"
BYTE: Final = 1  # ncclUint8
ID_SIZE: Final = 128


class NcclError(FieldforgeError, RuntimeError):
    """NCCL is not there, or one of its functions has failed."""


class _Id(ctypes.Structure):
    _fields_ = (("internal", ctypes.c_char * ID_SIZE),)


class Nccl:
    """The library; `communicator` joins ranks that have the same id."""

    def __init__(self, library: Any) -> None:
        self._library = library
        library.ncclGetErrorString.restype = ctypes.c_char_p

    def call(self, name: str, *arguments: Any) -> None:
        """Call a function; raise NcclError if it fails."""
        code = getattr(self._library, name)(*arguments)
        if code:
            said = self._library.ncclGetErrorString(code).decode()
            raise NcclError(f"{name} failed: {said} (code {code}).")

    def unique_id(self) -> bytes:
        """Return what the ranks of one communicator share."""
        made = _Id()
        self.call("ncclGetUniqueId", ctypes.byref(made))
        return ctypes.string_at(ctypes.byref(made), ID_SIZE)

    def communicator(self, size: int, name: bytes, rank: int, device: gpu.Device) -> Communicator:
        """Return the communicator of a rank on its GPU, when all ranks have called this."""
        handle, shared = ctypes.c_void_p(), _Id.from_buffer_copy(name)
        with device:
            self.call("ncclCommInitRank", ctypes.byref(handle), size, shared, rank)
        return Communicator(self, handle, device)


class Communicator:
    """What one rank sends to others and receives from them, in the order of a stream.

    One that nobody destroys is aborted with its last reference or with the process: `destroy` may
    wait for other ranks, which then may be gone.
    """

    def __init__(self, nccl: Nccl, handle: ctypes.c_void_p, device: gpu.Device) -> None:
        self._nccl, self._handle, self._device = nccl, handle, device
        self._end = weakref.finalize(self, _abort, nccl, handle, device)

    def destroy(self) -> None:
        """Give back what NCCL holds for it; all ranks call this when their streams are done."""
        if self._end.detach() is not None:
            with self._device:
                self._nccl.call("ncclCommDestroy", self._handle)

    @contextmanager
    def group(self) -> Iterator[None]:
        """Take all messages in the block as one operation."""
        with self._device:
            self._nccl.call("ncclGroupStart")
            try:
                yield
            finally:
                self._nccl.call("ncclGroupEnd")

    def send(self, array: gpu.Array, rank: int, stream: gpu.Stream) -> None:
        """Queue sending the bytes of a dense array."""
        self._move("ncclSend", array, rank, stream)

    def receive(self, array: gpu.Array, rank: int, stream: gpu.Stream) -> None:
        """Queue receiving as many bytes."""
        self._move("ncclRecv", array, rank, stream)

    def _move(self, name: str, array: gpu.Array, rank: int, stream: gpu.Stream) -> None:
        place, count = ctypes.c_void_p(array.ptr), ctypes.c_size_t(array.nbytes)
        self._nccl.call(name, place, count, BYTE, rank, self._handle, ctypes.c_void_p(stream.ptr))


def _abort(nccl: Nccl, handle: ctypes.c_void_p, device: gpu.Device) -> None:
    """End a communicator without the other ranks; nobody is there to be told of an error."""
    with device, suppress(NcclError):
        nccl.call("ncclCommAbort", handle)


@functools.cache
def load() -> Nccl:
    """Return NCCL.

    Raises:
        NcclError: it is not installed.

    """
    for place in _places():
        try:
            return Nccl(ctypes.CDLL(place))
        except OSError:
            continue
    raise NcclError(
        f"The library '{NAME}' was not found.", hint="Install the package 'nvidia-nccl-cu12'."
    )


def _places() -> Iterator[str]:
    try:
        package = importlib.util.find_spec("nvidia.nccl")
    except ModuleNotFoundError:
        package = None
    for folder in (package and package.submodule_search_locations) or ():
        yield str(Path(folder, "lib", NAME))
    yield NAME
