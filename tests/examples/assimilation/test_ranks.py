"""Gradients on ranks: threads that exchange halos have the bits of one rank."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import fieldforge as ff
from fieldforge.examples.assimilation.experiment import Assimilation, Experiment
from fieldforge.examples.assimilation.ranks import on_threads

pytest.importorskip("scipy", reason="L-BFGS is SciPy's")
pytest.importorskip("checkpoint_schedules", reason="the extra 'adjoint'")
SMALL = Experiment(level=3, hours=3, share=0.2, iterations=2, checkpoints=2)


def results(ranks, backend):
    """Return what each rank finds: a cost, its gradient, and a sensitivity."""
    at = np.random.default_rng(3).normal(size=642)

    def run(comm):
        own = Assimilation(SMALL, backend, comm, comm.exchange)
        return (*own.cost(at), own.sensitivity())

    return on_threads(ranks, run)


STRICT = ff.cpu.with_options(numerics="strict", flags=("-O0",))


@pytest.mark.parametrize(
    ("ranks", "backend"),
    [(2, "rows"), (4, "rows"), pytest.param(3, STRICT, marks=pytest.mark.needs_compiler)],
)
def test_gradients_have_the_bits_of_one_rank(ranks, backend):
    ((value, gradient, sensitivity),) = results(1, backend)

    for again, other, moved in results(ranks, backend):
        assert again == value
        assert_array_equal(other, gradient)
        assert_array_equal(moved, sensitivity)
