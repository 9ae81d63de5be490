"""What predictions of seconds follow from: bytes, operations, threads, and who shares them."""

from __future__ import annotations

import pytest
from tests.generated.large import large_case

import fieldforge as ff
from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.plan.machine import EPYC, H200
from fieldforge.stages.codegen.plan.seconds import facts_of, seconds_of
from fieldforge.stages.sizes import ThreadPoints

from .listings import loops_of

ON_GRID, ON_MESH, WALKING, TILED = 10, 4, 0, 2  # seeds


@pytest.mark.parametrize("seed", [ON_GRID, ON_MESH, WALKING, TILED])
@pytest.mark.parametrize("machine", [EPYC, H200])
def test_more_points_take_longer(seed, machine):
    backend = ff.cpu if machine is EPYC else ff.gpu
    small, large = (loops_of(large_case(seed), n, backend) for n in (30_000, 3_000_000))

    few, many = (seconds_of(facts_of(*each[:2], machine), machine) for each in (small, large))

    assert 0 < few < many < 1000 * few


def test_threads_share_what_a_call_does():
    kernel, sizes, _ = loops_of(large_case(TILED), 1_000_000)

    one, two = (
        seconds_of(facts_of(kernel, classes.evolve(sizes, threads=n), EPYC), EPYC) for n in (1, 2)
    )

    assert 1.3 < one / two <= 2.01


def test_tiles_keep_arrays_from_memory():
    passes = tuple(name for name in ff.cpu.options["codegen.passes"] if name != "tile")
    tiled, plain = (
        loops_of(large_case(TILED), 1_000_000, **options) for options in ({}, {"passes": passes})
    )

    bytes_ = [
        sum(each.bytes["memory"] for each in facts_of(*case[:2], EPYC)) for case in (tiled, plain)
    ]

    assert bytes_[0] < 0.6 * bytes_[1]


def test_points_of_a_thread_share_what_they_load():
    one, four = (
        loops_of(large_case(TILED), 1_000_000, ff.gpu, points=points)
        for points in (ThreadPoints(x=1), ThreadPoints(x=2, y=2))
    )

    first = [sum(each.bytes["first"] for each in facts_of(*case[:2], H200)) for case in (one, four)]

    assert first[1] < 0.8 * first[0]


def test_few_columns_wait_for_their_own_loads():
    kernel, sizes, _ = loops_of(large_case(WALKING), 40_000, ff.gpu)

    facts = facts_of(kernel, sizes, H200)
    walks = [each for each in facts if any(part.walks for part in each.kernel.parts)]

    assert walks
    for each in walks:
        parts = each.parts(H200)
        assert max(parts, key=parts.__getitem__) == "thread"
