"""The programs that are measured on a GPU: their fields, made on the device, and kernels by hand.

Meshes are tori of triangles, numbered row by row or in patches; numbers are random.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
import gpu_velocity
import numpy as np

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.examples import icosahedral
from fieldforge.examples.icosahedral import (
    C2E2CDim,
    C2EDim,
    Cell,
    E2CDim,
    E2VDim,
    Edge,
    K as Level,
    V2CDim,
    V2EDim,
    Vertex,
)
from fieldforge.examples.precision import in_precision
from fieldforge.runtime import gpu
from fieldforge.workflows.backends.backend import BACKENDS

KERNELS = Path(__file__).parent / "kernels"
LINE = 128
Arrays = Mapping[str, Any]


@attrs.frozen
class Laid:
    """An allocator with levels contiguous, or with the first horizontal dimension.

    Rows begin at multiples of a line, or right after each other, as arrays of other libraries do.
    """

    levels: bool = False
    aligned: bool = True

    @property
    def __gt_device_type__(self) -> Any:
        return BACKENDS["gpu"].__gt_allocator__.__gt_device_type__

    def __gt_allocate__(
        self, domain: Any, dtype: Any, device_id: int = 0, aligned_index: Any = None
    ) -> Any:
        import cupy

        kinds = [dim.kind.value for dim in domain.dims]
        ranks = {"vertical": 0, "local": 1, "horizontal": 2}
        if self.levels:
            ranks = {"horizontal": 0, "local": 1, "vertical": 2}
        order = sorted(range(len(kinds)), key=lambda axis: (ranks[kinds[axis]], -axis))
        index = [-int(own.start) if own.start < 0 else 0 for own in domain.ranges]
        padded = self.aligned and not (self.levels and "vertical" not in kinds)
        made = gpu.Array.empty(
            domain.shape, dtype.dtype, layout=order, alignment=LINE if padded else None,
            aligned_index=index if padded else None,
        )  # fmt: skip
        return cupy.from_dlpack(made)


@attrs.frozen(eq=False)
class GpuCase:
    """A program on fields of the device; `moved` is the bytes that must move."""

    name: str
    dtype: str
    size: str
    program: Any
    arguments: dict[str, Any]
    outputs: tuple[str, ...]
    tables: Mapping[str, Any]
    moved: int
    by_hand: Mapping[str, Callable[[], Any]]


def field(
    domain: Any,
    dtype: str,
    levels: bool,
    low: float = -1.0,
    high: float = 1.0,
    aligned: bool = True,
) -> Any:
    """Return a field of random numbers on the device."""
    import cupy

    made = ff.empty(domain, np.dtype(dtype).type, allocator=Laid(levels, aligned))
    view = made.ndarray
    view[...] = cupy.random.uniform(low, high, view.shape, dtype=dtype)
    return made


def size_of(fields: Mapping[str, Any]) -> int:
    """Return the bytes of all fields."""
    return sum(int(np.prod(each.shape)) * each.ndarray.itemsize for each in fields.values())


def by_hand(name: str, dtype: str, *options: str) -> Any:
    """Compile a hand-written file."""
    import cupy

    real = "double" if dtype == "float64" else "float"
    text = (KERNELS / f"{name}.cu").read_text()
    return cupy.RawModule(code=text, options=("--std=c++17", f"-DREAL={real}", *options))


def first_of(made: Any) -> int:
    """Return the address of index 0 of a field."""
    view = made.ndarray
    starts = [int(own.start) for own in made.domain.ranges]
    return int(view.data.ptr) - sum(a * s for a, s in zip(starts, view.strides, strict=True))


def addresses(given: Mapping[str, Any]) -> list[Any]:
    """Return the addresses of index 0 of fields as a kernel takes them."""
    return [np.uint64(first_of(each)) for each in given.values()]


def strides_of(made: Any) -> list[int]:
    """Return the strides in elements."""
    return [stride // made.ndarray.itemsize for stride in made.ndarray.strides]


# --- columns and stencils on a grid -------------------------------------------------------------


def diffusion(
    dtype: str, levels: bool, shape: tuple[int, int, int], aligned: bool = True
) -> GpuCase:
    """Horizontal diffusion with a flux limiter."""
    program = in_precision("diffusion", dtype)
    I, J, K, h = program.I, program.J, program.K, program.HALO
    ni, nj, nk = shape
    core = {I: ni, J: nj, K: nk}
    given = {
        "u": field({I: (-h, ni + h), J: (-h, nj + h), K: nk}, dtype, levels, aligned=aligned),
        "coeff": field(core, dtype, levels, 0.0, 0.05, aligned),
        "out": field(core, dtype, levels, aligned=aligned),
    }
    hand = {}
    if not levels and aligned:
        kernel = by_hand("diffusion", dtype).get_function("diffusion")
        points = 16 // np.dtype(dtype).itemsize
        (_, u_row, u_plane), (_, row, plane) = strides_of(given["u"]), strides_of(given["out"])
        strides = (np.int64(each) for each in (u_row, u_plane, row, plane))
        words = (*addresses(given), np.int32(ni), np.int32(nj), *strides)
        grid = (-(-ni // (32 * points)), -(-nj // 8), nk)
        hand["2 rows"] = lambda: kernel(grid, (32, 4, 1), words)
    return GpuCase(
        "diffusion", dtype, f"{ni}x{nj}x{nk}", program.diffuse, given, ("out",), {},
        3 * ni * nj * nk * np.dtype(dtype).itemsize, hand,
    )  # fmt: skip


def tridiagonal(dtype: str, levels: bool, shape: tuple[int, int, int]) -> GpuCase:
    """A tridiagonal system in each column."""
    program = in_precision("tridiagonal", dtype)
    core = dict(zip((program.I, program.J, program.K), shape, strict=True))
    given = {name: field(core, dtype, levels) for name in "acd"}
    given["b"] = field(core, dtype, levels, 2.5, 3.0)
    given["a"].ndarray[..., 0] = 0
    given["c"].ndarray[..., -1] = 0
    given["x"] = field(core, dtype, levels)
    hand = {}
    if not levels:
        nk = shape[-1]
        if nk < LONG:
            hand["shared"] = _tridiagonal_by_hand(given, dtype, shape)
        elif nk % 10 == 0:
            hand["blocks"] = _long_tridiagonal_by_hand(given, dtype, shape)
    return GpuCase(
        "tridiagonal", dtype, "x".join(map(str, shape)), program.solve, given, ("x",), {},
        size_of(given), hand,
    )  # fmt: skip


LONG = 160  # levels that one kernel by hand is for, and another from there on


def _tridiagonal_by_hand(given: Arrays, dtype: str, shape: tuple[int, int, int]) -> Any:
    ni, nj, nk = shape
    kernel = by_hand("tridiagonal", dtype, f"-DLEVELS={nk}").get_function("tridiagonal")
    shared = 2 * nk * 64 * np.dtype(dtype).itemsize
    kernel.max_dynamic_shared_size_bytes = shared
    _, row, plane = strides_of(given["x"])
    words = (*(np.uint64(first_of(given[name])) for name in "abcdx"), np.int32(ni),
             np.int64(row), np.int64(plane))  # fmt: skip
    return lambda: kernel((-(-ni // 64), nj), (64,), words, shared_mem=shared)


def _long_tridiagonal_by_hand(given: Arrays, dtype: str, shape: tuple[int, int, int]) -> Any:
    """Return a call that leaves as many levels in shared memory as two blocks have room for."""
    import cupy

    ni, nj, nk = shape
    itemsize = np.dtype(dtype).itemsize
    split = max(10, -(-(nk - 113_000 // (2 * 32 * 8)) // 10) * 10)
    options = (f"-DLEVELS={nk}", f"-DSPLIT={split}")
    kernel = by_hand("tridiagonal", dtype, *options).get_function("blocks")
    shared = 2 * (nk - split) * 32 * itemsize
    kernel.max_dynamic_shared_size_bytes = shared
    _, row, plane = strides_of(given["x"])
    far = [cupy.empty((split, plane), dtype) for _ in range(2)]
    words = (*(np.uint64(first_of(given[name])) for name in "abcdx"), *far, np.int32(ni),
             np.int64(row), np.int64(plane))  # fmt: skip
    return lambda: kernel((-(-ni // 32), nj), (32,), words, shared_mem=shared)


def vertical_advection(dtype: str, levels: bool, shape: tuple[int, int, int]) -> GpuCase:
    """Implicit vertical advection of a wind component."""
    program = in_precision("vertical_advection", dtype)
    I, J, K = program.I, program.J, program.K
    ni, nj, nk = shape
    core, faces = {I: ni, J: nj, K: nk}, {I: ni + 1, J: nj, K: nk + 1}
    given = {name: field(core, dtype, levels, -10, 10) for name in ("u", "u_before")}
    given["w"] = field(faces, dtype, levels, -0.05, 0.05)
    given |= {name: field(core, dtype, levels) for name in ("tendency", "new_tendency")}
    real = np.dtype(dtype).type
    hand = {}
    if not levels and nk < LONG:
        module = by_hand("vertical_advection", dtype, f"-DLEVELS={nk}")
        kernel = module.get_function("vertical_advection")
        shared = 2 * nk * 64 * np.dtype(dtype).itemsize
        kernel.max_dynamic_shared_size_bytes = shared
        (_, row, plane), (_, w_row, w_plane) = strides_of(given["u"]), strides_of(given["w"])
        strides = (np.int64(each) for each in (row, plane, w_row, w_plane))
        words = (*addresses(given), real(1 / 12), np.int32(ni), *strides)
        hand["shared"] = lambda: kernel((-(-ni // 64), nj), (64,), words, shared_mem=shared)
        landing = module.get_function("landing")
        rooms = 3 * nk * 32 * np.dtype(dtype).itemsize
        landing.max_dynamic_shared_size_bytes = rooms
        hand["landing"] = lambda: landing((-(-ni // 32), nj), (32,), words, shared_mem=rooms)
    moved = size_of(given)
    scalars = {"per_step": real(1 / 12), "last": nk - 1}
    return GpuCase(
        "vertical advection", dtype, f"{ni}x{nj}x{nk}", program.advect, given | scalars,
        ("new_tendency",), {}, moved, hand,
    )  # fmt: skip


# --- meshes -------------------------------------------------------------------------------------


@functools.cache
def torus(across: int, patches: bool = False) -> dict[str, np.ndarray]:
    """Return the tables of a torus of `across` squared vertices, three edges and two cells each."""
    x, y = np.meshgrid(np.arange(across), np.arange(across), indexing="ij")
    number = x * across + y
    if patches:  # of 8 x 8 vertices
        wide = across // 8
        number = ((x // 8) * wide + y // 8) * 64 + (x % 8) * 8 + y % 8
    v = number.ravel()
    place = np.argsort(v)

    def at(dx: int, dy: int) -> np.ndarray:
        return number[(x + dx) % across, (y + dy) % across].ravel()[place]

    def e(kind: int, dx: int = 0, dy: int = 0) -> np.ndarray:
        return 3 * at(dx, dy) + kind

    def c(kind: int, dx: int = 0, dy: int = 0) -> np.ndarray:
        return 2 * at(dx, dy) + kind

    def rows(*kinds: list[np.ndarray]) -> np.ndarray:
        columns = [np.stack(kind, axis=1) for kind in kinds]
        return np.ascontiguousarray(np.stack(columns, axis=1).reshape(-1, len(kinds[0])), np.int32)

    here = at(0, 0)
    found = {
        "E2V": rows([here, at(1, 0)], [here, at(1, 1)], [here, at(0, 1)]),
        "V2E": rows([e(0), e(1), e(2), e(0, -1), e(1, -1, -1), e(2, 0, -1)]),
        "C2E": rows([e(0), e(2, 1), e(1)], [e(1), e(0, 0, 1), e(2)]),
        "E2C": rows([c(0), c(1, 0, -1)], [c(0), c(1)], [c(1), c(0, -1)]),
        "V2C": rows([c(0), c(1), c(0, -1), c(0, -1, -1), c(1, -1, -1), c(1, 0, -1)]),
    }
    around = found["E2C"][found["C2E"]]  # of each edge of a cell, both cells
    own = np.arange(len(around), dtype=np.int32)[:, None]
    found["C2E2C"] = np.where(around[..., 0] == own, around[..., 1], around[..., 0])
    return found


def tables_of(across: int, patches: bool, levels: bool) -> dict[str, Any]:
    """Return the offset provider of a torus on the device."""
    found = {}
    tables = torus(across, patches)
    for offset in icosahedral.OFFSETS:
        if offset.value in tables:
            found[offset.value] = as_connectivity(
                offset.target, codomain=offset.source, data=tables[offset.value],
                skip_value=-1 if offset.value in ("V2E", "V2C") else None, allocator=Laid(levels),
            )  # fmt: skip
    return found


def nabla2(dtype: str, levels: bool, across: int, nk: int, patches: bool = False) -> GpuCase:
    """Curl of the curl on a torus."""
    v, e = across**2, 3 * across**2
    given = {
        "vn": field({Edge: e, Level: nk}, dtype, levels),
        "along_dual": field({Vertex: v, V2EDim: 6}, dtype, levels),
        "difference": field({Edge: e, E2VDim: 2}, dtype, levels),
        "out": field({Edge: e, Level: nk}, dtype, levels),
    }
    tables = torus(across, patches)
    hand = {}
    if levels:
        hand["two kernels"] = _nabla2_by_hand(given, tables, dtype, v, e)
    return GpuCase(
        "nabla2", dtype, f"{e // 1000}k edges x {nk}", in_precision("nabla", dtype).nabla2, given,
        ("out",), tables_of(across, patches, levels),
        size_of(given) + sum(tables[name].nbytes for name in ("V2E", "E2V")), hand,
    )  # fmt: skip


def _nabla2_by_hand(given: Arrays, tables: Arrays, dtype: str, v: int, e: int) -> Any:
    import cupy

    module = by_hand("nabla2", dtype)
    curl, along = module.get_function("curl"), module.get_function("along_edges")
    row = strides_of(given["vn"])[0]
    between = cupy.empty((v, row), dtype)
    v2e, e2v = cupy.asarray(tables["V2E"]), cupy.asarray(tables["E2V"])
    first = {name: np.uint64(first_of(each)) for name, each in given.items()}
    packs = row * np.dtype(dtype).itemsize // 16
    rows = np.uint32(row)

    def run() -> None:
        curl(
            (-(-v * packs // 128),),
            (128,),
            (first["vn"], first["along_dual"], v2e, between, np.uint32(v), rows),
        )
        along(
            (-(-e * packs // 128),),
            (128,),
            (between, first["difference"], e2v, first["out"], np.uint32(e), rows),
        )

    return run


def velocity_tendency(
    dtype: str, levels: bool, across: int, nk: int, patches: bool = False
) -> GpuCase:
    """Tendencies of the wind on a torus: 15 fields in, 3 out, 5 tables."""
    points = {Vertex: across**2, Edge: 3 * across**2, Cell: 2 * across**2}
    columns = {"vn": Edge, "vt": Edge, "per_depth_e": Edge, "per_depth_c": Cell}
    halves = {"vn_half": Edge, "w": Cell, "w_terrain": Cell}
    around = {"rot": (Vertex, V2EDim, 6), "to_vertex": (Vertex, V2CDim, 6),
              "bilinear": (Cell, C2EDim, 3), "linear": (Edge, E2CDim, 2)}  # fmt: skip
    flat = ("coriolis", "orientation", "per_length", "per_dual")
    outs = {"ddt_vn": Edge, "ddt_w": Cell, "courant": Cell}
    given = {
        name: field({dim: points[dim], Level: nk}, dtype, levels) for name, dim in columns.items()
    }
    given |= {
        name: field({dim: points[dim], Level: nk + 1}, dtype, levels)
        for name, dim in halves.items()
    }
    given |= {
        name: field({dim: points[dim], of: n}, dtype, levels)
        for name, (dim, of, n) in around.items()
    }
    given |= {name: field({Edge: points[Edge]}, dtype, levels) for name in flat}
    given |= {
        name: field({dim: points[dim], Level: nk}, dtype, levels) for name, dim in outs.items()
    }
    real = np.dtype(dtype).type
    tables = torus(across, patches)
    moved = size_of(given) + sum(tables[name].nbytes for name in tables if name != "C2E2C")
    scalars = {"dtime": real(0.5), "limit": real(0.7), "damping": real(0.25)}
    hand = {}
    if levels and nk % 8 == 0:  # the levels of a thread at once
        hand = gpu_velocity.by_hand(
            gpu_velocity.Given(
                dtype, {name: first_of(each) for name, each in given.items()}, tables,
                (points[Vertex], points[Cell], points[Edge]), nk, strides_of(given["vn"])[0],
                strides_of(given["w"])[0], tuple(scalars.values()),
            )
        )  # fmt: skip
    return GpuCase(
        "velocity tendency", dtype, f"{points[Edge] // 1000}k edges x {nk}",
        in_precision("velocity_tendency", dtype).velocity_tendency, given | scalars, tuple(outs),
        tables_of(across, patches, levels), moved, hand,
    )  # fmt: skip


def dynamics(dtype: str, levels: bool, across: int, nk: int, patches: bool = False) -> GpuCase:
    """An ICON-like program on a torus: 16 fields in, 4 out, 6 tables."""
    points = {Vertex: across**2, Edge: 3 * across**2, Cell: 2 * across**2}
    columns = {"vn": Edge, "vt": Edge, "flux": Edge, "rho": Cell, "theta": Cell, "exner": Cell}
    around = {
        "bilinear": (Cell, C2EDim, 3), "divergence": (Cell, C2EDim, 3),
        "weights": (Cell, C2E2CDim, 3), "rot": (Vertex, V2EDim, 6),
        "to_vertex": (Vertex, V2CDim, 6), "linear": (Edge, E2CDim, 2),
    }  # fmt: skip
    flat = {"share": Cell, "coriolis": Edge, "per_dual": Edge, "per_length": Edge}
    outs = {"ddt_vn": Edge, "along": Edge, "new_rho": Cell, "new_theta": Cell}
    given = {
        name: field({dim: points[dim], Level: nk}, dtype, levels) for name, dim in columns.items()
    }
    given |= {
        name: field({dim: points[dim], of: n}, dtype, levels)
        for name, (dim, of, n) in around.items()
    }
    given |= {name: field({dim: points[dim]}, dtype, levels) for name, dim in flat.items()}
    given |= {
        name: field({dim: points[dim], Level: nk}, dtype, levels) for name, dim in outs.items()
    }
    moved = size_of(given) + sum(each.nbytes for each in torus(across, patches).values())
    return GpuCase(
        "ICON-like", dtype, f"{points[Edge] // 1000}k edges x {nk}",
        in_precision("mesh_dynamics", dtype).dynamics,
        given | {"dtime": np.dtype(dtype).type(0.5)}, tuple(outs),
        tables_of(across, patches, levels), moved, {},
    )  # fmt: skip
