"""What predictions of seconds follow from: bytes, operations, threads, and who shares them."""

from math import prod

import pytest
from tests.generated.large import large_case

import fieldforge as ff
from fieldforge.examples.advection import step_upwind
from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.plan.cpu_seconds import CpuModel
from fieldforge.stages.codegen.plan.cpu_sweeps import cpu_leaves
from fieldforge.stages.codegen.plan.machine import EPYC, H200
from fieldforge.stages.codegen.plan.seconds import facts_of, seconds_of
from fieldforge.stages.codegen.plan.sizes import usual
from fieldforge.stages.ir.loops import ITEMSIZES, Portions
from fieldforge.stages.ir.loops.nest import Load
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of
from fieldforge.stages.sizes import Patches, ThreadPoints

from .listings import loops_of

ON_GRID, ON_MESH, WALKING, TILED = 10, 4, 0, 2  # seeds
SLIDING, ACROSS_PLANES, PORTIONS = 41, 51, 17


@pytest.mark.parametrize("seed", [ON_GRID, ON_MESH, WALKING, TILED])
@pytest.mark.parametrize("machine", [EPYC, H200])
def test_more_points_take_longer(seed, machine):
    backend = ff.cpu if machine is EPYC else ff.gpu
    small, large = (loops_of(large_case(seed), n, backend) for n in (30_000, 3_000_000))

    few, many = (seconds_of(facts_of(*each[:2], machine), machine) for each in (small, large))

    assert 0 < few < many < 1000 * few


@pytest.mark.parametrize("seed", [ON_GRID, ON_MESH, WALKING, TILED])
@pytest.mark.parametrize("prefetch", [True, False])
def test_a_call_without_points_has_a_time(seed, prefetch):
    kernel, sizes, _ = loops_of(large_case(seed), 10_000, prefetch=prefetch)
    nothing = classes.evolve(sizes, ranges=dict.fromkeys(sizes.ranges, (0, 0)))

    assert 0 < seconds_of(facts_of(kernel, nothing, EPYC), EPYC) < 1e-3


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


def total(facts, name):
    return sum(each.amounts[name] for each in facts)


def without(name):
    return tuple(each for each in ff.cpu.options["codegen.passes"] if each != name)


def test_values_that_slide_are_not_computed_again():
    sliding, plain = (
        facts_of(*loops_of(large_case(SLIDING), 300_000, passes=passes, effort=0)[:2], EPYC)
        for passes in (without("tile"), without("slide"))
    )

    assert total(sliding, "operations") < 0.8 * total(plain, "operations")
    assert total(sliding, "loads") < 0.8 * total(plain, "loads")


def test_rows_of_other_planes_are_waited_for_unless_prefetched():
    case = large_case(ACROSS_PLANES)
    asked, waiting, in_order = (
        facts_of(*loops_of(case, 1_000_000, **options)[:2], EPYC)
        for options in ({}, {"prefetch": False}, {"passes": without("tile"), "prefetch": False})
    )

    assert total(waiting, "jumps") > 10 * total(asked, "jumps")
    assert total(waiting, "jumps") > 100 * max(1, total(in_order, "jumps"))


def test_nests_of_a_tile_follow_one_another():
    kernel, sizes, _ = loops_of(large_case(TILED), 1_000_000)

    facts = facts_of(kernel, sizes, EPYC)

    assert len(facts) > 1
    assert 100 * facts[0].bytes["written"] < facts[-1].bytes["written"]


def test_non_temporal_stores_cost_rows_only_in_calls_that_make_them():
    few, many = (
        facts_of(*loops_of(large_case(TILED), points)[:2], EPYC) for points in (10_000, 3_000_000)
    )

    assert total(few, "streams") == 0 < total(many, "streams")


def test_what_is_remembered_is_what_would_be_found_again():
    case = large_case(TILED)
    plans = [{}, {"prefetch": False}, {"tile_size": 8}, {"inline": ("%8",)}, {}]
    listings = [loops_of(case, 1_000_000, **options) for options in plans]
    model = CpuModel(listings[0][1], EPYC)

    found = [model.facts(kernel) for kernel, _, _ in listings]

    assert found == [facts_of(kernel, sizes, EPYC) for kernel, sizes, _ in listings]
    assert found[0] != found[1]


def test_a_part_is_counted_once(monkeypatch):
    case = large_case(TILED)
    kernel, sizes, _ = loops_of(case, 1_000_000)
    model = CpuModel(sizes, EPYC)
    model.facts(kernel)

    monkeypatch.setattr("fieldforge.stages.codegen.plan.cpu_seconds.amounts", None)
    monkeypatch.setattr("fieldforge.stages.codegen.plan.cpu_sweeps.touches_of", None)
    monkeypatch.setattr("fieldforge.stages.codegen.plan.traffic.Traffic._footprint", None)

    assert model.facts(kernel) == model.facts(kernel)
    with pytest.raises(TypeError):
        model.facts(loops_of(case, 1_000_000, inline=("%8",))[0])


def test_portions_go_on_through_the_mesh():
    sizes = Patches(elements=64, portion=16, least_bytes=1)
    kernel, given, _ = loops_of(large_case(PORTIONS), 3_000_000, patches=sizes)
    leaves = cpu_leaves(kernel, given, EPYC.parallel_from)
    assert any(isinstance(leaf.node, Portions) for leaf in leaves)

    bytes_ = sum(each.bytes["memory"] for each in facts_of(kernel, given, EPYC))

    names = {row.buffer for nest in nests_of(kernel) for row in nest.body if isinstance(row, Load)}
    fields = [buffer for buffer in kernel.buffers if buffer.memory == "field"]
    least = sum(
        ITEMSIZES[buffer.dtype] * prod(_extent(given, buffer, dim) for dim in buffer.dims)
        for buffer in fields
        if buffer.name in names
    )
    assert 0.8 * least < bytes_ < 4 * least


def _extent(sizes, buffer, dim):
    start, stop = sizes.ranges[buffer.name, dim.value]
    return stop - start


def test_rows_of_staggered_fields_are_no_gathers():
    loops = step_upwind.with_backend(ff.cpu).trace(until="codegen")["codegen"].loops
    kernel = read(loops)

    (facts,) = (facts_of(kernel, each, EPYC) for each in usual(kernel, {})[-1:])

    assert total(facts, "gathers") == 0
    assert sum(each.bytes["second"] for each in facts) > 3 * 8 * 128**2  # of q, cx and cy
