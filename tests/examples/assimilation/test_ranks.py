"""Gradients on ranks: threads that exchange halos have the bits of one rank."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import fieldforge as ff
from fieldforge.examples.assimilation.experiment import Assimilation, Experiment
from fieldforge.runtime.decomposition.exchange import local_exchanges

pytest.importorskip("scipy", reason="L-BFGS is SciPy's")
pytest.importorskip("checkpoint_schedules", reason="the extra 'adjoint'")
SMALL = Experiment(level=3, hours=3, share=0.2, iterations=2, checkpoints=2)


class Gathering:
    """What ranks that are threads share: the values of all."""

    def __init__(self, ranks):
        self.barrier, self.values = threading.Barrier(ranks, timeout=100), [None] * ranks


class Rank:
    """A rank that is a thread."""

    def __init__(self, rank, size, shared):
        self.rank, self.size, self.shared = rank, size, shared

    def allgather(self, sendobj):
        self.shared.values[self.rank] = sendobj
        self.shared.barrier.wait()
        found = list(self.shared.values)
        self.shared.barrier.wait()
        return found

    def exchange(self, part):
        patterns = self.allgather(part.patterns)
        made = local_exchanges(patterns) if self.rank == 0 else None
        return self.allgather(made)[0][self.rank]


def results(ranks, backend):
    """Return what each rank finds: a cost, its gradient, and a sensitivity."""
    shared = Gathering(ranks)
    at = np.random.default_rng(3).normal(size=642)

    def run(number):
        comm = Rank(number, ranks, shared)
        try:
            own = Assimilation(SMALL, backend, comm, comm.exchange)
            return (*own.cost(at), own.sensitivity())
        except BaseException:
            shared.barrier.abort()
            raise

    with ThreadPoolExecutor(ranks) as pool:
        return list(pool.map(run, range(ranks)))


@pytest.mark.parametrize("ranks", [2, 4])
def test_gradients_have_the_bits_of_one_rank(ranks):
    ((value, gradient, sensitivity),) = results(1, "rows")

    for again, other, moved in results(ranks, "rows"):
        assert again == value
        assert_array_equal(other, gradient)
        assert_array_equal(moved, sensitivity)
