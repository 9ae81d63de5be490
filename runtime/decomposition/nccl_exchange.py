"""Exchange the halos of fields on GPUs by NCCL: from GPU to GPU, and the host waits for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import gpu
from . import nccl
from .exchange import HaloExchange, Route
from .pattern import Pattern


class NcclExchange(HaloExchange):
    """Fill the halos of fields on GPUs, as `MpiExchange` does; each rank has a GPU of its own.

    One kernel packs, on the current stream or, if the points stay untouched, beside it. The
    messages go on a stream of their own, which fills the halos when they have come; `finish` lets
    the current stream wait for this. Both calls only queue work.

    Args:
        comm: a communicator of mpi4py, by which the ranks find each other.
        patterns: of this rank.
        device: its GPU, by default the current one.
        library: NCCL, by default the one that is installed.

    Raises:
        NcclError: NCCL is not installed, or the ranks cannot reach each other.

    """

    def __init__(
        self,
        comm: Any,
        patterns: Sequence[Pattern],
        *,
        device: gpu.Device | None = None,
        library: Any = None,
    ) -> None:
        super().__init__(patterns)
        library = nccl.load() if library is None else library
        self._device = gpu.current_device() if device is None else device
        name = comm.bcast(library.unique_id() if comm.rank == 0 else None)
        self._ranks = library.communicator(comm.size, name, comm.rank, self._device)

    def close(self) -> None:
        """Wait for the messages and destroy the communicator; all ranks call it.

        A communicator that is not closed is aborted when the exchange is collected, or when the
        process ends.
        """
        self._beside(self._device).sync()
        self._ranks.destroy()
        super().close()

    def _place(self, fields: tuple[Any, ...]) -> gpu.Device:
        return self._device

    def _post(self, route: Route) -> None:
        beside = self._beside(self._device)
        with self._ranks.group():
            for message in route.receive.each:
                self._ranks.receive(message.buffer, message.rank, beside)
            for message in route.send.each:
                self._ranks.send(message.buffer, message.rank, beside)
        for each in route.receive.on_gpus:
            each.scatter(beside)

    def _wait(self, route: Route) -> None:
        """Wait for nothing: the stream does."""

    def _end(self, route: Route) -> None:
        gpu.current_stream(self._device).wait(self._beside(self._device))
