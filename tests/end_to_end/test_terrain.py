"""The demo's program: slopes fall under the limit, the mean height stays."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.terrain import Region, hills, smooth

SPACING = (90.0, 70.0)


def slopes_by_hand(heights: np.ndarray) -> np.ndarray:
    rise_i = (heights[1:, :-1] - heights[:-1, :-1]) * (1.0 / SPACING[0])
    rise_j = (heights[:-1, 1:] - heights[:-1, :-1]) * (1.0 / SPACING[1])
    return np.sqrt(rise_i * rise_i + rise_j * rise_j)


def step_by_hand(heights: np.ndarray, strength: float) -> np.ndarray:
    """The same diffusion with mirrored edges: nothing flows where heights are symmetric."""
    h = np.pad(heights, 2, mode="symmetric")
    lap = h[2:, 1:-1] + h[:-2, 1:-1] + h[1:-1, 2:] + h[1:-1, :-2] - 4.0 * h[1:-1, 1:-1]
    flux_i = lap[1:, 1:-1] - lap[:-1, 1:-1]
    flux_i[flux_i * (h[2:-1, 2:-2] - h[1:-2, 2:-2]) > 0.0] = 0.0
    flux_j = lap[1:-1, 1:] - lap[1:-1, :-1]
    flux_j[flux_j * (h[2:-2, 2:-1] - h[2:-2, 1:-2]) > 0.0] = 0.0
    return heights - strength * (flux_i[1:] - flux_i[:-1] + flux_j[:, 1:] - flux_j[:, :-1])


@pytest.mark.needs_compiler
def test_smoothing_ends_below_the_limit_and_conserves_the_mean():
    heights = hills(40, 30)
    region = Region(heights, SPACING, ff.cpu.with_options(numerics="strict"))

    *_, (steps, steepest) = smooth(region, max_slope=0.5)

    assert steps > 0
    assert steepest <= 0.5 < slopes_by_hand(heights).max()
    np.testing.assert_allclose(region.heights.mean(), heights.mean(), rtol=1e-14)
    np.testing.assert_array_equal(region.slopes(), slopes_by_hand(region.heights))


@pytest.mark.needs_compiler
def test_one_step_is_the_diffusion_with_mirrored_edges():
    heights = hills(23, 17)
    region = Region(heights, SPACING, ff.cpu)

    region.step()

    np.testing.assert_allclose(region.heights, step_by_hand(heights, 1.0 / 32.0), rtol=1e-13)


@pytest.mark.needs_compiler
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_embedded_and_compiled_terrain_are_equal_to_the_bit():
    strict = ff.cpu.with_options(numerics="strict")
    compiled, embedded = (Region(hills(23, 17), SPACING, backend) for backend in (strict, None))

    for region in (compiled, embedded):
        for _ in range(3):
            region.step()

    np.testing.assert_array_equal(compiled.heights, embedded.heights)


def test_no_new_extremes_appear():
    heights = hills(30, 30)
    region = Region(heights, SPACING, ff.reference)

    region.step()

    assert region.heights.max() <= heights.max()
    assert region.heights.min() >= heights.min()
