"""The messages of an exchange: for each rank one buffer with the packed parts of all fields.

On a GPU one kernel for each size of elements moves the parts of all fields and all messages: into
memory of the GPU that is laid out as the messages are, or out of it. If the messages are in pinned
memory of the host, that memory is copied there and back. All of it is queued on streams of the
device.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import gpu
from ..process import ArgumentError, classes
from .pattern import Indices, Pattern, Places, points_first, positions, shape_first

Bytes: TypeAlias = NDArray[np.uint8]
ALIGNMENT: Final = 64


@classes.frozen(eq=False)
class Piece:
    """The part of one field of the host in one message: where it lies, and its packed copy."""

    field: Any = classes.field(repr=False)
    view: NDArray[Any]
    places: Any
    packed: NDArray[Any]

    def pack(self) -> None:
        """Copy from the field into the message."""
        self.packed[...] = self.view[self.places]

    def unpack(self) -> None:
        """Copy from the message into the field."""
        self.view[self.places] = self.packed


@classes.frozen(eq=False)
class Message:
    """What goes to one rank, or comes from it; `buffer` is an array of bytes."""

    rank: int
    buffer: Any


@classes.frozen(eq=False)
class Messages:
    """All messages that go one way: one for each rank, and the parts of fields in them."""

    each: Sequence[Message]
    pieces: Sequence[Piece]
    on_gpus: Sequence[DevicePieces]


Wanted: TypeAlias = Sequence[tuple[Any, Pattern, Mapping[int, Any]]]


@classes.frozen(eq=False)
class _Room:
    """Where the part of one field lies in the memory of all messages."""

    field: Any
    pattern: Pattern
    places: Any
    shape: tuple[int, ...]
    bytes: slice


def messages(wanted: Wanted, device: gpu.Device | None = None) -> Messages:
    """Return one message for each rank, with room for its part of every field.

    Args:
        wanted: fields, their patterns and the places in them by rank.
        device: a GPU whose memory holds the messages; by default they lie on the host.

    Raises:
        ArgumentError: a field does not lie on the device.

    """
    ranks = sorted({rank for _, _, by_rank in wanted for rank in by_rank})
    rooms: list[_Room] = []
    size, ends = 0, []
    for rank in ranks:
        for field, pattern, by_rank in wanted:
            if rank in by_rank:
                room = _room(field, pattern, by_rank[rank], size)
                rooms.append(room)
                size += -(-(room.bytes.stop - size) // ALIGNMENT) * ALIGNMENT
        ends.append(size)
    memory, whole = _memory(size, [field for field, _, _ in wanted], device)
    starts = [0, *ends]
    return Messages(
        [Message(rank, memory[starts[n] : starts[n + 1]]) for n, rank in enumerate(ranks)],
        [_piece(room, memory) for room in rooms if on_device(room.field.ndarray) is None],
        [] if whole is None else _on_gpus(rooms, whole),
    )


def _room(field: Any, pattern: Pattern, places: Any, start: int) -> _Room:
    shape = (len(places[0]), *shape_first(field, pattern)[len(places) :])
    length = int(np.prod(shape)) * field.ndarray.dtype.itemsize
    return _Room(field, pattern, places, shape, slice(start, start + length))


def _memory(
    size: int, fields: Sequence[Any], device: gpu.Device | None
) -> tuple[Any, gpu.Array | None]:
    """Return room for all messages; if a field is on a GPU, also as memory that it can copy to."""
    arrays = [on_device(field.ndarray) for field in fields]
    if device is not None and size:
        if any(each is None or each.device != device for each in arrays):
            raise ArgumentError(f"Expected fields on {device}, got one that lies elsewhere.")
        whole = gpu.Array.empty(size, np.uint8, device=device)
        return whole, whole
    place = next((each.device for each in arrays if each is not None), None)
    if place is None or not size:
        return np.zeros(size, np.uint8), None
    whole = pinned(size, place)
    return np.asarray(memoryview(whole)), whole


def _piece(room: _Room, memory: Bytes) -> Piece:
    view = points_first(room.field, room.pattern)
    packed = memory[room.bytes].view(view.dtype).reshape(room.shape)
    return Piece(room.field, view, positions(room.field, room.pattern, room.places), packed)


def _on_gpus(rooms: Sequence[_Room], whole: gpu.Array) -> list[DevicePieces]:
    """Return what moves between the fields on each GPU and the messages."""
    by_device: dict[gpu.Device, list[Part]] = {}
    for room in rooms:
        array = on_device(room.field.ndarray)
        if array is None or array.device is None:
            continue
        axes = [room.field.domain.dims.index(dim) for dim in room.pattern.dims]
        places = positions(room.field, room.pattern, room.places)
        part = array, offsets_of(array, axes, places), room.bytes.start
        by_device.setdefault(array.device, []).append(part)
    return [DevicePieces(device, parts, whole) for device, parts in by_device.items()]


BLOCK: Final = 128
_KERNEL: Final = r"""
extern "C" __global__ void move(const unsigned long long* to, const unsigned long long* from,
                                long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) *(TYPE*)to[i] = *(const TYPE*)from[i];
}
"""
_TYPES: Final = {
    1: "unsigned char", 2: "unsigned short", 4: "unsigned int", 8: "unsigned long long",
}  # fmt: skip

Part: TypeAlias = tuple[gpu.Array, Indices, int]


class DevicePieces:
    """What fields on a GPU have in the messages of one way.

    Args:
        device: that GPU.
        parts: arrays, the offsets of their elements in bytes and in the order of the message, and
            where these begin in the messages.
        messages: the memory of all messages, bytes of the device or pinned ones of the host. The
            arrays stay where they are as long as this is used.

    """

    def __init__(self, device: gpu.Device, parts: Sequence[Part], messages: gpu.Array) -> None:
        self.device = device
        is_staged = messages.device is None
        dense = gpu.Array.empty(messages.nbytes, np.uint8, device=device) if is_staged else messages
        ranges = _joined((start, start + len(at) * of.itemsize) for of, at, start in parts)
        self._staged = [
            (messages[first:last], dense[first:last]) for first, last in ranges if is_staged
        ]
        self._moves = [
            _Move(device, [part for part in parts if part[0].itemsize == size], dense)
            for size in sorted({array.itemsize for array, _, _ in parts})
        ]
        gpu.current_stream(device).sync()  # what was allocated is used on other streams

    def gather(self, stream: gpu.Stream) -> None:
        """Queue copies from the fields into the messages, or beside them."""
        for each in self._moves:
            each.launch(each.packed, each.fields, stream)

    def to_host(self, stream: gpu.Stream) -> None:
        """Queue the copy into messages on the host."""
        for host, dense in self._staged:
            host.copy_from(dense, stream=stream)

    def from_host(self, stream: gpu.Stream) -> None:
        """Queue the copy from messages on the host."""
        for host, dense in self._staged:
            dense.copy_from(host, stream=stream)

    def scatter(self, stream: gpu.Stream) -> None:
        """Queue copies from the messages, or beside them, into the fields."""
        for each in self._moves:
            each.launch(each.fields, each.packed, stream)


class _Move:
    """The addresses of elements of one size, in fields and in messages."""

    def __init__(self, device: gpu.Device, parts: Sequence[Part], dense: gpu.Array) -> None:
        size = parts[0][0].itemsize
        fields = np.concatenate([array.ptr + at for array, at, _ in parts])
        packed = np.concatenate(
            [dense.ptr + start + size * np.arange(len(at)) for _, at, start in parts]
        )
        self._count, self._kernel = len(fields), _kernel(device, size)
        self._keep = dense
        self.fields, self.packed = (
            gpu.Array.from_host(each, np.int64, device=device) for each in (fields, packed)
        )

    def launch(self, to: gpu.Array, source: gpu.Array, stream: gpu.Stream) -> None:
        if self._count:
            blocks = -(-self._count // BLOCK)
            self._kernel(to.ptr, source.ptr, self._count, grid=blocks, stream=stream)


def _joined(ranges: Iterable[tuple[int, int]], gap: int = 64) -> list[tuple[int, int]]:
    """Return ranges of bytes with those joined that have less than a gap between them."""
    found: list[tuple[int, int]] = []
    for first, last in sorted(each for each in ranges if each[0] < each[1]):
        if found and first - found[-1][1] < gap:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def on_device(array: Any) -> gpu.Array | None:
    """Return an array of a GPU as ours; None for one of the host."""
    if isinstance(array, np.ndarray):
        return None
    given = gpu.Array.from_any(array)
    return given if given.device is not None else None


def pinned(size: int, device: gpu.Device) -> gpu.Array:
    """Return bytes of the host from which a device copies without a detour."""
    return gpu.Array.empty(size, np.uint8, resource=gpu.PinnedMemoryResource(device))


def offsets_of(array: gpu.Array, axes: Sequence[int], places: Places) -> Indices:
    """Return where elements lie, in bytes from the first one.

    Args:
        array: of any strides.
        axes: those of the pattern, in its order.
        places: the positions along these axes, (points,) each.

    """
    found = np.zeros(len(places[0]), np.int64)
    for axis, along in zip(axes, places, strict=True):
        found = found + along * array.strides[axis]
    for axis in (each for each in range(len(array.shape)) if each not in axes):
        found = found[..., None] + np.arange(array.shape[axis]) * array.strides[axis]
    return found.ravel()


@functools.lru_cache(maxsize=64)
def _kernel(device: gpu.Device, itemsize: int) -> Any:
    """Compile the kernel for elements of a size, once in a process."""
    image = gpu.compile_kernels(_KERNEL.replace("TYPE", _TYPES[itemsize]), arch=device.arch)
    return gpu.Module.load(image, device=device).kernel("move").prepare("RRq", block=BLOCK)
