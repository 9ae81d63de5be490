"""Nests that run tile by tile: what is cut, how far tiles overlap, and what keeps a run whole."""

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64, where
from fieldforge.stages.ir.loops.cpu import Tiles
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nodes_of
from fieldforge.stages.target import Target

from .....dimensions import C2E, C2EDim, Cell, Edge, I, J, K, Levels

pytestmark = pytest.mark.needs_compiler
SMALL = attrs.evolve(Target.host(), l2=8192, cores=2)  # tiles of a few rows


@ff.field_operator
def laplacian(u: Levels) -> Levels:
    return 4.0 * u - (u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1))


@ff.field_operator
def three(u: Levels) -> Levels:
    return laplacian(laplacian(laplacian(u)))


@ff.program
def smooth(u: Levels, out: Levels):
    three(u, out=out, domain={I: (3, 11), J: (3, 60), K: (0, 4)})


@ff.scan_operator(axis=K, forward=True, init=(0.0, 1.0))
def down(state: tuple[float64, float64], a: float64, b: float64) -> tuple[float64, float64]:
    return 0.5 * state[0] + a, state[1] * 0.25 - b


@ff.scan_operator(axis=K, forward=False, init=0.0)
def up(state: float64, a: float64, b: float64) -> float64:
    return a - 0.5 * b * state


@ff.field_operator
def swept(u: Levels) -> Levels:
    a, b = down(u, u + 1.0)
    return up(a, b) * 2.0


@ff.program
def sweep(u: Levels, out: Levels):
    swept(u, out=out)


@ff.program
def sweep_between(u: Levels, out: Levels, first: ff.int32, last: ff.int32):
    swept(u, out=out, domain={I: (0, 9), J: (first, last), K: (0, 5)})


def tilings(program) -> list[str]:
    loops = program.trace()["codegen"].loops
    return [
        ", ".join(f"{cut.range} by {'at most ' * cut.even}{cut.size}" for cut in tiles.cuts)
        for tiles in nodes_of(read(loops), Tiles)
    ]


def levels(*shape: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-9, 9, shape).astype(float)


def ran(program, backend, u: np.ndarray, *rest, alias: bool = False) -> np.ndarray:
    field = ff.as_field((I, J, K), u, allocator=ff.cpu)
    out = field if alias else ff.zeros(field.domain, allocator=ff.cpu)
    bound = program.with_backend(backend)
    bound(field, out, *rest)
    return out.asnumpy().copy()


def tiled_backend(**options):
    return ff.cpu.with_options(target=SMALL, parallel_from=1, **options)


@pytest.mark.parametrize(
    ("shape", "options", "cut"),
    [
        ((9, 7, 5), {}, "J: start(out, J) .. stop(out, J) by 1"),
        ((300, 3, 5), {}, "I: start(out, I) .. stop(out, I) by at most 64"),
        ((300, 3, 5), {"tile_size": 100}, "I: start(out, I) .. stop(out, I) by at most 64"),
    ],
    ids=["rows of columns", "arrays that outgrow the cache", "a size in rows of columns"],
)
def test_sweeps_share_the_rows_of_columns_that_they_walk(shape, options, cut):
    backend = tiled_backend(**options)
    u = levels(*shape)

    result = ran(sweep, backend, u)

    np.testing.assert_array_equal(result, ran(sweep, None, u))
    (tiles,) = tilings(sweep.with_backend(backend))
    assert cut in tiles


@pytest.mark.parametrize("last", [0, 1, 7])
def test_a_range_that_only_a_call_knows_is_cut_too(last):
    u = levels(9, 7, 5)

    result = ran(sweep_between, tiled_backend(), u, np.int32(0), np.int32(last))

    np.testing.assert_array_equal(result, ran(sweep_between, None, u, np.int32(0), np.int32(last)))


def test_a_negative_size_is_refused():
    with pytest.raises(
        ff.errors.OptionError, match=r"'tile_size'.* takes a whole number from 0 .* got -1"
    ):
        ff.cpu.with_options(tile_size=-1)


@pytest.mark.parametrize(("program", "shape"), [(smooth, (14, 64, 4)), (sweep, (9, 7, 5))])
def test_an_input_is_not_overwritten_before_other_tiles_read_it(program, shape):
    u = levels(*shape)

    result = ran(program, tiled_backend(), u, alias=True)

    np.testing.assert_array_equal(result, ran(program, None, u, alias=True))


@ff.field_operator
def through_edges(u: Field[Dims[Edge, K], float64]) -> Field[Dims[Cell, K], float64]:
    a, b = down(u, u + 1.0)
    return up(a, b)(C2E[0]) + a(C2E[1])


def test_what_is_read_through_a_table_is_complete_before_it_is_read():
    rng = np.random.default_rng(3)
    table = ff.as_connectivity(
        [Cell, C2EDim], codomain=Edge, data=rng.integers(0, 90, (40, 2)).astype(np.int32)
    )
    u = ff.as_field((Edge, K), levels(90, 6), allocator=ff.cpu)
    results = []
    for backend in (None, tiled_backend()):
        out = ff.zeros({Cell: 40, K: 6}, allocator=ff.cpu)
        through_edges.with_backend(backend)(u, out=out, offset_provider={"C2E": table})
        results.append(out.asnumpy())

    np.testing.assert_array_equal(*results)


@ff.field_operator
def limited(u: Levels) -> tuple[Levels, Levels]:
    a, b = down(u, u)
    c = up(a, b)
    return where(c > 0.0, c, a), c


@ff.program
def two_outputs(u: Levels, out: Levels, more: Levels):
    limited(u, out=(out, more), domain={I: (0, 9), J: (1, 6), K: (0, 5)})


def test_points_outside_the_domain_are_not_touched_by_tiles():
    u = ff.as_field((I, J, K), levels(9, 7, 5), allocator=ff.cpu)
    results = []
    for backend in (None, tiled_backend()):
        out, more = (ff.full(u.domain, 7.0, allocator=ff.cpu) for _ in range(2))
        two_outputs.with_backend(backend)(u, out, more)
        results.append(np.stack([out.asnumpy(), more.asnumpy()]))

    np.testing.assert_array_equal(*results)
    assert (results[0][:, :, 0] == 7.0).all()


def test_arrays_of_rows_in_turn_keep_the_rows_in_use():
    small = attrs.evolve(Target.host(), l2=64)
    program = smooth.with_backend(ff.cpu.with_options(target=small))
    loops = program.trace()["codegen"].loops
    rings = [line for line in loops.splitlines() if " ring J" in line]
    (array,) = rings
    assert "J: 0 .. 8" in array, "rows r - 2 to r + 2, three rows more, and a power of two"


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("size", [0, 3, 64])
def test_rings_have_the_bits_of_whole_arrays(threads, size):
    small = attrs.evolve(Target.host(), l2=64)
    chosen = ff.cpu.with_options(target=small, parallel_from=0, tile_size=size)
    u = levels(14, 63, 4)
    field = ff.as_field((I, J, K), u, allocator=ff.cpu)
    out = ff.zeros(field.domain, allocator=ff.cpu)
    smooth.with_backend(chosen).with_threads(threads)(field, out)
    whole = ff.cpu.with_passes(tile=None)
    np.testing.assert_array_equal(out.asnumpy(), ran(smooth, whole, u))


@ff.field_operator
def risen(u: Levels) -> Levels:
    flux = laplacian(u)
    return up(flux(J + 1) - flux, u)


@ff.program
def rows_of_any_length(u: Levels, out: Levels, last: ff.int32):
    three(u, out=out, domain={I: (3, last), J: (3, 30), K: (0, 2)})


@ff.program
def columns_in_rows_of_any_length(u: Levels, out: Levels, last: ff.int32):
    risen(u, out=out, domain={I: (3, last), J: (3, 30), K: (0, 2)})


@pytest.mark.parametrize(
    ("program", "lengths"),
    [(rows_of_any_length, (9, 200, 300)), (columns_in_rows_of_any_length, (9, 4000, 7000))],
)
def test_the_shorter_rows_are_the_more_have_their_turn_together(program, lengths):
    backend = ff.cpu.with_options(target=SMALL)
    kernel = read(program.with_backend(backend).trace()["codegen"].loops)
    (tiles,) = nodes_of(kernel, Tiles)
    found = []
    for length in lengths:
        found.append(tiles.rows_in_turn(kernel.buffers, length * (1 + tiles.has_columns)))
        u = levels(length + 3, 33, 2)
        tiled, whole = (
            ran(program, each, u, np.int32(length))
            for each in (backend, ff.cpu.with_passes(tile=None))
        )
        np.testing.assert_array_equal(tiled, whole)

    assert found == [4, 2, 1]
