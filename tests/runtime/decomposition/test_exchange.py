"""Blocks and the exchange of halos in one process: all values arrive, nothing else changes."""

import itertools
import threading

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.examples.icosahedral import Cell, Edge, K, icosahedral
from fieldforge.runtime import gpu
from fieldforge.runtime.decomposition.blocks import blocks
from fieldforge.runtime.decomposition.exchange import LostRankError, local_exchanges
from fieldforge.runtime.decomposition.ghex_exchange import GhexExchange, has_ghex
from fieldforge.runtime.decomposition.mesh import decompose
from fieldforge.runtime.decomposition.partitioning import bisect
from fieldforge.runtime.process.device import Device, DeviceType

I, J = ff.Dimension("I"), ff.Dimension("J")
NX, NY = 9, 7
CUTS = list(itertools.product([(1, 1), (2, 1), (2, 2), (3, 2)], [0, 1, 2], [(), (J,), (I, J)]))


def bounds(domain):
    return [(each.start, each.stop) for each in domain.ranges]


def numbers(block):
    """Return the number of each local point's origin in the periodic grid."""
    (i0, i1), (j0, j1) = bounds(block.local)
    i, j = np.meshgrid(np.arange(i0, i1) % NX, np.arange(j0, j1) % NY, indexing="ij")
    return 100.0 * i + j


def owned_only(block, dtype=float):
    """Return a field that holds those numbers where it is owned and -1 in the halo."""
    field = ff.full(block.local, -1, dtype=dtype)
    (i0, i1), (j0, j1) = bounds(block.owned)
    start = [each[0] for each in bounds(block.local)]
    mine = np.s_[i0 - start[0] : i1 - start[0], j0 - start[1] : j1 - start[1]]
    field.ndarray[mine] = numbers(block)[mine]
    return field


def exchange_all(cut, *fields):
    ranks = local_exchanges([each.patterns for each in cut])
    for rank, mine in zip(ranks, zip(*fields, strict=True), strict=True):
        rank.start(*mine)
    for rank in ranks:
        rank.finish()


@pytest.mark.parametrize(("ranks", "halo", "periodic"), CUTS)
def test_halos_of_blocks_hold_what_their_owners_have(ranks, halo, periodic):
    cut = blocks(
        {I: NX, J: NY}, dict(zip((I, J), ranks, strict=True)), halo=halo, periodic=periodic
    )
    fields = [owned_only(block) for block in cut]

    exchange_all(cut, fields)

    for block, field in zip(cut, fields, strict=True):
        np.testing.assert_array_equal(field.asnumpy(), numbers(block))


@pytest.mark.parametrize(("ranks", "halo", "periodic"), CUTS)
def test_blocks_cover_the_grid_once(ranks, halo, periodic):
    cut = blocks(
        {I: NX, J: NY}, dict(zip((I, J), ranks, strict=True)), halo=halo, periodic=periodic
    )
    times = np.zeros((NX, NY), int)
    for block in cut:
        (i0, i1), (j0, j1) = bounds(block.owned)
        times[i0:i1, j0:j1] += 1

    assert (times == 1).all()


@pytest.mark.parametrize(("ranks", "halo", "periodic"), CUTS)
def test_inner_points_are_those_that_read_owned_points_only(ranks, halo, periodic):
    cut = blocks(
        {I: NX, J: NY}, dict(zip((I, J), ranks, strict=True)), halo=halo, periodic=periodic
    )
    for block in cut:
        for (a, b), (low, high), (start, stop) in zip(
            *map(bounds, (block.inner, block.local, block.owned)), strict=True
        ):
            reads = {
                at: range(max(at - halo, low), min(at + halo + 1, high))
                for at in range(start, stop)
            }
            inner = [at for at, near in reads.items() if set(near) <= set(range(start, stop))]
            assert list(range(a, b)) == inner


def test_more_blocks_than_points_leave_some_empty():
    cut = blocks({I: 3}, {I: 5}, halo=1)
    fields = [ff.full(block.local, float(block.rank)) for block in cut]

    exchange_all(cut, fields)

    assert sum(bounds(block.owned)[0][1] - bounds(block.owned)[0][0] for block in cut) == 3
    assert sorted(field.asnumpy().size for field in fields) == [0, 0, 2, 2, 3]


@pytest.fixture(scope="module")
def mesh():
    mesh = icosahedral(2, 1)
    owners = bisect(mesh.cell_points, 4)
    return mesh, decompose(mesh.connectivities(), Cell, owners, attached=["E2C", "V2C"], halo=2)


def filled(part, dims, shape, dtype, order="C"):
    """Return a field of a value for each point and place, -1 in the halo; and the whole of it."""
    axis = next(n for n, dim in enumerate(dims) if dim in part.points)
    points = part.points[dims[axis]]
    sizes = [len(points.global_ids) if n == axis else size for n, size in enumerate(shape)]
    each = np.moveaxis(np.indices(sizes).sum(0) * 0 + 7, axis, 0)
    whole = np.empty_like(each)
    for row, number in enumerate(points.global_ids):
        whole[row] = number % 100 + np.arange(each[row].size).reshape(each[row].shape)
    start = whole.copy()
    start[points.owned :] = 1
    made, expected = (
        np.asarray(np.moveaxis(array, 0, axis).astype(dtype), order=order)
        for array in (start, whole)
    )
    field = ff.empty(dict(zip(dims, sizes, strict=True)), dtype=dtype)
    field.ndarray[...] = made
    return field, expected


def test_fields_of_several_dimensions_dtypes_and_axes_go_together(mesh):
    _, parts = mesh
    kinds = [
        ((Cell,), (0,), np.float64), ((Cell, K), (0, 5), np.float32),
        ((K, Edge), (3, 0), np.int32), ((Edge,), (0,), np.bool_),
    ]  # fmt: skip
    made = [[filled(part, *kind) for part in parts] for kind in kinds]

    exchange_all(parts, *[[field for field, _ in ranks] for ranks in made])

    for ranks in made:
        for field, expected in ranks:
            np.testing.assert_array_equal(field.asnumpy(), expected)


def test_ranks_in_threads_repeat_their_exchanges(mesh):
    _, parts = mesh
    made = [filled(part, (Cell,), (0,), np.float64) for part in parts]
    ranks = local_exchanges([part.patterns for part in parts])

    def run(rank, field):
        for _ in range(20):
            field.ndarray[...] += 1.0
            rank(field)

    threads = [
        threading.Thread(target=run, args=(rank, field))
        for rank, (field, _) in zip(ranks, made, strict=True)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    for field, expected in made:
        np.testing.assert_array_equal(field.asnumpy(), expected + 20.0)


def test_a_value_may_change_between_start_and_finish(mesh):
    _, parts = mesh
    made = [filled(part, (Edge,), (0,), np.float64) for part in parts]
    ranks = local_exchanges([part.patterns for part in parts])

    for rank, part, (field, _) in zip(ranks, parts, made, strict=True):
        rank.start(field)
        field.ndarray[: part.points[Edge].owned] = -5.0
    for rank in ranks:
        rank.finish()

    for part, (field, expected) in zip(parts, made, strict=True):
        owned = part.points[Edge].owned
        np.testing.assert_array_equal(field.asnumpy()[owned:], expected[owned:])


def test_mistakes_are_refused(mesh):
    _, parts = mesh
    (rank, *_) = local_exchanges([part.patterns for part in parts])
    field = ff.zeros({Cell: len(parts[0].points[Cell].global_ids)})

    with pytest.raises(ArgumentError, match="call 'start' first"):
        rank.finish()
    with pytest.raises(ArgumentError, match=r"got one on \[K\]"):
        rank.start(ff.zeros({K: 3}))
    with pytest.raises(ArgumentError, match="has 3 points along 'Cell'"):
        rank.start(ff.zeros({Cell: 3}))
    rank.start(field)
    with pytest.raises(ArgumentError, match="call 'finish' before"):
        rank.start(field)


@pytest.mark.skipif(has_ghex(), reason="the extra 'ghex' is installed")
def test_ghex_is_asked_for_by_name_if_it_is_missing(mesh):
    _, (part, *_) = mesh
    with pytest.raises(ArgumentError, match="GHEX is not installed"):
        GhexExchange(None, part)


def test_ranks_that_exchange_different_fields_are_told(mesh):
    _, parts = mesh
    ranks = local_exchanges([part.patterns for part in parts[:]])
    for rank, part in zip(ranks, parts, strict=True):
        size = len(part.points[Cell].global_ids)
        rank.start(ff.zeros({Cell: size}, dtype=ff.float32 if part.rank else ff.float64))

    with pytest.raises(ArgumentError, match="the ranks exchange different fields"):
        ranks[0].finish()


def test_a_rank_that_is_lost_is_an_error_for_those_that_wait(mesh):
    _, parts = mesh
    ranks = local_exchanges([part.patterns for part in parts])
    fields = [ff.zeros({Cell: len(part.points[Cell].levels)}) for part in parts]
    for rank, field in zip(ranks[1:], fields[1:], strict=True):
        rank.start(field)

    ranks[0].abandon()

    with pytest.raises(LostRankError, match="Rank 0 has failed; rank 1 ends"):
        ranks[1].finish()


ON_NULL = Device(DeviceType.NULL, 0)


def moved_to_device(field):
    return ff.as_field(field.domain, field.asnumpy(), device=ON_NULL)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_halos_of_fields_on_a_gpu_travel_through_pinned_memory(ranks):
    mesh = icosahedral(2, 1)
    parts = decompose(
        mesh.connectivities(), Cell, bisect(mesh.cell_points, ranks), attached=["E2C", "V2C"],
        halo=2, ranks=ranks,
    )  # fmt: skip
    kinds = [
        ((Cell,), (0,), np.float64), ((Cell, K), (0, 5), np.float32),
        ((K, Edge), (3, 0), np.int32), ((Edge,), (0,), np.bool_),
    ]  # fmt: skip
    made = [[filled(part, *kind) for part in parts] for kind in kinds]
    fields = [[moved_to_device(field) for field, _ in row] for row in made]

    for _ in range(2):  # the second time with buffers that are there
        exchange_all(parts, *fields)

    for row, moved in zip(made, fields, strict=True):
        for (_, expected), field in zip(row, moved, strict=True):
            np.testing.assert_array_equal(field.asnumpy(), expected)


def test_fields_of_gpus_and_of_the_host_go_in_one_message(mesh):
    _, parts = mesh
    rows = [
        [filled(part, *kind) for part in parts]
        for kind in (((Cell,), (0,), np.float64), ((Edge, K), (0, 4), np.int16))
    ]
    on_gpu = [moved_to_device(field) for field, _ in rows[0]]
    on_host = [field for field, _ in rows[1]]

    exchange_all(parts, on_gpu, on_host)

    for row, found in zip(rows, (on_gpu, on_host), strict=True):
        for (_, expected), field in zip(row, found, strict=True):
            np.testing.assert_array_equal(field.asnumpy(), expected)


def test_blocks_on_a_gpu_are_exchanged_with_their_corners():
    cut = blocks({I: NX, J: NY}, {I: 2, J: 2}, halo=2, periodic=(I, J))
    fields = [moved_to_device(owned_only(block)) for block in cut]

    exchange_all(cut, fields)

    for block, field in zip(cut, fields, strict=True):
        np.testing.assert_array_equal(field.asnumpy(), numbers(block))


def test_work_that_is_queued_before_the_exchange_is_sent(mesh):
    """The values that a stream still has to write when the exchange starts reach the others."""
    _, parts = mesh
    made = [filled(part, (Cell,), (0,), np.float64) for part in parts]
    fields = [moved_to_device(field) for field, _ in made]
    ranks = local_exchanges([part.patterns for part in parts])
    with gpu.use_stream(gpu.Stream(gpu.Device(0, platform="null"))):
        for rank, field, (_, expected) in zip(ranks, fields, made, strict=True):
            gpu.Array.from_any(field.ndarray).copy_from(expected + 7.0)
            rank.start(field)
        for rank in ranks:
            rank.finish()

        for field, (_, expected) in zip(fields, made, strict=True):
            np.testing.assert_array_equal(field.asnumpy(), expected + 7.0)


@pytest.mark.parametrize("place", [ON_NULL, Device(DeviceType.CPU, 0)])
def test_points_that_stay_untouched_reach_the_others(mesh, place):
    _, parts = mesh
    made = [filled(part, (Cell,), (0,), np.float64) for part in parts]
    fields = [ff.as_field(field.domain, field.asnumpy(), device=place) for field, _ in made]
    ranks = local_exchanges([part.patterns for part in parts])
    for _ in range(2):
        for rank, field in zip(ranks, fields, strict=True):
            rank.start(field, untouched=True)
        for rank in ranks:
            rank.finish()

    for field, (_, expected) in zip(fields, made, strict=True):
        np.testing.assert_array_equal(field.asnumpy(), expected)
