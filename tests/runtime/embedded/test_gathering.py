"""Section 5: neighbours, reductions, data-dependent shifts, against NumPy written by hand."""

import numpy as np
import pytest

from fieldforge.runtime.embedded.builtins import (
    as_offset,
    float32,
    float64,
    int32,
    max_over,
    neighbor_sum,
)
from fieldforge.runtime.fields.constructors import as_connectivity, as_field, full, zeros
from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.language.annotations import Dims
from fieldforge.runtime.language.connectivity import FieldOffset
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.process.errors import (
    ArgumentError,
    IndexOutOfBounds,
    NonContiguousDomain,
)

from ...dimensions import (
    C2E,
    V2E,
    C2E2CDim,
    C2EDim,
    Cell,
    E2CDim,
    E2VDim,
    Edge,
    K,
    Koff,
    V2EDim,
    Vertex,
)
from . import decorated

C2E2C = FieldOffset("C2E2C", source=Cell, target=(Cell, C2E2CDim))

EField = Field[Dims[Edge], float64]
VField = Field[Dims[Vertex], float64]

CELLS, EDGES, VERTICES, LEVELS = 12, 20, 9, 5


class Decorated(decorated.Decorated):
    def __call__(self, *args, out, **options):
        super().__call__(*args, out=out, **options)
        return out.asnumpy()


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def tables(rng):
    v2e = rng.integers(0, EDGES, (VERTICES, 6))
    v2e[rng.random(v2e.shape) < 0.3] = -1
    v2e[3] = -1  # a vertex without neighbours
    return {
        "C2E": as_connectivity([Cell, C2EDim], Edge, rng.integers(0, EDGES, (CELLS, 3))),
        "E2V": as_connectivity([Edge, E2VDim], Vertex, rng.integers(0, VERTICES, (EDGES, 4))),
        "E2C": as_connectivity([Edge, E2CDim], Cell, rng.integers(0, CELLS, (EDGES, 2))),
        "C2E2C": as_connectivity([Cell, C2E2CDim], Cell, rng.integers(0, CELLS, (CELLS, 3))),
        "V2E": as_connectivity([Vertex, V2EDim], Edge, v2e),
    }


@Decorated
def sum_of_edges(e: EField) -> VField:
    return neighbor_sum(e(V2E), axis=V2EDim)


@Decorated
def largest(e: EField) -> VField:
    return max_over(e(V2E), axis=V2EDim)


def test_4_a_maximum_is_the_first_of_one_infinite_neighbour_and_nan_propagates():
    table = as_connectivity([Vertex, V2EDim], Edge, [[0, -1], [1, 0]])
    e = as_field([Edge], [-np.inf, np.nan])

    result = largest(e, out=zeros({Vertex: 2}), offset_provider={"V2E": table})

    assert result[0] == -np.inf
    assert np.isnan(result[1])


def test_4_a_sum_is_made_in_the_order_of_the_slots_in_the_dtype():
    @Decorated
    def total(e: Field[[Edge], float32]) -> Field[[Vertex], float32]:
        return neighbor_sum(e(V2E), axis=V2EDim)

    e = np.array([1e8, 1.0, -1e8, 1.0], dtype=np.float32)
    table = as_connectivity([Vertex, V2EDim], Edge, [[0, 1, 2, 3], [2, 0, 1, 3]])

    result = total(
        as_field([Edge], e), out=zeros({Vertex: 2}, dtype=float32), offset_provider={"V2E": table}
    )

    assert result.tolist() == [1.0, 2.0]
    assert result.dtype == np.float32


def test_5_2_the_lone_neighbour_of_a_skip_entry_is_refused_where_it_is_written(tables, rng):
    @Decorated
    def third(e: EField) -> VField:
        return e(V2E[2])

    e = rng.standard_normal(EDGES)
    column = tables["V2E"].asnumpy()[:, 2]
    gap = int((column < 0).argmax())
    words = f"at Vertex={gap}: table 'V2E' has no neighbour in slot 2 of Vertex={gap} "
    with pytest.raises(IndexOutOfBounds, match=words):
        third(as_field([Edge], e), out=zeros({Vertex: VERTICES}), offset_provider=tables)

    result = third(
        as_field([Edge], e), out=zeros({Vertex: VERTICES}), domain={Vertex: (0, gap)},
        offset_provider=tables,
    )  # fmt: skip
    assert np.array_equal(result[:gap], e[column[:gap]])


def test_4_as_offset_wants_integers_along_its_dimension():
    with pytest.raises(ArgumentError, match="must have the dimension 'K' of offset 'Koff'"):
        as_offset(Koff, full({Cell: 3}, int32(1)))
    with pytest.raises(ArgumentError, match="field of integers"):
        as_offset(Koff, zeros({K: 3}))
    with pytest.raises(ArgumentError, match="Cartesian"):
        as_offset(C2E, full({K: 3}, int32(1)))


# --- where there are values -----------------------------------------------------------------------


def test_1_6_what_is_no_table_is_refused():
    with pytest.raises(ArgumentError, match="Expected a neighbour table for offset 'V2E'"):
        sum_of_edges(
            zeros({Edge: 3}), out=zeros({Vertex: 3}), offset_provider={"V2E": np.zeros((3, 2))}
        )


def test_1_6_the_table_of_a_reduction_may_have_another_name_than_the_dimension():
    local = Dimension("Around", DimensionKind.LOCAL)
    offset = FieldOffset("V2E", source=Edge, target=(Vertex, local))

    @Decorated
    def total(e: EField) -> VField:
        return neighbor_sum(e(offset), axis=local)

    table = as_connectivity([Vertex, local], Edge, [[0, 1], [1, -1]])
    e = as_field([Edge], [1.0, 2.0])
    result = total(e, out=zeros({Vertex: 2}), offset_provider={"V2E": table, "Koff": K})

    assert result.tolist() == [3.0, 2.0]


# --- premap: several tables at once, outside of operators ----------------------------------------


def test_9_2_a_table_may_read_the_dimensions_that_stay(rng):
    I, J = Dimension("I"), Dimension("J")
    data = rng.standard_normal((4, 5))
    i = rng.integers(0, 4, (6, 5))

    result = as_field([I, J], data).premap(as_connectivity([I, J], I, i))

    assert np.array_equal(result.asnumpy(), np.take_along_axis(data, i, axis=0))


def test_9_2_premap_leaves_out_what_lies_outside_if_a_block_remains():
    field = as_field({Edge: (3, 6)}, [3.0, 4.0, 5.0])

    trimmed = field(as_connectivity([Cell], Edge, [0, 5, 3, 4, 7]))

    assert trimmed.domain == trimmed.domain.__class__((Cell, (1, 4)))
    assert trimmed.asnumpy().tolist() == [5.0, 3.0, 4.0]
    with pytest.raises(NonContiguousDomain):
        field(as_connectivity([Cell], Edge, [3, 0, 4]))


def test_9_2_premap_refuses_maps_that_do_not_go_together():
    I, J = Dimension("I"), Dimension("J")
    field = zeros({I: 3, J: 3})
    to_i, to_j = as_connectivity([I], I, [0, 1]), as_connectivity([I], J, [0, 1])

    with pytest.raises(ValueError, match="another codomain"):
        field.premap(I + 1, I - 1)
    with pytest.raises(ValueError, match="all shifts or all tables"):
        field.premap(I + 1, to_j)
    with pytest.raises(ValueError, match="cannot read 'I', which another one removes"):
        field.premap(to_i, to_j)
    with pytest.raises(ValueError, match="can not shift field defined on 'I, J' from 'K'"):
        field.premap(Dimension("K") + 1)
    with pytest.raises(ArgumentError, match="at least one"):
        field.premap()
    assert str(field.premap(I + 1, J - 1).domain) == (
        "Domain(I[horizontal]=(-1:2), J[horizontal]=(1:4))"
    )
