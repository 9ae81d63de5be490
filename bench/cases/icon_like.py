"""The ICON-like program on the icosahedral mesh: sums at vertices, cells and edges of each other.

Nothing was written by hand beside it.
"""

from __future__ import annotations

import numpy as np

import fieldforge as ff
from fieldforge.examples import icosahedral
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
)  # fmt: skip

from .case import Case
from .mesh import LEVELS, ORDER, mesh_of, programs, size_of

FIELDS: dict[str, tuple[ff.Dimension, ...]] = {
    "vn": (Edge, K), "vt": (Edge, K), "flux": (Edge, K),
    "rho": (Cell, K), "theta": (Cell, K), "exner": (Cell, K),
    "bilinear": (Cell, C2EDim), "divergence": (Cell, C2EDim), "weights": (Cell, C2E2CDim),
    "share": (Cell,), "rot": (Vertex, V2EDim), "to_vertex": (Vertex, V2CDim),
    "linear": (Edge, E2CDim), "coriolis": (Edge,), "per_dual": (Edge,), "per_length": (Edge,),
}  # fmt: skip
OUTPUTS = {"ddt_vn": Edge, "along": Edge, "new_rho": Cell, "new_theta": Cell}
WIDTHS = {C2EDim: 3, C2E2CDim: 3, E2CDim: 2, V2EDim: 6, V2CDim: 6, K: LEVELS}


def icon_like(dtype: str, scale: float, order: icosahedral.Order = ORDER) -> Case:
    """16 fields in, 4 out, 6 tables."""
    mesh = mesh_of(scale, order)
    sizes = WIDTHS | {Cell: mesh.cells, Edge: mesh.edges, Vertex: mesh.vertices}
    numbers = np.random.default_rng(5)
    given = {
        name: ff.as_field(
            dims,
            numbers.standard_normal([sizes[dim] for dim in dims], np.float32).astype(dtype),
            allocator=ff.cpu,
        )
        for name, dims in FIELDS.items()
    }
    outs = {
        name: ff.zeros({dim: sizes[dim], K: LEVELS}, np.dtype(dtype), allocator=ff.cpu)
        for name, dim in OUTPUTS.items()
    }
    fields = (*given.values(), *outs.values())
    return Case(
        name="ICON-like",
        size=size_of(mesh),
        dtype=dtype,
        program=programs("mesh_dynamics", dtype).dynamics,
        arguments={**given, "dtime": np.dtype(dtype).type(0.5), **outs},
        tables=mesh.connectivities(),
        outputs=tuple(outs),
        by_hand={},
        in_numpy=dict,
        moved=sum(field.asnumpy().nbytes for field in fields),
        operations=0,
    )
