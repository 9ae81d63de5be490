"""The operators of the triangular mesh: the same bits everywhere, and right on known fields."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples import mesh_geometry as geometry
from fieldforge.examples.icosahedral import (
    C2E2CDim,
    Cell,
    E2C2VDim,
    E2VDim,
    Edge,
    K,
    V2EDim,
    Vertex,
    icosahedral,
)  # fmt: skip
from fieldforge.examples.precision import in_precision

from .conftest import BACKENDS

NK = 5
MESH = icosahedral(2, 1)
TABLES = MESH.tables
SIZES = {
    Cell: MESH.cells, Edge: MESH.edges, Vertex: MESH.vertices, K: NK,
    C2E2CDim: 3, E2C2VDim: 4, E2VDim: 2, V2EDim: 6,
}  # fmt: skip


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture(params=BACKENDS)
def run(request, dtype):
    """Call a program of the example on arrays by name; the results of its outputs."""

    def call(name, arrays, outputs):
        program = getattr(in_precision("nabla", dtype.type), name)
        fields = {
            each: ff.as_field(dims, data, allocator=ff.cpu) for each, (dims, data) in arrays.items()
        }
        outs = {
            each: ff.zeros({dim: SIZES[dim] for dim in dims}, dtype, allocator=ff.cpu)
            for each, dims in outputs.items()
        }
        backend = request.param and getattr(ff, request.param).with_options(numerics="strict")
        provider = MESH.connectivities()
        program.with_backend(backend)(**fields, **outs, offset_provider=provider)
        return {each: out.asnumpy() for each, out in outs.items()}

    return call


def curl_of_curl(vn, along_dual, difference):
    v2e, e2v = TABLES["V2E"], TABLES["E2V"]
    curl = sum(vn[v2e[:, n]] * along_dual[:, n, None] for n in range(5))
    sixth = vn[v2e[:, 5]] * along_dual[:, 5, None]
    curl = np.where(v2e[:, 5, None] < 0, curl, curl + sixth)
    return curl[e2v[:, 0]] * difference[:, 0, None] + curl[e2v[:, 1]] * difference[:, 1, None]


def test_a_gradient_has_no_curl_and_so_no_curl_of_curl(run, dtype):
    """The normal wind is the difference of a potential across edges: circulations telescope."""
    first, second = TABLES["E2C"].T
    potential = np.random.default_rng(2).normal(size=(MESH.cells, NK))
    vn = (potential[second] - potential[first]) / geometry.dual_lengths(MESH)[:, None]
    along, difference = geometry.along_dual(MESH), geometry.along_edge(MESH)
    arrays = {
        "vn": ((Edge, K), vn.astype(dtype)),
        "along_dual": ((Vertex, V2EDim), along.astype(dtype)),
        "difference": ((Edge, E2VDim), difference.astype(dtype)),
    }

    out = run("nabla2", arrays, {"out": (Edge, K)})["out"]

    largest = curl_of_curl(np.abs(vn), np.abs(along), np.abs(difference)).max()
    assert np.abs(out).max() < 20 * np.finfo(dtype).eps * largest


def test_the_gradient_of_a_plane_is_its_slope(run, dtype):
    slope = np.array([0.2, -0.7, 0.4])
    psi = np.repeat((MESH.cell_points @ slope)[:, None], NK, axis=1)
    weights = geometry.least_squares(MESH)
    arrays = {"psi": ((Cell, K), psi.astype(dtype))}
    arrays |= {
        name: ((Cell, C2E2CDim), each.astype(dtype))
        for name, each in zip(("east", "north"), weights, strict=True)
    }

    found = run("gradient", arrays, {"psi_east": (Cell, K), "psi_north": (Cell, K)})

    directions = geometry.east_and_north(MESH.cell_points)
    for name, way in zip(("psi_east", "psi_north"), directions, strict=True):
        np.testing.assert_allclose(found[name], (way @ slope)[:, None] + np.zeros(NK), atol=0.1)
