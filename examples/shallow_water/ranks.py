"""The ranks of a job: how they exchange halos, their GPUs, and what happens when one fails."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from fieldforge.runtime.decomposition.exchange import local_exchanges
from fieldforge.runtime.decomposition.mpi_exchange import MpiExchange
from fieldforge.runtime.decomposition.pattern import LocalMesh

EXCHANGES: Final = ("mpi", "ghex", "nccl")
LOCAL_RANK: Final = ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")


def exchanges_of(parts: Sequence[LocalMesh], comm: Any, by: str = "mpi") -> Sequence[Any]:
    """Return the exchange of each rank of this process; None for a rank that is alone.

    Args:
        parts: of the ranks of this process.
        comm: a communicator of mpi4py, of which this process is one rank; or None.
        by: one of `EXCHANGES`, for the ranks of `comm`; "ghex" and "nccl" need these libraries.
    """
    if by not in EXCHANGES:
        raise ValueError(f"Unknown exchange '{by}', expected one of {', '.join(EXCHANGES)}.")
    if comm is None:
        if by != "mpi":
            raise ValueError(f"Exchange '{by}' is for ranks of MPI, which are processes.")
        if len(parts) == 1:
            return [None]
        return local_exchanges([part.patterns for part in parts])
    if comm.size == 1:
        return [None]
    (part,) = parts
    if by == "ghex":
        from fieldforge.runtime.decomposition.ghex_exchange import GhexExchange

        return [GhexExchange(comm, part)]
    if by == "nccl":
        from fieldforge.runtime.decomposition.nccl_exchange import NcclExchange

        return [NcclExchange(comm, part.patterns)]
    return [MpiExchange(comm, part.patterns)]


def close(exchanges: Sequence[Any]) -> None:
    """Give back what the exchanges of this process share with other ranks; all ranks call it."""
    for each in exchanges:
        if each is not None:
            each.close()


def own_gpu() -> str:
    """Let this process see one of the GPUs of its host only, in turn; return which.

    Call this before anything touches a GPU; MPI may do so when it starts. The launcher tells the
    number of the rank on its host.
    """
    local = int(next((os.environ[name] for name in LOCAL_RANK if name in os.environ), "0"))
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    count = max(len(list(Path("/dev").glob("nvidia[0-9]*"))), 1)
    names = given.split(",") if given else [str(number) for number in range(count)]
    chosen = names[local % len(names)]
    os.environ["CUDA_VISIBLE_DEVICES"] = chosen
    return chosen


def world() -> Any:
    """Return the communicator of all ranks; from now on an error that is not caught ends the job.

    The rank that fails prints its number and its traceback first.
    """
    from mpi4py import MPI

    comm, report = MPI.COMM_WORLD, sys.excepthook

    def end(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        sys.stderr.write(f"Rank {comm.rank} of {comm.size} has failed and ends the job:\n")
        report(kind, error, trace)
        sys.stderr.flush()
        comm.Abort(1)

    sys.excepthook = end
    return comm
