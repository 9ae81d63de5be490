"""Water on triangles without levels: a flux through each edge, and its sum around each cell."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import fieldforge as ff
import fieldforge.examples
from fieldforge.examples import icosahedral
from fieldforge.examples.icosahedral import C2EDim, Cell, Edge

from .case import Case
from .mesh import ORDER, as_fields, mesh_of, programs

fieldforge.examples.__path__.append(str(Path(__file__).parents[1] / "small_programs"))

DIMS: dict[str, tuple[ff.Dimension, ...]] = {
    "h": (Cell,), "q": (Cell,), "vn": (Edge,), "length": (Edge,), "sign": (Cell, C2EDim),
    "area": (Cell,),
}  # fmt: skip


def flux(dtype: str, scale: float, order: icosahedral.Order = ORDER) -> Case:
    """192,000 edges, 128,000 cells."""
    mesh, number = mesh_of(scale, order), np.dtype(dtype).type
    sizes = {Cell: mesh.cells, Edge: mesh.edges, C2EDim: 3}
    numbers = np.random.default_rng(5)
    arrays = {
        name: (0.5 + numbers.random([sizes[dim] for dim in dims])).astype(dtype)
        for name, dims in DIMS.items()
    }
    arrays["sign"] = np.where(arrays["sign"] < 1, -1, 1).astype(dtype)
    e2c, c2e = mesh.tables["E2C"], mesh.tables["C2E"]
    g, dt = number(9.81), number(0.01)

    def in_numpy() -> dict[str, np.ndarray]:
        h, q, vn, length, sign, area = arrays.values()
        (low, high), depth = q[e2c].T, number(0.5) * (h[e2c[:, 0]] + h[e2c[:, 1]])
        speed = np.abs(vn) + np.sqrt(g * depth)
        through = length * (vn * (low + high) - speed * (high - low)) / (number(1) + depth)
        return {"new": q - dt / area * np.sum(through[c2e] * sign, axis=1)}

    new = ff.zeros({Cell: mesh.cells}, np.dtype(dtype), allocator=ff.cpu)
    return Case(
        name="flux",
        size=f"{mesh.cells // 1000}k cells",
        dtype=dtype,
        program=programs("edge_flux", dtype).advance,
        arguments={**as_fields(arrays, DIMS), "g": g, "dt": dt, "new": new},
        tables=mesh.connectivities(),
        outputs=("new",),
        by_hand={},
        in_numpy=in_numpy,
        moved=sum(each.nbytes for each in (*arrays.values(), e2c, c2e)) + arrays["q"].nbytes,
        operations=14 * mesh.edges + 8 * mesh.cells,
    )


CASES = (flux,)
