"""The messages of an exchange: for each rank one buffer with the packed parts of all fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import gpu
from ..process import classes
from ..process.errors import ArgumentError
from .device_pieces import DevicePieces, Part, offsets_of, on_device, pinned
from .pattern import Pattern, points_first, positions, shape_first

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
