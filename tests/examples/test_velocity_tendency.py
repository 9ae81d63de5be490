"""The tendencies of the wind: the same bits everywhere, and nothing where nothing moves."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.icosahedral import (
    C2EDim,
    Cell,
    E2CDim,
    Edge,
    K,
    V2CDim,
    V2EDim,
    Vertex,
    icosahedral,
)  # fmt: skip
from fieldforge.examples.precision import in_precision

from .conftest import BACKENDS, DTYPES

NK = 6
MESH = icosahedral(2, 1)
TABLES = MESH.tables
HALF = "half levels"
SIZES = {
    Cell: MESH.cells, Edge: MESH.edges, Vertex: MESH.vertices, K: NK, HALF: NK + 1,
    C2EDim: 3, E2CDim: 2, V2EDim: 6, V2CDim: 6,
}  # fmt: skip
FIELDS = {
    "vn": (Edge, K), "vt": (Edge, K), "vn_half": (Edge, HALF),
    "w": (Cell, HALF), "w_terrain": (Cell, HALF),
    "per_depth_e": (Edge, K), "per_depth_c": (Cell, K),
    "rot": (Vertex, V2EDim), "to_vertex": (Vertex, V2CDim),
    "bilinear": (Cell, C2EDim), "linear": (Edge, E2CDim),
    "coriolis": (Edge,), "orientation": (Edge,), "per_length": (Edge,), "per_dual": (Edge,),
}  # fmt: skip
OUTPUTS = {"ddt_vn": (Edge, K), "ddt_w": (Cell, K), "courant": (Cell, K)}
SCALARS = {"dtime": 0.5, "limit": 0.7, "damping": 0.25}


@pytest.fixture(params=DTYPES)
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture
def arrays(dtype):
    numbers = np.random.default_rng(17)
    return {
        name: numbers.normal(size=[SIZES[dim] for dim in dims]).astype(dtype)
        for name, dims in FIELDS.items()
    }


@pytest.fixture(params=BACKENDS)
def run(request, dtype, cpu):
    backends = {None: None, "cpu": cpu, "reference": ff.reference}
    backend = backends[request.param]

    def call(arrays):
        module = in_precision("velocity_tendency", dtype.type)
        fields = {
            name: ff.as_field([K if dim is HALF else dim for dim in dims], arrays[name])
            for name, dims in FIELDS.items()
        }
        outs = {
            name: ff.zeros({dim: SIZES[dim] for dim in dims}, dtype, allocator=ff.cpu)
            for name, dims in OUTPUTS.items()
        }
        scalars = {name: dtype.type(value) for name, value in SCALARS.items()}
        program = module.velocity_tendency.with_backend(
            backend and backend.with_options(numerics="strict")
        )
        program(**fields, **scalars, **outs, offset_provider=MESH.connectivities())
        return {name: out.asnumpy() for name, out in outs.items()}

    return call


def gathered(field, table, weights):
    """Weighted sum over neighbours in the order of the table's columns, without missing ones."""
    total = field[table[:, 0]] * weights[:, 0, None]
    for n in range(1, table.shape[1]):
        term = field[table[:, n]] * weights[:, n, None]
        total = np.where(table[:, n, None] < 0, total, total + term)
    return total


def in_numpy(dtype, a):
    half, dtime, limit, damping = (dtype.type(each) for each in (0.5, *SCALARS.values()))
    mean = lambda x: half * (x[:, :-1] + x[:, 1:])  # noqa: E731
    column = lambda x: x[:, None]  # noqa: E731
    (c0, c1), (v0, v1) = TABLES["E2C"].T, TABLES["E2V"].T
    w_con = mean(a["w"] - a["w_terrain"])
    courant = np.abs(w_con) * dtime * a["per_depth_c"]
    turned = column(a["per_length"] * a["orientation"])
    zeta = gathered(a["vn"], TABLES["V2E"], a["rot"])
    on_edges = half * (a["vn"] * a["vn"] + a["vt"] * a["vt"])
    energy = gathered(on_edges, TABLES["C2E"], a["bilinear"])
    w_edge = gathered(w_con, TABLES["E2C"], a["linear"])
    climb = (energy[c1] - energy[c0]) * column(a["per_dual"])
    spin = column(a["coriolis"]) + half * (zeta[v0] + zeta[v1])
    lift = w_edge * (a["vn_half"][:, :-1] - a["vn_half"][:, 1:]) * a["per_depth_e"]
    free = -(climb + a["vt"] * spin + lift)
    damped = free - damping * ((zeta[v1] - zeta[v0]) * turned)
    too_fast = np.abs(w_edge) * dtime * a["per_depth_e"] > limit
    w_cell = mean(a["w"])
    w_vertex = gathered(w_cell, TABLES["V2C"], a["to_vertex"])
    drift = a["vn"] * ((w_cell[c1] - w_cell[c0]) * column(a["per_dual"]))
    drift = drift + a["vt"] * ((w_vertex[v1] - w_vertex[v0]) * turned)
    lift_w = w_con * (a["w"][:, :-1] - a["w"][:, 1:]) * a["per_depth_c"]
    brake = np.where(courant > limit, damping * (courant - limit) * w_con, dtype.type(0))
    ddt_w = -(gathered(drift, TABLES["C2E"], a["bilinear"]) + lift_w + brake)
    return {"ddt_vn": np.where(too_fast, damped, free), "ddt_w": ddt_w, "courant": courant}


def test_all_three_outputs_have_the_bits_of_numpy(run, arrays, dtype):
    found = run(arrays)

    for name, expected in in_numpy(dtype, arrays).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)
    assert 0.05 < (found["courant"] > SCALARS["limit"]).mean() < 0.95, "both sides of 'where'"


def test_still_air_stays_still(run, arrays):
    still = arrays | {name: 0 * arrays[name] for name in ("vn", "vt", "vn_half", "w", "w_terrain")}

    assert not any(out.any() for out in run(still).values())


def test_without_vertical_wind_only_vn_has_a_tendency(run, arrays):
    level = arrays | {name: 0 * arrays[name] for name in ("w", "w_terrain")}

    found = run(level)

    assert found["ddt_vn"].all()
    assert not found["ddt_w"].any()
    assert not found["courant"].any()
