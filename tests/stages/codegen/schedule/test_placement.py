"""One placement for a statement: what several outputs need is computed once for all of them."""

from typing import Any

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import neighbor_sum, sqrt
from fieldforge.examples import advection
from fieldforge.examples.advection import IW, JS
from fieldforge.examples.icosahedral import (
    C2E,
    E2C,
    E2V,
    V2E,
    C2EDim,
    Cell,
    E2VDim,
    Edge,
    K,
    V2EDim,
    Vertex,
    icosahedral,
)
from fieldforge.stages.codegen.gpu.options import GpuOptions
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.codegen.schedule.schedule import schedule
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.ir.bounds import Const, Range
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import nests_of
from fieldforge.stages.lower.graph import Graph
from fieldforge.stages.sizes import Patches
from fieldforge.workflows.backends.backend import BACKENDS

from ..programs import REAL, TARGET, I, J, all_unit, make_program, whole

CPU, HOST = BACKENDS["cpu"], BACKENDS["gpu-host"]
MESH = icosahedral(3, 0)
LEVELS = 5
PORTIONS = CPU.with_options(patches=Patches(elements=16, portion=4, least_bytes=1))
PATCHES = HOST.with_options(patches=Patches(elements=16, levels=4, points=2, threads=64))

EdgeField = ff.Field[ff.Dims[Edge, K], ff.float64]
VertexField = ff.Field[ff.Dims[Vertex, K], ff.float64]
Rot = ff.Field[ff.Dims[Vertex, V2EDim], ff.float64]
Plane = ff.Field[ff.Dims[I, J], ff.float64]
CellLine = ff.Field[ff.Dims[Cell], ff.float64]


@ff.field_operator
def spun(vn: EdgeField, rot: Rot) -> tuple[EdgeField, VertexField]:
    zeta = neighbor_sum(vn(V2E) * rot, axis=V2EDim)
    around = neighbor_sum(zeta(E2V), axis=E2VDim)
    return vn + around, zeta * zeta


@ff.program
def spin(
    vn: EdgeField,
    rot: Rot,
    out: EdgeField,
    square: VertexField,
    edges: ff.int32,
    vertices: ff.int32,
):
    spun(
        vn, rot, out=(out, square),
        domain=({Edge: (0, edges), K: (0, 5)}, {Vertex: (0, vertices), K: (0, 5)}),
    )  # fmt: skip


@ff.field_operator
def smoothed(u: Plane) -> tuple[Plane, Plane]:
    root = ff.sqrt(u) / (1.0 + ff.sqrt(u(I + 1)))
    return root(J + 1) - root(J - 1), root(J + 1) + root(J - 1)


@ff.program
def apart(u: Plane, below: Plane, above: Plane):
    smoothed(u, out=(below, above), domain=({I: (0, 5), J: (0, 2)}, {I: (0, 5), J: (90, 92)}))


def reasons(
    program: Any, unit: Any, tables: Any = None, rules: Rules | None = None
) -> tuple[list[str], str]:
    """Return what each nest does, and the listing."""
    traced = program.with_backend(CPU).trace(until="lower", offset_provider=tables or {})
    lowered = traced["lower"].artifact
    kernel, _ = schedule(lowered, all_unit(lowered, unit), rules or Rules(TARGET))
    return [nest.reason.partition(";")[0] for nest in nests_of(kernel)], show(kernel)


def test_the_limiter_computes_the_room_in_cells_once() -> None:
    nests, text = reasons(advection.limit, J)
    assert nests == ["fills @6, @7", "stores new_cx", "stores new_cy"]
    assert text.count("float64 div ") == 2


def test_outputs_on_edges_and_vertices_share_the_vorticity() -> None:
    nests, text = reasons(spin, K, MESH.connectivities())
    assert nests == ["fills @6", "stores out", "stores square"]
    assert text.count("load @6[%") == 2
    assert text.count("load @6[0, 0]") == 1


@ff.field_operator
def exchanged(h: CellLine, u: CellLine) -> tuple[CellLine, CellLine, CellLine]:
    mean = sqrt(h(E2C[0]) * h(E2C[1])) / (h(E2C[0]) + h(E2C[1]))
    fast = sqrt(mean + 1.0)
    per = 1.0 / (fast - mean)
    jump = (u(E2C[1]) - u(E2C[0])) * per
    mass, push, turn = fast * jump + per, jump * jump + mean * per, jump / fast - per
    return (
        h - neighbor_sum(mass(C2E), axis=C2EDim),
        u - neighbor_sum(push(C2E), axis=C2EDim),
        u + neighbor_sum(turn(C2E), axis=C2EDim),
    )


@ff.program
def exchange(h: CellLine, u: CellLine, new_h: CellLine, new_u: CellLine, more: CellLine):
    exchanged(h, u, out=(new_h, new_u, more))


def test_what_arrays_of_one_nest_share_is_computed_in_it() -> None:
    nests, text = reasons(exchange, Cell, MESH.connectivities())
    assert nests == ["fills @7, @8, @9", "stores new_h, new_u, more"]
    assert text.count("float64 sqrt ") == 2
    assert text.count("float64 div ") == 3


def test_outputs_with_disjoint_boxes_share_nothing() -> None:
    nests, _ = reasons(apart, J)
    assert nests == ["fills @3", "stores below", "fills @4", "stores above"]


def test_an_output_on_an_empty_box_leaves_the_others() -> None:
    graph, dims = Graph(), (I, J)
    u = graph.input("u", dims, REAL)
    fields = [("u", REAL, dims), ("none", REAL, dims), ("out", REAL, dims), ("more", REAL, dims)]
    nowhere = (Range(I, Const(4), Const(4)), whole("none", dims)[1])
    stores = [("none", nowhere, u), ("out", whole("out", dims), u), ("more", nowhere, u)]
    lowered = make_program("copies", graph, fields, stores)

    kernel, groups = schedule(lowered, all_unit(lowered, I), Rules(TARGET))

    assert [nest.reason.partition(";")[0] for nest in nests_of(kernel)] == ["stores out"]
    assert [nest.group for nest in nests_of(kernel)] == [1]
    assert len(groups) == 2


@pytest.mark.needs_compiler
@pytest.mark.parametrize("backend", [CPU, HOST], ids=["cpu", "gpu-host"])
@pytest.mark.parametrize(("nx", "ny"), [(20, 30), (33, 7), (0, 6), (6, 0), (0, 0)])
@pytest.mark.filterwarnings("ignore:.*runs embedded")
def test_the_limiter_has_the_bits_of_embedded_execution(backend: Any, nx: int, ny: int) -> None:
    found = [limits(program, nx, ny) for program in (
        advection.limit, advection.limit.with_backend(backend),
        advection.limit_in_steps.with_backend(backend),
    )]  # fmt: skip
    for other in found[1:]:
        assert all(np.array_equal(*pair) for pair in zip(found[0], other, strict=True))


def limits(program: Any, nx: int, ny: int) -> list[np.ndarray]:
    """Return the outputs of a limiter; inputs are as small as a call may have them."""
    numbers = np.random.default_rng(3)
    size = {I: (-2, nx + 2), J: (-2, ny + 2)}

    def drawn(domain: Any) -> Any:
        return ff.as_field(domain, numbers.random([b - a for a, b in domain.values()]) - 0.3)

    arguments = {
        "q": drawn(size), "before": drawn(size),
        "cx": drawn({IW: (-1, nx + 2), J: (-1, ny + 1)}),
        "cy": drawn({I: (-1, nx + 1), JS: (-1, ny + 2)}),
        "new_cx": ff.zeros({IW: nx + 1, J: ny}, np.float64),
        "new_cy": ff.zeros({I: nx, JS: ny + 1}, np.float64),
        "nx": nx, "ny": ny,
    }  # fmt: skip
    if program.__name__ == "limit_in_steps":
        arguments |= {name: ff.zeros(size, np.float64) for name in ("more", "less")}
    program(**arguments)
    return [arguments[name].asnumpy() for name in ("new_cx", "new_cy")]


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    "backend",
    [CPU, PORTIONS, HOST, PATCHES],
    ids=["cpu", "portions", "gpu-host", "patches"],
)
@pytest.mark.parametrize(
    ("edges", "vertices"), [(MESH.edges, MESH.vertices), (20, 7), (0, 9), (9, 0), (0, 0)]
)
@pytest.mark.filterwarnings("ignore:.*runs embedded")
def test_shared_vorticity_has_the_bits_of_embedded_execution(
    backend: Any, edges: int, vertices: int
) -> None:
    numbers = np.random.default_rng(3)
    vn = ff.as_field({Edge: MESH.edges, K: LEVELS}, numbers.random((MESH.edges, LEVELS)))
    rot = ff.as_field({Vertex: MESH.vertices, V2EDim: 6}, numbers.random((MESH.vertices, 6)))
    found = []
    for program in (spin, spin.with_backend(backend)):
        out = ff.zeros({Edge: MESH.edges, K: LEVELS}, np.float64)
        square = ff.zeros({Vertex: MESH.vertices, K: LEVELS}, np.float64)
        program(vn, rot, out, square, edges, vertices, offset_provider=MESH.connectivities())
        found.append((out.asnumpy(), square.asnumpy()))
    assert all(np.array_equal(*pair) for pair in zip(*found, strict=True))


# --- what scans compute for themselves ------------------------------------------------------------

Levels = ff.Field[ff.Dims[I, K], ff.float64]


@ff.scan_operator(axis=K, forward=True, init=(0.0, 0.0))
def eliminated(
    above: tuple[ff.float64, ff.float64], a: ff.float64, d: ff.float64
) -> tuple[ff.float64, ff.float64]:
    inverse = 1.0 / (3.0 - a * above[0])
    return a * inverse, (d - a * above[1]) * inverse


@ff.scan_operator(axis=K, forward=False, init=0.0)
def substituted(below: ff.float64, c: ff.float64, d: ff.float64) -> ff.float64:
    return d - c * below


@ff.field_operator
def swept(u: Levels, v: Levels) -> Levels:
    coefficient = sqrt(u * u + v * v) / (1.0 + u)
    c, d = eliminated(coefficient, v * v)
    return substituted(c, d)


@ff.field_operator
def swept_once(u: Levels, v: Levels) -> tuple[Levels, Levels]:
    return eliminated(sqrt(u * u + v * v) / (1.0 + u), v * v)


@ff.field_operator
def swept_twice(u: Levels, v: Levels) -> tuple[Levels, Levels]:
    steep = sqrt(sqrt(u * u + v * v)) / (1.0 + u)
    c, d = eliminated(steep, v * v)
    return c + steep, d


@ff.program
def sweep(u: Levels, v: Levels, out: Levels):
    swept(u, v, out=out)


@ff.program
def sweep_once(u: Levels, v: Levels, c: Levels, d: Levels):
    swept_once(u, v, out=(c, d))


@ff.program
def sweep_twice(u: Levels, v: Levels, c: Levels, d: Levels):
    swept_twice(u, v, out=(c, d))


def weighed(program: Any, **options: Any) -> list[str]:
    """Return what each nest does on a GPU."""
    rules = GpuOptions(target=GpuTarget("sm_90"), **options).rules()
    return [nest.split()[0] for nest in reasons(program, I, rules=rules)[0]]


def test_scans_that_hand_results_on_read_what_costs_much() -> None:
    assert weighed(sweep) == ["fills", "walks", "walks"]


@pytest.mark.parametrize("options", [{"shared": False}, {"checked": True}])
def test_scans_with_many_threads_compute_it(options: dict[str, Any]) -> None:
    assert weighed(sweep, **options) == ["walks", "walks"]


def test_a_scan_that_hands_nothing_on_computes_it() -> None:
    assert weighed(sweep_once) == ["walks"]


def test_what_a_scan_and_its_stores_need_at_one_level_is_one_use() -> None:
    nests, text = reasons(sweep_twice, I)
    assert nests == ["walks %10, stores c, d"]
    assert text.count("float64 sqrt ") == 2


@pytest.mark.needs_compiler
@pytest.mark.parametrize("options", [{}, {"blocked": False}, {"shared": False}])
def test_sweeps_on_a_gpu_have_the_bits_of_the_cpu(options: dict[str, Any]) -> None:
    numbers = np.random.default_rng(4)
    u, v = (ff.as_field({I: 7, K: 9}, numbers.random((7, 9))) for _ in "uv")
    found = []
    for backend in (CPU, HOST.with_options(**options)):
        out = ff.as_field({I: 7, K: 9}, np.full((7, 9), np.nan))
        sweep.with_backend(backend)(u, v, out)
        found.append(out.asnumpy())
    assert np.array_equal(*found)


@ff.field_operator
def spread(u: Plane, c: Plane) -> Plane:
    across = u(I + 1) + u(I - 1) + u(I + 2) + u(I - 2)
    along = u(J + 1) + u(J - 1) + u(J + 2) + u(J - 2)
    return c * (across + along + u(I + 1)(J + 1) + u(I - 1)(J - 1) + u)


@ff.program(backend=CPU)
def spreads(u: Plane, c: Plane, out: Plane):
    spread(u, c, out=out, domain={I: (2, 90), J: (2, 90)})


def test_threads_of_a_gpu_test_the_sides_of_a_region_once() -> None:
    derived = ff.adjoint(spreads, wrt=("u",)).trace(until="adjoint")["adjoint"].artifact
    found = {}
    for name, target in (("cpu", TARGET), ("gpu", GpuTarget("sm_90"))):
        kernel, _ = schedule(derived, all_unit(derived, J), Rules(target))
        found[name] = [nest.reason.split()[0] for nest in nests_of(kernel)]
    assert found == {"cpu": ["stores"], "gpu": ["fills", "stores"]}
