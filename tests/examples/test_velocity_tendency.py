"""The tendencies of the wind: the same bits everywhere, and nothing where nothing moves."""

import numpy as np
import pytest
from cases.mesh import mesh_of
from cases.velocity import OUTPUTS, SCALARS, fields_of, in_numpy, points_of

import fieldforge as ff
from fieldforge.examples.icosahedral import K
from fieldforge.examples.precision import in_precision

from .conftest import BACKENDS

MESH = mesh_of(0.004)
POINTS = points_of(MESH)


@pytest.fixture
def fields(dtype):
    return fields_of(POINTS, np.dtype(dtype))


@pytest.fixture(params=BACKENDS)
def run(request, fields, dtype, cpu):
    """Return a function that calls the program; fields that are named `still` are zero."""

    def call(still=()):
        for name in still:
            fields[name].ndarray[...] = 0.0
        outs = {
            name: ff.zeros({dim: POINTS[dim], K: 80}, dtype, allocator=ff.cpu)
            for name, dim in OUTPUTS.items()
        }
        scalars = {name: np.dtype(dtype).type(value) for name, value in SCALARS.items()}
        backend = cpu if request.param == "cpu" else request.param and ff.reference
        program = in_precision("velocity_tendency", dtype).velocity_tendency.with_backend(
            backend and backend.with_options(numerics="strict")
        )
        program(**fields, **scalars, **outs, offset_provider=MESH.connectivities())
        return {name: out.asnumpy() for name, out in outs.items()}

    return call


def test_all_three_outputs_have_the_bits_of_numpy(run, fields, dtype):
    found = run()

    arrays = {name: field.asnumpy() for name, field in fields.items()}
    for name, expected in in_numpy(MESH, np.dtype(dtype), arrays).items():
        np.testing.assert_array_equal(found[name], expected, err_msg=name)
    assert 0.05 < (found["courant"] > SCALARS["limit"]).mean() < 0.95, "both sides of 'where'"


def test_still_air_stays_still(run):
    assert not any(out.any() for out in run(("vn", "vt", "vn_half", "w", "w_terrain")).values())


def test_without_vertical_wind_only_vn_has_a_tendency(run):
    found = run(("w", "w_terrain"))

    assert found["ddt_vn"].all()
    assert not found["ddt_w"].any()
    assert not found["courant"].any()
