"""Programs whose nests hand arrays on over a mesh, and their arguments."""

from typing import Any

import numpy as np

import fieldforge as ff
from fieldforge import neighbor_sum
from fieldforge.constructors import as_connectivity
from fieldforge.examples import nabla
from fieldforge.examples.icosahedral import (
    C2E,
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
from fieldforge.workflows.backends.backend import BACKENDS

from ...selection import not_optimised

CPU = not_optimised(BACKENDS["cpu"].with_options(patches=False))
LEVELS = 11
MESH = icosahedral(6, 0)
NEEDED = ("C2E", "E2C", "E2V", "V2E")
TABLES = {name: table for name, table in MESH.connectivities().items() if name in NEEDED}
EDGES, VERTICES, CELLS = (len(TABLES[name].asnumpy()) for name in ("E2V", "V2E", "C2E"))

EdgeField = ff.Field[ff.Dims[Edge, K], ff.float64]
CellField = ff.Field[ff.Dims[Cell, K], ff.float64]
OfVertexEdges = ff.Field[ff.Dims[Vertex, V2EDim], ff.float64]
OfEdgeVertices = ff.Field[ff.Dims[Edge, E2VDim], ff.float64]
OfCellEdges = ff.Field[ff.Dims[Cell, C2EDim], ff.float64]


@ff.field_operator
def on_both(
    vn: EdgeField, turn: OfVertexEdges, weights: OfCellEdges
) -> tuple[EdgeField, CellField]:
    zeta = neighbor_sum(vn(V2E) * turn, axis=V2EDim)
    curl = zeta(E2V[1]) - zeta(E2V[0])
    spin = zeta(E2V[1]) * vn
    return curl, neighbor_sum(spin(C2E) * weights, axis=C2EDim)


@ff.program
def both(
    vn: EdgeField, turn: OfVertexEdges, weights: OfCellEdges, curl: EdgeField, spin: CellField
):  # fmt: skip
    on_both(vn, turn, weights, out=(curl, spin))


@ff.program
def in_part(
    vn: EdgeField, along: OfVertexEdges, difference: OfEdgeVertices, out: EdgeField,
    first: ff.int32, last: ff.int32,
):  # fmt: skip
    nabla.curl_of_curl(vn, along, difference, out=out, domain={Edge: (first, last), K: (1, 10)})


def field(rng: np.random.Generator, *dims: tuple[Any, int]) -> Any:
    domain = dict(dims)
    return ff.as_field(domain, rng.uniform(0.5, 1.5, tuple(domain.values())))


def of_nabla(seed: int = 1) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    return {
        "vn": field(rng, (Edge, EDGES), (K, LEVELS)),
        "along": field(rng, (Vertex, VERTICES), (V2EDim, 6)),
        "difference": field(rng, (Edge, EDGES), (E2VDim, 2)),
        "out": ff.zeros({Edge: EDGES, K: LEVELS}),
    }


def of_both() -> dict[str, Any]:
    rng = np.random.default_rng(2)
    return {
        "vn": field(rng, (Edge, EDGES), (K, LEVELS)),
        "turn": field(rng, (Vertex, VERTICES), (V2EDim, 6)),
        "weights": field(rng, (Cell, CELLS), (C2EDim, 3)),
        "curl": ff.zeros({Edge: EDGES, K: LEVELS}),
        "spin": ff.zeros({Cell: CELLS, K: LEVELS}),
    }


def tables(known: dict[str, Any] = TABLES) -> dict[str, Any]:
    """Return new tables, for which no lists were made."""
    return {
        name: as_connectivity(
            each.domain, codomain=each.codomain, data=each.asnumpy(), skip_value=each.skip_value
        )
        for name, each in known.items()
    }


def run(program: Any, backend: Any, arguments: dict[str, Any], outputs: list[str], **given: Any):
    for name in outputs:
        arguments[name].ndarray[...] = -7.0
    provider = given.pop("provider", TABLES)
    program.with_backend(backend)(**arguments, **given, offset_provider=provider)
    return [np.array(arguments[name].asnumpy()) for name in outputs]


def loops(program: Any, backend: Any, arguments: dict[str, Any], **given: Any) -> str:
    traced = program.with_backend(backend).trace(
        **arguments, **given, offset_provider=TABLES, until="codegen"
    )
    return traced["codegen"].loops
