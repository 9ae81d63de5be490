"""One rank of an MPI job that runs shallow water, moist columns, and exchanges of many kinds.

mpirun -n 4 python sphere.py FOLDER
"""

import os
import signal
import sys
from pathlib import Path

import attrs
import numpy as np

import fieldforge as ff
from fieldforge.examples.moist_columns.__main__ import run as moist_columns
from fieldforge.examples.shallow_water.ranks import world
from fieldforge.examples.shallow_water.simulation import Case, silent, simulate
from fieldforge.runtime.decomposition.blocks import blocks
from fieldforge.runtime.decomposition.mpi_exchange import MpiExchange

I, J = ff.Dimension("I"), ff.Dimension("J")
K = ff.Dimension("K", ff.DimensionKind.VERTICAL)
CASE = Case(name="5", level=3, days=0.25)
STEADY = Case(name="2", level=3, days=0.25)
STRICT = ff.cpu.with_options(
    numerics="strict", flags=("-O0",)
)  # the program is optimised elsewhere


def exchanged(comm):
    """Exchange fields of three kinds on periodic blocks; return how many values are wrong."""
    block = blocks({I: 8, J: 6}, {I: comm.size, J: 1}, halo=1, periodic=[I, J])[comm.rank]
    exchange = MpiExchange(comm, block.patterns)
    i, j = (np.arange(r.start, r.stop) % n for r, n in zip(block.local.ranges, (8, 6), strict=True))
    expected = 10 * i[:, None] + j
    fields = [
        ff.full(block.local, -1.0),
        ff.full(block.local, -1, dtype=np.int32),
        ff.full(
            {K: 3, **dict(zip((I, J), block.local.ranges, strict=True))}, -1.0, dtype=np.float32
        ),
    ]
    rows = slice(1, -1)
    for _ in range(3):  # the second and the third start the same requests again
        for field in fields:
            field.ndarray[...] = -1
            field.ndarray[..., rows, rows] = expected[rows, rows]
        exchange.start(*fields)
        exchange.finish()
    return sum(int((field.asnumpy() != expected).sum()) for field in fields)


def exchanged_by_few(comm):
    """Exchange a line of two points, of which most ranks have none; return the wrong values."""
    block = blocks({I: 2}, {I: comm.size}, halo=1, periodic=[I])[comm.rank]
    field = ff.full(block.local, -1.0)
    i = np.arange(block.local.ranges[0].start, block.local.ranges[0].stop)
    owned = slice(1, -1) if len(i) else slice(0)
    field.ndarray[owned] = i[owned] % 2
    MpiExchange(comm, block.patterns)(field)
    return int((field.asnumpy() != i % 2).sum())


def fail(done, steps):
    if done == 2:
        raise KeyError("mine")


def die(done, steps):
    if done == 2:
        Path(sys.argv[1], "dying").touch()
        os.kill(os.getpid(), signal.SIGKILL)


ENDS = {"fail": fail, "die": die}


def main() -> None:
    comm = world()  # pytest imports this file too, and is no rank
    for end in sys.argv[2:]:
        simulate(CASE, STRICT, comm=comm, told=ENDS[end] if comm.rank == 1 else silent)
    wrong = comm.reduce(exchanged(comm) + exchanged_by_few(comm))
    result = simulate(CASE, STRICT, comm=comm)
    steady = simulate(STEADY, STRICT, comm=comm)
    moist = moist_columns(2, 5, 0.3, comm=comm, backend=STRICT)
    if comm.rank == 0:
        np.savez(
            Path(sys.argv[1], f"{comm.size}.npz"),
            h=result.h, u=result.u, wrong=wrong, compiled=result.compiled_in_loop,
            moist=moist.state, steady=attrs.astuple(steady.height_norms),
        )  # fmt: skip


if __name__ == "__main__":
    main()
