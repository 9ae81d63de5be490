"""The operators of a dynamical core in one program: the same bits on every backend."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.examples.icosahedral import (
    C2E2CDim,
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
from fieldforge.workflows.backends.backend import BACKENDS

from ..selection import not_optimised

NK = 7
MESH = icosahedral(2, 1)
SIZES = {
    Cell: MESH.cells, Edge: MESH.edges, Vertex: MESH.vertices, K: NK,
    C2EDim: 3, C2E2CDim: 3, E2CDim: 2, V2EDim: 6, V2CDim: 6,
}  # fmt: skip
FIELDS = {
    "vn": (Edge, K), "vt": (Edge, K), "flux": (Edge, K),
    "rho": (Cell, K), "theta": (Cell, K), "exner": (Cell, K),
    "bilinear": (Cell, C2EDim), "divergence": (Cell, C2EDim), "weights": (Cell, C2E2CDim),
    "share": (Cell,), "rot": (Vertex, V2EDim), "to_vertex": (Vertex, V2CDim),
    "linear": (Edge, E2CDim), "coriolis": (Edge,), "per_dual": (Edge,), "per_length": (Edge,),
}  # fmt: skip
OUTPUTS = {"ddt_vn": (Edge, K), "along": (Edge, K), "new_rho": (Cell, K), "new_theta": (Cell, K)}


def called(program, dtype, backend, **changed):
    """Return all outputs as arrays; `changed` fields have one value."""
    numbers = np.random.default_rng(5)
    given = {}
    for name, dims in FIELDS.items():
        made = numbers.normal(size=[SIZES[dim] for dim in dims]).astype(dtype)
        made[...] = changed.get(name, made)
        given[name] = ff.as_field(dims, made)
    outputs = {
        name: ff.as_field(dims, np.full([SIZES[dim] for dim in dims], np.nan, dtype))
        for name, dims in OUTPUTS.items()
    }
    program.dynamics.with_backend(backend)(
        **given, **outputs, dtime=np.dtype(dtype).type(0.5), offset_provider=MESH.connectivities()
    )
    return {name: field.asnumpy() for name, field in outputs.items()}


@pytest.mark.needs_compiler
@pytest.mark.parametrize("backend", ["cpu", "gpu-host"])
def test_outputs_have_the_bits_of_the_reference(dtype, backend, cpu):
    program = in_precision("mesh_dynamics", dtype)
    chosen = {"cpu": cpu, "gpu-host": not_optimised(BACKENDS["gpu-host"])}[backend]
    found, wanted = (called(program, dtype, each) for each in (chosen, "reference"))
    for name in OUTPUTS:
        assert found[name].tobytes() == wanted[name].tobytes(), name


def test_smoothing_by_a_share_of_nothing_keeps_the_temperature():
    program = in_precision("mesh_dynamics", "float64")
    found = called(program, "float64", "reference", share=0.0, theta=300.0, flux=0.0, rho=1.25)
    assert (found["new_theta"] == 300.0).all()
    assert (found["new_rho"] == 1.25).all()
