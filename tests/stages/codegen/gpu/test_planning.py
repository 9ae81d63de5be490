"""GPUs plan which values become arrays, by predicted seconds."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.diffusion import I, J, K, diffuse
from fieldforge.examples.icosahedral import E2V, V2E, E2VDim, Edge, K as Level, V2EDim, Vertex
from fieldforge.stages.ir.loops import nests_of
from fieldforge.stages.ir.loops.gpu import Patches, marks_of
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nodes_of

from ..mesh_programs import tables

EdgeField = ff.Field[ff.Dims[Edge, Level], ff.float64]
OfVertexEdges = ff.Field[ff.Dims[Vertex, V2EDim], ff.float64]
OfEdgeVertices = ff.Field[ff.Dims[Edge, E2VDim], ff.float64]


def loops(program, **provider):
    return program.trace(**provider)["codegen"].loops


def adjoint(**options):
    return ff.adjoint(diffuse.with_backend(ff.gpu_host.with_options(**options)), wrt=("u",))


def test_a_value_becomes_an_array_where_that_is_predicted_to_gain():
    rules, planned = loops(adjoint(effort=0)), loops(adjoint())

    assert "# planned: 0." in planned
    assert "# planned" not in rules
    assert rules.count("\n  arena ") == 2
    assert planned.count("\n  arena ") == 1
    assert {marks_of(nest).block for nest in nests_of(read(rules))} == {(16, 8, 1)}


@pytest.mark.needs_compiler
def test_plans_have_the_same_bits():
    wide, own = {I: (-2, 43), J: (-2, 36), K: 3}, {I: 41, J: 34, K: 3}
    rng, found = np.random.default_rng(5), []
    boxes = {"u": wide, "coeff": own, "out_b": own}
    given = {n: ff.as_field(box, rng.normal(size=ff.zeros(box).shape)) for n, box in boxes.items()}
    for effort in (0, 1):
        u_b = ff.zeros(wide)
        adjoint(effort=effort)(**given, u_b=u_b)
        found.append(u_b.asnumpy())

    np.testing.assert_array_equal(*found)


@ff.field_operator
def smoothed(vn: EdgeField, along: OfVertexEdges, difference: OfEdgeVertices) -> EdgeField:
    curl = ff.neighbor_sum(vn(V2E) * along, axis=V2EDim)
    return ff.neighbor_sum(curl(E2V) * difference, axis=E2VDim)


@ff.program
def smooth(vn: EdgeField, along: OfVertexEdges, difference: OfEdgeVertices, out: EdgeField):
    smoothed(vn, along, difference, out=out)


def test_weights_that_a_transposed_table_scatters_are_not_gathered_by_each_patch():
    forward = smooth.with_backend(ff.gpu_host)
    found = [
        nodes_of(read(loops(each, offset_provider=tables())), Patches)
        for each in (forward, ff.adjoint(forward, wrt=("vn",)))
    ]

    assert [any(each) for each in found] == [True, False]
