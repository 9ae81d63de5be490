"""Threads of several levels, some outside: one version for all, and the right bits."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import neighbor_sum
from fieldforge.examples.icosahedral import C2E, C2EDim, Cell, Edge, K
from fieldforge.stages.codegen.gpu.text.masked import needed_by
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of
from fieldforge.stages.sizes import ThreadBlock, ThreadPoints

OfEdges = ff.Field[ff.Dims[Edge, K], ff.float64]
OfCells = ff.Field[ff.Dims[Cell, K], ff.float64]
Around = ff.Field[ff.Dims[Cell, C2EDim], ff.float64]
CELLS, EDGES = 7, 9
BACKEND = ff.gpu_host.with_options(points=ThreadPoints(x=2))


@ff.field_operator
def gathered(u: OfEdges, w: OfCells, weight: Around) -> OfCells:
    return neighbor_sum(u(C2E) * weight, axis=C2EDim) / (w - w(K - 1))


@ff.program
def between(u: OfEdges, w: OfCells, weight: Around, out: OfCells, first: ff.int32, last: ff.int32):
    gathered(u, w, weight, out=out, domain={Cell: (0, CELLS), K: (first, last)})


def _field(dims, sizes, numbers):
    return ff.as_field(dims, numbers.uniform(1.0, 2.0, sizes), allocator=ff.gpu_host.allocator)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("block", [ThreadBlock(), ThreadBlock(x=32, y=2)], ids=["flat", "plane"])
@pytest.mark.parametrize("levels", [12, 13], ids=["aligned", "not aligned"])
@pytest.mark.parametrize(("first", "last"), [(1, 12), (1, 2), (2, 11), (3, 4), (4, 12)])
def test_any_range_of_levels_has_the_bits_of_python(
    levels: int, first: int, last: int, block: ThreadBlock
) -> None:
    numbers = np.random.default_rng(3)
    table = ff.as_connectivity(
        (Cell, C2EDim), codomain=Edge,
        data=numbers.integers(0, EDGES, (CELLS, 3), dtype=np.int32), allocator=ff.cpu,
    )  # fmt: skip
    given = (
        _field((Edge, K), (EDGES, levels), numbers), _field((Cell, K), (CELLS, levels), numbers),
        _field((Cell, C2EDim), (CELLS, 3), numbers),
    )  # fmt: skip
    found = []
    for backend in (None, BACKEND.with_options(block=block)):
        out = ff.zeros({Cell: CELLS, K: levels}, allocator=ff.gpu_host.allocator)
        program = between.with_backend(backend)
        program(*given, out, np.int32(first), np.int32(last), offset_provider={"C2E": table})
        found.append(out.asnumpy())
    np.testing.assert_array_equal(*found)


def test_threads_with_points_outside_have_no_version_of_their_own() -> None:
    tables = {"C2E": ff.as_connectivity((Cell, C2EDim), codomain=Edge, data=np.zeros((1, 3), int))}
    made = between.with_backend(BACKEND).trace(until="codegen", offset_provider=tables)
    text = made["codegen"].text

    assert "points 2, 1 blocks 8 masked" in made["codegen"].loops
    assert text.count("ff::store_some(") == text.count("if (aligned) {") == 1
    assert "const s64 i0 = ff::opaque(f0);" in text
    # the level below that of the first point is read for that point alone
    assert "(inside & 1u ? " in text


ROWS = """\
kernel differences
  dimension I horizontal
  field u float64 [I] unit I
  field out float64 [I] unit I
  group 0 (I: 0 .. 8)
  step 0
    nest n0 group 0  # stores out
      thread I: 0 .. 8
        %0 float64 load u[0]
        %1 float64 load u[1]
        %2 float64 load u[2]
        %3 float64 sub %1 %0
        %4 float64 sub %2 %1
        %5 float64 store out %3
        %6 float64 store out[1] %4
"""


def test_a_row_is_needed_by_the_points_whose_stores_it_reaches() -> None:
    (nest,) = nests_of(read(ROWS))
    assert needed_by(nest.body, 2) == {0: 1, 1: 3, 2: 2, 3: 1, 4: 2, 5: 1, 6: 2}


I, J = ff.Dimension("I"), ff.Dimension("J")
OnGrid = ff.Field[ff.Dims[I, J], ff.float32]


@ff.field_operator
def slope(u: OnGrid) -> OnGrid:
    return u(I + 1) - u(I - 1)


@ff.program
def inside(u: OnGrid, out: OnGrid, last: ff.int32):
    slope(u, out=out, domain={I: (1, last), J: (0, 3)})


@pytest.mark.needs_compiler
@pytest.mark.parametrize("last", [2, 4, 9, 15])
def test_rows_of_a_grid_have_the_bits_of_python(last: int) -> None:
    u = np.random.default_rng(3).uniform(1.0, 2.0, (16, 5)).astype(np.float32)
    made = inside.with_backend(ff.gpu_host)
    assert "masked" in made.trace(until="codegen")["codegen"].loops
    found = []
    for program in (inside.with_backend(None), made):
        out = ff.zeros({I: 16, J: 5}, ff.float32, allocator=ff.gpu_host.allocator)
        given = ff.as_field({I: 16, J: 5}, u, allocator=ff.gpu_host.allocator)
        program(given, out, np.int32(last))
        found.append(out.asnumpy())
    np.testing.assert_array_equal(*found)
