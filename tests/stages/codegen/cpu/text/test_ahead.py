"""What is computed to know which rows to prefetch reads no memory that is not there."""

import re

import fieldforge as ff
from fieldforge import float64, neighbor_sum
from fieldforge.examples import icosahedral
from fieldforge.examples.icosahedral import C2V, E2C, V2E, K, V2EDim, Vertex

Levels = ff.Field[ff.Dims[Vertex, K], float64]


@ff.field_operator
def far_vertices(f: Levels) -> Levels:
    return neighbor_sum(f(C2V[0])(E2C[0])(V2E), axis=V2EDim)


def test_entries_of_tables_behind_missing_neighbours_are_loaded_within_the_table():
    tables = icosahedral.icosahedral(2, 1).connectivities()
    count = tables["V2E"].domain[Vertex].unit_range.stop
    field = ff.zeros({Vertex: count, K: 40}, allocator=ff.cpu)
    call = {"f": field, "out": field, "offset_provider": tables}

    source = far_vertices.with_backend(ff.cpu).trace(**call)["codegen"].text

    rows = dict(re.findall(r"const s\d\d (w\d+) = (.*);", source))
    indices = [
        found[1] for text in rows.values() if (found := re.match(r"p\d+\[(w\d+)", text)) is not None
    ]
    assert len(indices) >= 12  # of E2C and of C2V, for each of six neighbours
    assert [rows[index] for index in indices if "later(" not in rows[index]] == []
