"""One rank of an MPI job that exchanges fields of many kinds by GHEX.

mpirun -n 3 python ghex_job.py
"""

import sys

import numpy as np

import fieldforge as ff
from fieldforge.examples.icosahedral import Cell, Edge, K, icosahedral
from fieldforge.runtime.decomposition.ghex_exchange import GhexExchange
from fieldforge.runtime.decomposition.mesh import decompose
from fieldforge.runtime.decomposition.partitioning import bisect

NZ = 5
KINDS = [
    ((Cell,), np.float64), ((Edge,), np.float32), ((Cell, K), np.float64), ((K, Edge), np.float64),
    ((Cell,), np.bool_), ((Cell, K), np.int16),
]  # fmt: skip


def expected_of(part, dims, dtype):
    axis = next(n for n, dim in enumerate(dims) if dim in part.points)
    ids = part.points[dims[axis]].global_ids
    whole = ids if len(dims) == 1 else ids[:, None] + 1000 * np.arange(NZ)
    return np.moveaxis(whole % 9001, 0, axis).astype(dtype), axis


def main() -> None:
    from mpi4py import MPI  # pytest imports this file too, and is no rank

    comm = MPI.COMM_WORLD
    mesh = icosahedral(2, 2)
    owners = bisect(mesh.cell_points, comm.size)
    parts = decompose(
        mesh.connectivities(), Cell, owners, attached=["E2C", "V2C"], halo=2, ranks=comm.size
    )
    part = parts[comm.rank]
    exchange = GhexExchange(comm, part)
    wrong, made = 0, []
    for dims, dtype in KINDS:
        expected, axis = expected_of(part, dims, dtype)
        field = ff.zeros(dict(zip(dims, expected.shape, strict=True)), dtype=dtype)
        owned = part.points[dims[axis]].owned
        np.moveaxis(field.ndarray, axis, 0)[:owned] = np.moveaxis(expected, axis, 0)[:owned]
        made.append((field, expected, axis, owned))
    for _ in range(3):
        for field, _, axis, owned in made:
            np.moveaxis(field.ndarray, axis, 0)[owned:] = 0
        exchange.start(*(field for field, *_ in made))
        exchange.finish()
        wrong += sum(int((field.asnumpy() != expected).sum()) for field, expected, *_ in made)
    total = comm.reduce(wrong)
    if comm.rank == 0:
        sys.stdout.write(f"{total} wrong values\n")


if __name__ == "__main__":
    main()
