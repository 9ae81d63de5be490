"""Exchange halos: pack what others need, send it, and unpack what they sent.

`exchange(a, b)` fills the halos of fields; `start(a, b)` and `finish()` do it in two steps, with
work in between that needs no halo. All ranks exchange the same fields in the same order. One
message goes to each neighbour, whatever the number of fields, their dtypes, layouts and dimensions.
"""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from .. import gpu
from ..process.errors import ArgumentError, FieldforgeError
from .device_pieces import DevicePiece, offsets_of, on_device, pinned
from .pattern import Pattern, check_size, points_first, positions, shape_first

Bytes: TypeAlias = NDArray[np.uint8]
ALIGNMENT: Final = 64
PATIENCE: Final = 120.0  # seconds that a rank in this process waits for another


class LostRankError(FieldforgeError, RuntimeError):
    """Another rank of this process has failed, or has not answered in time."""


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
    """What goes to one rank, or comes from it."""

    rank: int
    buffer: Bytes
    pieces: Sequence[Piece | DevicePiece]


@attrs.frozen(eq=False)
class Route:
    """The messages of an exchange of certain fields, and requests that are kept for it."""

    fields: tuple[Any, ...]
    send: Sequence[Message]
    receive: Sequence[Message]
    requests: Any
    devices: Sequence[gpu.Device] = ()


class HaloExchange(ABC):
    """Fill the halos of fields.

    Buffers are kept for each list of field objects that was exchanged.
    """

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._patterns = tuple(patterns)
        self._routes: dict[tuple[int, ...], Route] = {}
        self._running: Route | None = None

    def __call__(self, *fields: Any) -> None:
        """Exchange and wait."""
        self.start(*fields)
        self.finish()

    def start(self, *fields: Any) -> None:
        """Send the owned points that others need; their values may change from now on.

        Raises:
            ArgumentError: another exchange has not been finished, or a field has no halo here.
        """
        if self._running is not None:
            raise ArgumentError("An exchange is running: call 'finish' before the next 'start'.")
        names = tuple(map(id, fields))
        route = self._routes.get(names)
        if route is None:
            route = self._routes[names] = self._route(fields)
        for message in route.send:
            for piece in message.pieces:
                piece.pack()
        for device in route.devices:
            gpu.current_stream(device).sync()  # what is sent must be there, what was read too
        self._running = route
        self._post(route)

    def finish(self) -> None:
        """Wait for the other ranks and fill the halos.

        Raises:
            ArgumentError: no exchange was started.
        """
        route, self._running = self._running, None
        if route is None:
            raise ArgumentError("No exchange is running: call 'start' first.")
        self._wait(route)
        for message in route.receive:
            for piece in message.pieces:
                piece.unpack()

    def _route(self, fields: tuple[Any, ...]) -> Route:
        chosen = [(field, self._pattern(field)) for field in fields]
        send = _messages([(field, each, each.send) for field, each in chosen])
        receive = _messages([(field, each, each.receive) for field, each in chosen])
        arrays = (on_device(field.ndarray) for field in fields)
        devices = dict.fromkeys(each.device for each in arrays if each is not None)
        requests = self._requests(send, receive)
        return Route(fields, send, receive, requests, [each for each in devices if each])

    def _pattern(self, field: Any) -> Pattern:
        if not hasattr(field, "ndarray"):
            raise ArgumentError(
                f"Expected a field, got an object of type '{type(field).__name__}'."
            )
        fitting = [each for each in self._patterns if each.fits(field.domain.dims)]
        if len(fitting) != 1:
            dims = ", ".join(dim.value for dim in field.domain.dims)
            raise ArgumentError(
                f"Expected a field on one of the dimensions that are cut, got one on [{dims}]."
            )
        check_size(field, fitting[0])
        return fitting[0]

    @abstractmethod
    def _requests(self, send: Sequence[Message], receive: Sequence[Message]) -> Any: ...

    @abstractmethod
    def _post(self, route: Route) -> None: ...

    @abstractmethod
    def _wait(self, route: Route) -> None: ...


class MpiExchange(HaloExchange):
    """Exchange by persistent requests of MPI; `comm` is a communicator of mpi4py.

    The requests live on a duplicate of the communicator, which this duplicates on all ranks.
    """

    def __init__(self, comm: Any, patterns: Sequence[Pattern]) -> None:
        super().__init__(patterns)
        self._comm = comm.Dup()

    def _requests(self, send: Sequence[Message], receive: Sequence[Message]) -> Any:
        tag = len(self._routes)
        return [
            *(self._comm.Recv_init(each.buffer, each.rank, tag) for each in receive),
            *(self._comm.Send_init(each.buffer, each.rank, tag) for each in send),
        ]

    def _post(self, route: Route) -> None:
        for request in route.requests:
            request.Start()

    def _wait(self, route: Route) -> None:
        for request in route.requests:
            request.Wait()


class LocalExchange(HaloExchange):
    """Exchange between ranks that live in this process; `local_exchanges` makes all of them."""

    def __init__(
        self,
        rank: int,
        patterns: Sequence[Pattern],
        boxes: Mapping[tuple[int, int], queue.SimpleQueue[Bytes | None]],
    ) -> None:
        super().__init__(patterns)
        self._rank, self._boxes = rank, boxes

    def abandon(self) -> None:
        """Tell the ranks that wait for this one, now or later, that it has failed."""
        for (sender, _), box in self._boxes.items():
            if sender == self._rank:
                box.put(None)

    def _requests(self, send: Sequence[Message], receive: Sequence[Message]) -> Any:
        return None

    def _post(self, route: Route) -> None:
        for message in route.send:
            self._boxes[self._rank, message.rank].put(message.buffer.copy())

    def _wait(self, route: Route) -> None:
        for message in route.receive:
            try:
                got = self._boxes[message.rank, self._rank].get(timeout=PATIENCE)
            except queue.Empty:
                raise LostRankError(
                    f"Rank {self._rank} has waited {PATIENCE:.0f} s for rank {message.rank}."
                ) from None
            if got is None:
                raise LostRankError(f"Rank {message.rank} has failed; rank {self._rank} ends.")
            if got.shape != message.buffer.shape:
                raise ArgumentError(
                    f"Rank {self._rank} expected {message.buffer.size} bytes from rank "
                    f"{message.rank}, got {got.size}: the ranks exchange different fields."
                )
            message.buffer[...] = got


def local_exchanges(patterns: Sequence[Sequence[Pattern]]) -> tuple[LocalExchange, ...]:
    """Return the exchange of each rank, for ranks that are threads or take turns.

    Ranks that take turns all call `start` before the first calls `finish`.

    Args:
        patterns: of each rank.

    >>> import fieldforge as ff
    >>> from .blocks import blocks
    >>> I = ff.Dimension("I")
    >>> cut = blocks({I: 4}, {I: 2}, halo=1)
    >>> fields = [ff.full(block.local, float(block.rank)) for block in cut]
    >>> ranks = local_exchanges([block.patterns for block in cut])
    >>> for rank, field in zip(ranks, fields):
    ...     rank.start(field)
    >>> for rank in ranks:
    ...     rank.finish()
    >>> [field.asnumpy().tolist() for field in fields]
    [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    """
    count = len(patterns)
    boxes: dict[tuple[int, int], queue.SimpleQueue[Bytes | None]] = {
        (a, b): queue.SimpleQueue() for a in range(count) for b in range(count)
    }
    return tuple(LocalExchange(rank, each, boxes) for rank, each in enumerate(patterns))


def _messages(wanted: Sequence[tuple[Any, Pattern, Mapping[int, Any]]]) -> list[Message]:
    """Return one message for each rank, with room for its part of every field."""
    ranks = sorted({rank for _, _, by_rank in wanted for rank in by_rank})
    return [_message(rank, wanted) for rank in ranks]


def _message(rank: int, wanted: Sequence[tuple[Any, Pattern, Mapping[int, Any]]]) -> Message:
    chosen = [(field, each, by_rank[rank]) for field, each, by_rank in wanted if rank in by_rank]
    rooms, size = [], 0
    for field, pattern, places in chosen:
        shape = (len(places[0]), *shape_first(field, pattern)[len(places) :])
        length = int(np.prod(shape)) * field.ndarray.dtype.itemsize
        rooms.append((shape, slice(size, size + length)))
        size += -(-length // ALIGNMENT) * ALIGNMENT
    buffer, whole = _buffer(size, [field for field, _, _ in chosen])
    return Message(rank, buffer, [
        _piece(field, pattern, places, shape, buffer[part], None if whole is None else whole[part])
        for (field, pattern, places), (shape, part) in zip(chosen, rooms, strict=True)
    ])  # fmt: skip


def _buffer(size: int, fields: Sequence[Any]) -> tuple[Bytes, gpu.Array | None]:
    """Return room for a message; if a field is on a GPU, also as pinned memory."""
    arrays = (on_device(field.ndarray) for field in fields)
    device = next((each.device for each in arrays if each is not None), None)
    if device is None or not size:
        return np.zeros(size, np.uint8), None
    whole = pinned(size, device)
    return np.asarray(memoryview(whole)), whole


def _piece(
    field: Any,
    pattern: Pattern,
    places: Any,
    shape: tuple[int, ...],
    packed: Bytes,
    room: gpu.Array | None,
) -> Piece | DevicePiece:
    places = positions(field, pattern, places)
    array = on_device(field.ndarray)
    if array is None or room is None:
        view = points_first(field, pattern)
        return Piece(field, view, places, packed.view(view.dtype).reshape(shape))
    axes = [field.domain.dims.index(dim) for dim in pattern.dims]
    return DevicePiece(field, array, offsets_of(array, axes, places), room)
