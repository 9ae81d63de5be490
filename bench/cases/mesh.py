"""The operators on the icosahedral mesh, R5B04 (192,000 edges) x 80 levels at full size."""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from native import compiled

import fieldforge as ff
from fieldforge.examples import icosahedral
from fieldforge.examples.icosahedral import (
    C2E2CDim,
    Cell,
    E2C2VDim,
    E2VDim,
    Edge,
    K,
    V2EDim,
    Vertex,
)  # fmt: skip
from fieldforge.examples.precision import in_precision

from . import tiling
from .aligned import aligned, bound, zeros
from .case import Case

LEVELS = 80
PARTS = 80  # of each edge of the icosahedron, at scale 1
ORDER: icosahedral.Order = "breadth-first"
BLOCK = 64  # edges between two looks at the ring of the sweep
SIZES = {Cell: "cells", Edge: "edges", Vertex: "vertices"}


@cache
def mesh_of(scale: float, order: icosahedral.Order = ORDER) -> icosahedral.Mesh:
    """Make the mesh with about `scale` times 192,000 edges."""
    parts = max(1, round(PARTS * scale**0.5))
    bisections = (parts & -parts).bit_length() - 1
    return icosahedral.icosahedral(parts >> bisections, bisections, order)


@cache
def programs(name: str, dtype: str) -> ModuleType:
    """Return an example in a precision, one copy for all cases."""
    return in_precision(name, np.dtype(dtype).type)


def random_fields(
    mesh: icosahedral.Mesh, dtype: str, **dims: tuple[ff.Dimension, ...]
) -> dict[str, np.ndarray]:
    """Return random arrays by name, each on a horizontal dimension and those that follow it."""
    numbers = np.random.default_rng(5)
    sizes = {K: LEVELS, V2EDim: 6, E2VDim: 2, E2C2VDim: 4, C2E2CDim: 3}
    sizes |= {dim: getattr(mesh, count) for dim, count in SIZES.items()}
    return {
        name: aligned(numbers.normal(size=[sizes[dim] for dim in each]).astype(dtype))
        for name, each in dims.items()
    }


def as_fields(arrays: dict[str, np.ndarray], dims: dict[str, Any]) -> dict[str, Any]:
    """Return our fields of the same values."""
    return {name: ff.as_field(dims[name], data, allocator=ff.cpu) for name, data in arrays.items()}


def size_of(mesh: icosahedral.Mesh) -> str:
    """Return the size as the table has it."""
    return f"{mesh.edges // 1000}k edges x {LEVELS}"


def precision_of(dtype: str) -> str:
    """Return the end of a kernel's name."""
    return {"float64": "f64", "float32": "f32"}[dtype]


def nabla2(dtype: str, scale: float, order: icosahedral.Order = ORDER) -> Case:
    """Curl of the curl: edges to vertices and back, with sparse coefficients."""
    mesh = mesh_of(scale, order)
    dims = {
        "vn": (Edge, K),
        "along_dual": (Vertex, V2EDim),
        "difference": (Edge, E2VDim),
    }
    arrays = random_fields(mesh, dtype, **dims)
    v2e, e2v = mesh.tables["V2E"], mesh.tables["E2V"]

    def in_numpy() -> dict[str, np.ndarray]:
        vn, along, difference = arrays.values()
        there = v2e[:, 5] >= 0
        curl = sum(vn[v2e[:, n]] * along[:, n, None] for n in range(5))
        curl[there] += vn[v2e[there, 5]] * along[there, 5, None]
        return {"out": sum(curl[e2v[:, n]] * difference[:, n, None] for n in range(2))}

    out = ff.zeros({Edge: mesh.edges, K: LEVELS}, np.dtype(dtype), allocator=ff.cpu)
    return Case(
        name="nabla2",
        size=size_of(mesh),
        dtype=dtype,
        program=programs("nabla", dtype).nabla2,
        arguments={**as_fields(arrays, dims), "out": out},
        tables=mesh.connectivities(),
        outputs=("out",),
        by_hand=_nabla2_by_hand(mesh, dtype, arrays),
        in_numpy=in_numpy,
        moved=sum(each.nbytes for each in (*arrays.values(), v2e, e2v)) + arrays["vn"].nbytes,
        operations=(11 * mesh.vertices + 3 * mesh.edges) * LEVELS,
    )


def _nabla2_by_hand(
    mesh: icosahedral.Mesh, dtype: str, arrays: dict[str, np.ndarray]
) -> dict[str, Any]:
    kernels, end = compiled("nabla2"), precision_of(dtype)
    v2e, e2v = mesh.tables["V2E"], mesh.tables["E2V"]
    out = zeros((mesh.edges, LEVELS), dtype)
    curl = zeros((mesh.vertices, LEVELS), dtype)
    sizes = (mesh.vertices, mesh.edges, LEVELS)

    def variant(name: str, *rest: Any) -> Any:
        function = getattr(kernels, f"nabla2_{name}_{end}")
        return bound(function, (*arrays.values(), out, *rest), {"out": out})

    begun, done, ring = tiling.reach(e2v, BLOCK)
    found = {
        "two passes": variant("two_passes", curl, v2e, e2v, *sizes),
        "unrolled": variant("unrolled", curl, v2e, e2v, *sizes, 0),
        "streamed": variant("streamed", curl, v2e, e2v, *sizes, 0),
        "streamed, prefetched": variant("streamed", curl, v2e, e2v, *sizes, 4),
        "streamed, row by row": variant("by_rows", curl, v2e, e2v, *sizes, 0),
        "streamed, row by row, prefetched": variant("by_rows", curl, v2e, e2v, *sizes, 4),
        "streamed, prefetched by strips": variant("asking", curl, v2e, e2v, *sizes, 8),
        "fused": variant("fused", v2e, e2v, *sizes),
        "16 levels at a time": variant("k_blocks", curl, v2e, e2v, *sizes, 16),
        "40 levels at a time": variant("k_blocks", curl, v2e, e2v, *sizes, 40),
    }
    for name, levels, ahead in (("sweep", LEVELS, 4), ("sweep, 40 levels at a time", 40, 0)):
        found[name] = variant(
            "sweep", v2e, e2v, begun, done, *sizes, BLOCK, ring, levels, ahead
        )  # fmt: skip
    for tile in (256, 1024):
        cut = tiling.tiles(-(-mesh.edges // tile), e2v)
        found[f"tiles of {tile}"] = variant(
            "tiles", v2e, cut.tables[0], cut.listed, cut.begins, mesh.edges, LEVELS,
            cut.count, cut.longest, 4,
        )  # fmt: skip
    return found


def nabla4(dtype: str, scale: float, order: icosahedral.Order = ORDER) -> Case:
    """Fourth difference of the wind on diamonds."""
    mesh = mesh_of(scale, order)
    dims: dict[str, tuple[ff.Dimension, ...]] = {
        "u": (Vertex, K), "v": (Vertex, K), "laplacian": (Edge, K),
        "normal_u": (Edge, E2C2VDim), "normal_v": (Edge, E2C2VDim),
        "per_length": (Edge,), "per_height": (Edge,),
    }  # fmt: skip
    arrays = random_fields(mesh, dtype, **dims)
    e2c2v = mesh.tables["E2C2V"]
    number = np.dtype(dtype).type

    def in_numpy() -> dict[str, np.ndarray]:
        u, v, laplacian, normal_u, normal_v, length, height = arrays.values()
        first, second, right, left = (
            u[e2c2v[:, n]] * normal_u[:, n, None] + v[e2c2v[:, n]] * normal_v[:, n, None]
            for n in range(4)
        )
        twice = number(2) * laplacian
        along = (first + second - twice) * (length * length)[:, None]
        across = (right + left - twice) * (height * height)[:, None]
        return {"out": number(4) * (along + across)}

    kernels, end = compiled("nabla4"), precision_of(dtype)
    result = zeros((mesh.edges, LEVELS), dtype)

    def variant(name: str, *rest: int) -> Any:
        function = getattr(kernels, f"nabla4_{name}_{end}")
        words = (*arrays.values(), result, e2c2v, mesh.edges, LEVELS, *rest)
        return bound(function, words, {"out": result})

    out = ff.zeros({Edge: mesh.edges, K: LEVELS}, np.dtype(dtype), allocator=ff.cpu)
    return Case(
        name="nabla4",
        size=size_of(mesh),
        dtype=dtype,
        program=programs("nabla", dtype).nabla4,
        arguments={**as_fields(arrays, dims), "out": out},
        tables=mesh.connectivities(),
        outputs=("out",),
        by_hand={
            "simple": variant("simple"),
            "streamed, row by row": variant("by_rows"),
            **_in_rows(variant),
        },
        in_numpy=in_numpy,
        moved=sum(each.nbytes for each in (*arrays.values(), e2c2v)) + result.nbytes,
        operations=21 * mesh.edges * LEVELS,
    )


def gradient(dtype: str, scale: float, order: icosahedral.Order = ORDER) -> Case:
    """Both components of a gradient from the neighbours of each cell."""
    mesh = mesh_of(scale, order)
    dims: dict[str, tuple[ff.Dimension, ...]] = {
        "psi": (Cell, K), "east": (Cell, C2E2CDim), "north": (Cell, C2E2CDim),
    }  # fmt: skip
    arrays = random_fields(mesh, dtype, **dims)
    c2e2c = mesh.tables["C2E2C"]

    def in_numpy() -> dict[str, np.ndarray]:
        psi, east, north = arrays.values()
        rises = [psi[c2e2c[:, n]] - psi for n in range(3)]
        return {
            name: sum(rise * weight[:, n, None] for n, rise in enumerate(rises))
            for name, weight in (("psi_east", east), ("psi_north", north))
        }

    kernels, end = compiled("gradient"), precision_of(dtype)
    names = ("psi_east", "psi_north")
    results = {name: zeros((mesh.cells, LEVELS), dtype) for name in names}

    def variant(name: str, *rest: int) -> Any:
        function = getattr(kernels, f"gradient_{name}_{end}")
        words = (*arrays.values(), *results.values(), c2e2c, mesh.cells, LEVELS, *rest)
        return bound(function, words, results)

    cells = {Cell: mesh.cells, K: LEVELS}
    outs = {name: ff.zeros(cells, np.dtype(dtype), allocator=ff.cpu) for name in names}
    return Case(
        name="gradient",
        size=f"{mesh.cells // 1000}k cells x {LEVELS}",
        dtype=dtype,
        program=programs("nabla", dtype).gradient,
        arguments={**as_fields(arrays, dims), **outs},
        tables=mesh.connectivities(),
        outputs=names,
        by_hand={
            "simple": variant("simple"),
            "two passes": variant("two_passes"),
            **_in_rows(variant),
        },
        in_numpy=in_numpy,
        moved=sum(each.nbytes for each in (*arrays.values(), c2e2c, *results.values())),
        operations=13 * mesh.cells * LEVELS,
    )


def _in_rows(variant: Any) -> dict[str, Any]:
    """Return variants with unrolled neighbours: stores past the caches, blocks, prefetches."""
    return {
        "unrolled": variant("rows", LEVELS, 0),
        "unrolled, 40 levels at a time": variant("rows", 40, 0),
        "unrolled, prefetched": variant("rows", LEVELS, 4),
        "streamed": variant("streamed", LEVELS, 0),
        "streamed, 16 levels at a time": variant("streamed", 16, 0),
        "streamed, prefetched": variant("streamed", LEVELS, 4),
    }


CASES = (nabla2, nabla4, gradient)
