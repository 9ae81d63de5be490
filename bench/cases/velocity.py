"""The velocity tendency on the icosahedral mesh, R5B04 (192,000 edges) x 80 levels at full size."""

from __future__ import annotations

from typing import Any

import numpy as np
from native import compiled

import fieldforge as ff
from fieldforge.examples import icosahedral
from fieldforge.examples.icosahedral import C2EDim, Cell, E2CDim, Edge, K, V2CDim, V2EDim, Vertex

from . import tiling
from .aligned import bound, zeros
from .case import Case
from .mesh import LEVELS, ORDER, mesh_of, precision_of, programs, size_of

HALF = ff.Dimension("half", ff.DimensionKind.VERTICAL)  # stands for K with one level more
FIELDS: dict[str, tuple[ff.Dimension, ...]] = {
    "vn": (Edge, K), "vt": (Edge, K), "vn_half": (Edge, HALF),
    "w": (Cell, HALF), "w_terrain": (Cell, HALF),
    "per_depth_e": (Edge, K), "per_depth_c": (Cell, K),
    "rot": (Vertex, V2EDim), "to_vertex": (Vertex, V2CDim),
    "bilinear": (Cell, C2EDim), "linear": (Edge, E2CDim),
    "coriolis": (Edge,), "orientation": (Edge,), "per_length": (Edge,), "per_dual": (Edge,),
}  # fmt: skip
OUTPUTS = {"ddt_vn": Edge, "ddt_w": Cell, "courant": Cell}
SCALARS = {"dtime": 0.5, "limit": 0.7, "damping": 0.25}


def velocity_tendency(dtype: str, scale: float, order: icosahedral.Order = ORDER) -> Case:
    """Tendencies of the wind: 15 fields in, 3 out, 5 tables; one memory for ours and by hand."""
    mesh = mesh_of(scale, order)
    precision = np.dtype(dtype)
    points = points_of(mesh)
    fields = fields_of(points, precision)
    arrays = {name: field.asnumpy() for name, field in fields.items()}
    outs = {
        name: ff.zeros({dim: points[dim], K: LEVELS}, precision, allocator=ff.cpu)
        for name, dim in OUTPUTS.items()
    }
    results = {name: zeros((points[dim], LEVELS), dtype) for name, dim in OUTPUTS.items()}
    tables = [mesh.tables[name] for name in ("C2E", "E2C", "E2V", "V2E", "V2C")]
    scalars = {name: precision.type(value) for name, value in SCALARS.items()}
    return Case(
        name="velocity tendency",
        size=size_of(mesh),
        dtype=dtype,
        program=programs("velocity_tendency", dtype).velocity_tendency,
        arguments={**fields, **scalars, **outs},
        tables=mesh.connectivities(),
        outputs=tuple(outs),
        by_hand=_by_hand(mesh, dtype, arrays, results),
        in_numpy=lambda: in_numpy(mesh, precision, arrays),
        moved=sum(each.nbytes for each in (*arrays.values(), *results.values(), *tables)),
        operations=(
            mesh.vertices * (11 + 23) + mesh.cells * (14 + 4 + 3 * 13 + 12) + mesh.edges * 20
        ) * LEVELS,
    )  # fmt: skip


def points_of(mesh: icosahedral.Mesh) -> dict[ff.Dimension, int]:
    """Return how many points of each kind a mesh has."""
    return {Cell: mesh.cells, Edge: mesh.edges, Vertex: mesh.vertices}


def fields_of(points: dict[ff.Dimension, int], precision: np.dtype[Any]) -> dict[str, Any]:
    numbers = np.random.default_rng(5)
    sizes = points | {K: LEVELS, HALF: LEVELS + 1, C2EDim: 3, E2CDim: 2, V2EDim: 6, V2CDim: 6}
    return {
        name: ff.as_field(
            [K if dim is HALF else dim for dim in dims],
            numbers.standard_normal([sizes[dim] for dim in dims], np.float32).astype(precision),
            allocator=ff.cpu,
        )
        for name, dims in FIELDS.items()
    }


def _by_hand(
    mesh: icosahedral.Mesh,
    dtype: str,
    arrays: dict[str, np.ndarray],
    results: dict[str, np.ndarray],
) -> dict[str, Any]:
    kernels, end = compiled("velocity_tendency"), precision_of(dtype)
    c2e, e2c, e2v, v2e, v2c = (mesh.tables[name] for name in ("C2E", "E2C", "E2V", "V2E", "V2C"))
    sizes = (mesh.cells, mesh.edges, mesh.vertices, LEVELS)
    half = arrays["w"].strides[0] // arrays["w"].itemsize
    assert half * arrays["w"].itemsize == arrays["vn_half"].strides[0]
    numbers = np.array(list(SCALARS.values()), dtype)
    shared = (*arrays.values(), numbers, *results.values(), c2e, e2c, e2v, v2e, v2c, *sizes, half)
    on_vertices = [zeros((mesh.vertices, LEVELS), dtype) for _ in range(2)]
    on_cells = [zeros((mesh.cells, LEVELS), dtype) for _ in range(2)]
    on_edges = zeros((mesh.edges, LEVELS), dtype)

    def variant(name: str, *rest: Any) -> Any:
        function = getattr(kernels, f"velocity_tendency_{name}_{end}")
        return bound(function, (*shared, *rest), results)

    def in_tiles(rows: int, ahead: int) -> Any:
        count = -(-mesh.edges // rows)
        ends = e2v[c2e].reshape(mesh.cells, 6)
        vertices, cells = tiling.tiles(count, ends, e2v), tiling.tiles(count, e2c)
        return variant(
            "tiles", *vertices.tables, vertices.listed, vertices.begins, vertices.longest,
            *cells.tables, cells.listed, cells.begins, cells.longest, count, ahead,
        )  # fmt: skip

    arrays_between = (*on_vertices, *on_cells)
    return {
        "simple": variant("simple", *arrays_between, on_edges),
        "three passes": variant("passes", *arrays_between, LEVELS, 0),
        "three passes, streamed": variant("streamed", *arrays_between, LEVELS, 0),
        "three passes, streamed, prefetched": variant("streamed", *arrays_between, LEVELS, 2),
        "16 levels at a time": variant("passes", *arrays_between, 16, 0),
        "40 levels at a time, streamed": variant("streamed", *arrays_between, 40, 0),
        "tiles of 256, prefetched": in_tiles(256, 2),
        "tiles of 512": in_tiles(512, 0),
        "tiles of 512, prefetched": in_tiles(512, 2),
        "tiles of 1024, prefetched": in_tiles(1024, 2),
    }


def _gathered(field: np.ndarray, table: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sum over neighbours, in the order of the columns; a missing one adds nothing."""
    total = field[table[:, 0]] * weights[:, 0, None]
    for n in range(1, table.shape[1]):
        total += np.where(table[:, n, None] < 0, 0, field[table[:, n]] * weights[:, n, None])
    return total


def in_numpy(
    mesh: icosahedral.Mesh, precision: np.dtype[Any], a: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    half, dtime, limit, damping = (precision.type(each) for each in (0.5, *SCALARS.values()))
    tables = mesh.tables
    (c0, c1), (v0, v1) = tables["E2C"].T, tables["E2V"].T
    per_dual, coriolis = a["per_dual"][:, None], a["coriolis"][:, None]
    turned = (a["per_length"] * a["orientation"])[:, None]

    w_half = a["w"] - a["w_terrain"]
    w_con = half * (w_half[:, :-1] + w_half[:, 1:])
    courant = np.abs(w_con) * dtime * a["per_depth_c"]

    zeta = _gathered(a["vn"], tables["V2E"], a["rot"])
    kinetic = half * (a["vn"] * a["vn"] + a["vt"] * a["vt"])
    energy = _gathered(kinetic, tables["C2E"], a["bilinear"])
    w_edge = _gathered(w_con, tables["E2C"], a["linear"])
    spin = coriolis + half * (zeta[v0] + zeta[v1])
    lift = w_edge * (a["vn_half"][:, :-1] - a["vn_half"][:, 1:]) * a["per_depth_e"]
    free = -((energy[c1] - energy[c0]) * per_dual + a["vt"] * spin + lift)
    damped = free - damping * ((zeta[v1] - zeta[v0]) * turned)
    too_fast = np.abs(w_edge) * dtime * a["per_depth_e"] > limit

    w_cell = half * (a["w"][:, :-1] + a["w"][:, 1:])
    w_vertex = _gathered(w_cell, tables["V2C"], a["to_vertex"])
    drift = a["vn"] * ((w_cell[c1] - w_cell[c0]) * per_dual)
    drift += a["vt"] * ((w_vertex[v1] - w_vertex[v0]) * turned)
    lift_w = w_con * (a["w"][:, :-1] - a["w"][:, 1:]) * a["per_depth_c"]
    brake = np.where(courant > limit, damping * (courant - limit) * w_con, 0)
    ddt_w = -(_gathered(drift, tables["C2E"], a["bilinear"]) + lift_w + brake)
    return {"ddt_vn": np.where(too_fast, damped, free), "ddt_w": ddt_w, "courant": courant}


CASES = (velocity_tendency,)
