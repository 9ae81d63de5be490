"""Exchange halos: pack what others need, send it, and unpack what they sent.

`exchange(a, b)` fills the halos of fields; `start(a, b)` and `finish()` do it in two steps, with
work in between that needs no halo. All ranks exchange the same fields in the same order. One
message goes to each neighbour, whatever the number of fields, their dtypes, layouts and dimensions.
"""

from __future__ import annotations

import queue
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from .. import _core, gpu
from ..language import Dimension
from ..process import ArgumentError, FieldforgeError, classes
from .messages import Bytes, Messages, messages
from .pattern import Pattern, check_size, owned_box

R = TypeVar("R")
URGENT: Final = -1  # the priority of streams that go before others
PATIENCE: Final = 120.0  # seconds that a rank in this process waits for another


class LostRankError(FieldforgeError, RuntimeError):
    """Another rank of this process has failed, or has not answered in time."""


@classes.frozen(eq=False)
class Route:
    """The messages of an exchange of certain fields, and requests that are kept for it."""

    fields: tuple[Any, ...]
    send: Messages
    receive: Messages
    requests: Any
    devices: Sequence[gpu.Device]


class Exchange(ABC, Generic[R]):
    """What every exchange does: `start`, then `finish`, and routes that are kept."""

    def __init__(self) -> None:
        self._routes: dict[tuple[int, ...], R] = {}
        self._running: R | None = None

    def __call__(self, *fields: Any) -> None:
        """Exchange and wait; recorded steps take the call down."""
        self.start(*fields)
        self.finish()
        sequence = _core.recording()
        if sequence is not None:
            sequence.note(self, fields, {})

    def close(self) -> None:
        """Give back what the ranks share, such as communicators; all ranks call it, at the end."""
        self._routes.clear()

    def start(self, *fields: Any, untouched: bool = False) -> None:
        """Send the owned points that others need; the halo belongs to the exchange until `finish`.

        Args:
            fields: on dimensions that are cut; all ranks give the same ones in the same order.
            untouched: nobody changes the owned points before `finish`, either, so that a GPU may
                pack them beside its other work. By default they may change from now on.

        Raises:
            ArgumentError: another exchange has not been finished, or a field has no halo here.

        """
        if self._running is not None:
            raise ArgumentError("An exchange is running: call 'finish' before the next 'start'.")
        names = tuple(map(id, fields))
        route = self._routes.get(names)
        if route is None:
            route = self._routes[names] = self._route(fields)
        self._begin(route, untouched)
        self._running = route

    def finish(self) -> None:
        """Wait for the other ranks and fill the halos.

        Raises:
            ArgumentError: no exchange was started.

        """
        route, self._running = self._running, None
        if route is None:
            raise ArgumentError("No exchange is running: call 'start' first.")
        self._end(route)

    @abstractmethod
    def owned(self, field: Any) -> dict[Dimension, tuple[int, int]]:
        """Return the ranges of the points of a field that this rank owns."""

    @abstractmethod
    def _route(self, fields: tuple[Any, ...]) -> R:
        """Prepare the exchange of some fields; the route keeps them alive."""

    @abstractmethod
    def _begin(self, route: R, untouched: bool) -> None: ...

    @abstractmethod
    def _end(self, route: R) -> None: ...


class HaloExchange(Exchange[Route]):
    """Fill the halos of fields by messages, which hold copies of the points that are sent.

    Buffers are kept for each list of field objects that was exchanged.
    """

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        super().__init__()
        self._patterns = tuple(patterns)
        self._streams: dict[gpu.Device, gpu.Stream] = {}

    def owned(self, field: Any) -> dict[Dimension, tuple[int, int]]:
        """Return the ranges of the points of a field that this rank owns."""
        return owned_box(field, self._pattern(field))

    def _begin(self, route: Route, untouched: bool) -> None:
        for piece in route.send.pieces:
            piece.pack()
        if not untouched:
            self._gather(route, gpu.current_stream)
        for device in route.devices:  # what is sent is written there, and the halo still read
            self._beside(device).wait(gpu.current_stream(device))
        if untouched:
            self._gather(route, self._beside)
        for each in route.send.on_gpus:
            each.to_host(self._beside(each.device))
        self._post(route)

    def _gather(self, route: Route, stream: Callable[[gpu.Device], gpu.Stream]) -> None:
        for each in route.send.on_gpus:
            each.gather(stream(each.device))

    def _end(self, route: Route) -> None:
        self._wait(route)
        for piece in route.receive.pieces:
            piece.unpack()
        for each in route.receive.on_gpus:
            beside = self._beside(each.device)
            each.from_host(beside)
            each.scatter(beside)
        for device in route.devices:
            gpu.current_stream(device).wait(self._beside(device))

    def _beside(self, device: gpu.Device) -> gpu.Stream:
        """Return the stream for copies and messages; they go before the work of other streams."""
        if device not in self._streams:
            self._streams[device] = gpu.Stream(device, priority=URGENT)
        return self._streams[device]

    def _await_packing(self, route: Route) -> None:
        """Wait until the messages are whole and what was received before has been read."""
        for device in route.devices:
            self._beside(device).sync()

    def _route(self, fields: tuple[Any, ...]) -> Route:
        chosen = [(field, self._pattern(field)) for field in fields]
        place = self._place(fields)
        send = messages([(field, each, each.send) for field, each in chosen], place)
        receive = messages([(field, each, each.receive) for field, each in chosen], place)
        devices = dict.fromkeys(each.device for each in (*send.on_gpus, *receive.on_gpus))
        return Route(fields, send, receive, self._requests(send, receive), list(devices))

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

    def _place(self, fields: tuple[Any, ...]) -> gpu.Device | None:
        """Return the GPU that holds the messages of these fields; None for the host."""
        return None

    def _requests(self, send: Messages, receive: Messages) -> Any:
        """Prepare what is repeated with each exchange of these messages."""

    @abstractmethod
    def _post(self, route: Route) -> None: ...

    @abstractmethod
    def _wait(self, route: Route) -> None: ...


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

    def _post(self, route: Route) -> None:
        self._await_packing(route)
        for message in route.send.each:
            self._boxes[self._rank, message.rank].put(message.buffer.copy())

    def _wait(self, route: Route) -> None:
        for message in route.receive.each:
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
