"""The ranks of an MPI job, of which one that fails must not leave the others waiting."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


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
