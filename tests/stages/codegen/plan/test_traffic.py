"""Predicted traffic beside caches that see each address, for drawn programs on small grids."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.stages.codegen.plan.cpu_sweeps import cpu_leaves
from fieldforge.stages.codegen.plan.sizes import Sizes
from fieldforge.stages.codegen.plan.sweeps import Sweep, Touch
from fieldforge.stages.codegen.plan.traffic import Traffic
from fieldforge.stages.target import CpuTarget

from .caches import LINE, Cache, Walk
from .listings import loops_of, with_few_levels

I, J = ff.Dimension("I"), ff.Dimension("J")
POINTS = 4000
ALONE = 1 << 60  # points: one thread
# Seeds of each kind that walk fast: nests that march or not, tiles, meshes near and far.
SEEDS = (1, 3, 4, 10, 12, 13, 16, 20, 22)


def small_target() -> CpuTarget:
    """Return a target whose tiles and blocks are as small as the grids here."""
    host = CpuTarget.host()
    return CpuTarget(
        isa=host.isa, cores=host.cores, l2=16384, bandwidth=host.bandwidth,
        vector_math=host.vector_math,
    )  # fmt: skip


def test_traffic_is_that_of_a_cache_that_sees_each_address():
    errors = []
    for seed in SEEDS:
        case = with_few_levels(seed)
        kernel, sizes, tables = loops_of(case, POINTS, jam=False, target=small_target())
        caches = [Cache(8192), Cache(32768)]
        seen = Walk(kernel, sizes, tables, caches).fetched()
        for cache, bytes_ in zip(caches, seen, strict=True):
            if bytes_ > 2 * cache.capacity:  # else all stays, or a little less
                sweeps = [leaf.sweep for leaf in cpu_leaves(kernel, sizes, ALONE)]
                found = Traffic(sizes, cache.capacity, LINE).in_turn(sweeps)
                errors.append(np.log(sum(sum(each.values()) for each in found) / bytes_))

    assert len(errors) >= len(SEEDS)
    assert np.exp(np.sqrt(np.mean(np.square(errors)))) < 1.3
    assert np.exp(np.abs(errors).max()) < 1.8


def rows_apart(places: int) -> Touch:
    """Return a touch of `places` rows of 16 points each, one above the other."""
    offsets = tuple((0, j) for j in range(places))
    return Touch("u", 8, (I, J), I, offsets, False, 1e9, 1e4)


@pytest.mark.parametrize(("capacity", "rows"), [(1 << 16, 102), (64, 300)])
def test_rows_stay_where_a_layer_fits(capacity, rows):
    sweep = Sweep(J, 100, (Sweep(I, 16, ((rows_apart(3),),)),))

    fetched = Traffic(Sizes(), capacity, 8).through(sweep)

    assert fetched["u", False] == pytest.approx(rows * 16 * 8)


def test_a_part_finds_what_the_one_before_left():
    one = Sweep(I, 1000, ((rows_apart(1),),))

    small, large = (Traffic(Sizes(), n, 8).in_turn([one, one]) for n in (100, 1 << 20))

    assert [each["u", False] for each in large] == [0.0, 0.0]  # calls follow one another
    assert [each["u", False] for each in small] == [8000.0, 8000.0]
