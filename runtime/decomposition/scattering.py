"""Hand each rank its part when one rank has made all of them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from ..process import ArgumentError

T = TypeVar("T")
TAG: Final = 71


def scattered(comm: Any, parts: Iterable[T] | None) -> T:
    """Return the part of this rank; all ranks call it.

    Parts are pickled and sent one by one, so an iterator that makes them holds one at a time.

    Args:
        comm: a communicator of mpi4py.
        parts: on the first rank one for each rank, in order; None on the others.

    Raises:
        ArgumentError: on the first rank, if there are fewer parts than ranks.

    >>> class Alone:
    ...     rank, size = 0, 1
    >>> scattered(Alone(), ["all of it"])
    'all of it'
    """
    if comm.rank or parts is None:
        received: T = comm.recv(source=0, tag=TAG)
        return received
    mine, count = [], 0
    for part in itertools.islice(parts, comm.size):
        if count:
            comm.send(part, dest=count, tag=TAG)
        else:
            mine.append(part)
        count += 1
    if count < comm.size:
        raise ArgumentError(f"Expected a part for each of {comm.size} ranks, got {count}.")
    return mine[0]
