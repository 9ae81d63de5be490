"""4D-Var on a small sphere: its gradient is that of its cost, and it comes near the truth."""

import attrs
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import fieldforge as ff
from fieldforge.examples.assimilation.experiment import Assimilation, Experiment

pytest.importorskip("scipy", reason="L-BFGS is SciPy's")
pytest.importorskip("checkpoint_schedules", reason="the extra 'adjoint'")
SMALL = Experiment(level=2, hours=6, share=0.3, iterations=12, checkpoints=3)


@pytest.fixture(scope="module")
def assimilation():
    return Assimilation(SMALL, "rows")


def test_the_gradient_is_that_of_the_cost(assimilation):
    rng = np.random.default_rng(3)
    at, way = (rng.normal(size=assimilation.grid.cells) for _ in range(2))

    _, gradient = assimilation.cost(at)

    ahead, behind = (assimilation.cost(at + h * way)[0] for h in (1e-4, -1e-4))
    assert_allclose((ahead - behind) / 2e-4, gradient @ way, rtol=1e-8)


def test_checkpoints_do_not_change_a_bit(assimilation):
    at = np.random.default_rng(3).normal(size=assimilation.grid.cells)
    _, few = assimilation.cost(at)

    every = Assimilation(attrs.evolve(SMALL, checkpoints=None), "rows")

    assert_array_equal(every.cost(at)[1], few)
    assert assimilation.loop.report.forward_steps > every.loop.report.forward_steps


def test_the_analysis_is_near_the_truth(assimilation, tmp_path):
    analysis = assimilation.analyse()

    assert analysis.error(analysis.found) < 0.3 * analysis.error(analysis.guess)
    assert analysis.iterations[-1].gradient < 0.1 * analysis.iterations[0].gradient
    assert_allclose(np.sum(analysis.sensitivity), 1.0, rtol=0.5)
    pytest.importorskip("matplotlib", reason="the extra 'demo'")
    from fieldforge.examples.assimilation.figure import draw

    draw(analysis, tmp_path / "analysis.png")
    assert (tmp_path / "analysis.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param(ff.gpu_host, marks=pytest.mark.in_full),
        pytest.param(ff.gpu, marks=pytest.mark.needs_gpu),
    ],
    ids=lambda backend: backend.name,
)
def test_a_gpu_has_the_gradient_of_the_host(backend):
    tiny = Experiment(level=1, hours=2, share=0.3, checkpoints=2)
    host, gpu = Assimilation(tiny, "rows"), Assimilation(tiny, backend)
    at = np.random.default_rng(3).normal(size=host.grid.cells)

    assert_allclose(gpu.cost(at)[1], host.cost(at)[1], rtol=1e-11)
