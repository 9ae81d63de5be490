"""The messages of an exchange: for each rank one buffer with the packed parts of all fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from .. import gpu
from ..process.errors import ArgumentError
from .device_pieces import DevicePiece, offsets_of, on_device, pinned
from .pattern import Pattern, points_first, positions, shape_first

Bytes: TypeAlias = NDArray[np.uint8]
ALIGNMENT: Final = 64


@attrs.frozen(eq=False)
class Piece:
    """The part of one field in one message: where it lies in the field, and its packed copy."""

    field: Any = attrs.field(repr=False)
    view: NDArray[Any]
    places: Any
    packed: NDArray[Any]

    def pack(self) -> None:
        """Copy from the field into the message."""
        self.packed[...] = self.view[self.places]

    def unpack(self) -> None:
        """Copy from the message into the field."""
        self.view[self.places] = self.packed


@attrs.frozen(eq=False)
class Message:
    """What goes to one rank, or comes from it; `buffer` is an array of bytes."""

    rank: int
    buffer: Any
    pieces: Sequence[Piece | DevicePiece]


Wanted: TypeAlias = Sequence[tuple[Any, Pattern, Mapping[int, Any]]]


def messages(wanted: Wanted, device: gpu.Device | None = None) -> list[Message]:
    """Return one message for each rank, with room for its part of every field.

    Args:
        wanted: fields, their patterns and the places in them by rank.
        device: a GPU whose memory holds the messages; by default they lie on the host.

    Raises:
        ArgumentError: a field does not lie on the device.

    """
    ranks = sorted({rank for _, _, by_rank in wanted for rank in by_rank})
    return [_message(rank, wanted, device) for rank in ranks]


def _message(rank: int, wanted: Wanted, device: gpu.Device | None) -> Message:
    chosen = [(field, each, by_rank[rank]) for field, each, by_rank in wanted if rank in by_rank]
    rooms, size = [], 0
    for field, pattern, places in chosen:
        shape = (len(places[0]), *shape_first(field, pattern)[len(places) :])
        length = int(np.prod(shape)) * field.ndarray.dtype.itemsize
        rooms.append((shape, slice(size, size + length)))
        size += -(-length // ALIGNMENT) * ALIGNMENT
    buffer, whole = _buffer(size, [field for field, _, _ in chosen], device)
    return Message(rank, buffer, [
        _piece(field, pattern, places, shape, buffer[part], None if whole is None else whole[part])
        for (field, pattern, places), (shape, part) in zip(chosen, rooms, strict=True)
    ])  # fmt: skip


def _buffer(
    size: int, fields: Sequence[Any], device: gpu.Device | None
) -> tuple[Any, gpu.Array | None]:
    """Return room for a message; if a field is on a GPU, also as memory that it can copy to."""
    arrays = [on_device(field.ndarray) for field in fields]
    if device is not None:
        if any(each is None or each.device != device for each in arrays):
            raise ArgumentError(f"Expected fields on {device}, got one that lies elsewhere.")
        whole = gpu.Array.empty(size, np.uint8, device=device)
        return whole, whole
    place = next((each.device for each in arrays if each is not None), None)
    if place is None or not size:
        return np.zeros(size, np.uint8), None
    whole = pinned(size, place)
    return np.asarray(memoryview(whole)), whole


def _piece(
    field: Any,
    pattern: Pattern,
    places: Any,
    shape: tuple[int, ...],
    packed: Any,
    room: gpu.Array | None,
) -> Piece | DevicePiece:
    places = positions(field, pattern, places)
    array = on_device(field.ndarray)
    if array is None or room is None:
        view = points_first(field, pattern)
        return Piece(field, view, places, packed.view(view.dtype).reshape(shape))
    axes = [field.domain.dims.index(dim) for dim in pattern.dims]
    return DevicePiece(field, array, offsets_of(array, axes, places), room)
