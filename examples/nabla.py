"""Differential operators on a triangular mesh: curl of curl, a fourth difference, a gradient.

The discretisation is that of triangular C grids (Bonaventura & Ringler, 2005, Monthly Weather
Review 133; Wan et al., 2013, Geoscientific Model Development 6): normal components of the wind
on edges, vorticity on vertices, scalars in cells. What depends on the mesh only comes as sparse
coefficients: one number for each neighbour of each point.
"""

from __future__ import annotations

import fieldforge as ff
from fieldforge import neighbor_sum

from .icosahedral import (
    C2E2C,
    E2C2V,
    E2V,
    V2E,
    C2E2CDim,
    Cell,
    E2C2VDim,
    E2VDim,
    Edge,
    K,
    V2EDim,
    Vertex,
)  # fmt: skip
from .precision import wpfloat

CellField = ff.Field[ff.Dims[Cell, K], wpfloat]
EdgeField = ff.Field[ff.Dims[Edge, K], wpfloat]
VertexField = ff.Field[ff.Dims[Vertex, K], wpfloat]
OfEdges = ff.Field[ff.Dims[Edge], wpfloat]
OfVertexEdges = ff.Field[ff.Dims[Vertex, V2EDim], wpfloat]
OfEdgeEnds = ff.Field[ff.Dims[Edge, E2VDim], wpfloat]
OfDiamonds = ff.Field[ff.Dims[Edge, E2C2VDim], wpfloat]
OfCellNeighbours = ff.Field[ff.Dims[Cell, C2E2CDim], wpfloat]


@ff.field_operator
def curl(vn: EdgeField, along_dual: OfVertexEdges) -> VertexField:
    """Circulation around a dual cell over its area: vorticity at the vertices."""
    return neighbor_sum(vn(V2E) * along_dual, axis=V2EDim)


@ff.field_operator
def along_edge(psi: VertexField, difference: OfEdgeEnds) -> EdgeField:
    """Differentiate along the edge, from its two ends."""
    return neighbor_sum(psi(E2V) * difference, axis=E2VDim)


@ff.field_operator
def curl_of_curl(vn: EdgeField, along_dual: OfVertexEdges, difference: OfEdgeEnds) -> EdgeField:
    """Return the rotational part of the Laplacian of the wind."""
    return along_edge(curl(vn, along_dual), difference)


@ff.program
def nabla2(vn: EdgeField, along_dual: OfVertexEdges, difference: OfEdgeEnds, out: EdgeField):
    """Write the curl of the curl of `vn`: edges to vertices and back."""
    curl_of_curl(vn, along_dual, difference, out=out)


@ff.field_operator
def fourth_difference(
    u: VertexField,
    v: VertexField,
    laplacian: EdgeField,
    normal_u: OfDiamonds,
    normal_v: OfDiamonds,
    per_length: OfEdges,
    per_height: OfEdges,
) -> EdgeField:
    """Laplacian of a Laplacian on the diamond around an edge, in the direction of its normal.

    The wind at the four corners is projected on the normal; along the edge and across it the
    second difference is twice the mean of two corners minus the middle.
    """
    first = u(E2C2V[0]) * normal_u[E2C2VDim(0)] + v(E2C2V[0]) * normal_v[E2C2VDim(0)]
    second = u(E2C2V[1]) * normal_u[E2C2VDim(1)] + v(E2C2V[1]) * normal_v[E2C2VDim(1)]
    right = u(E2C2V[2]) * normal_u[E2C2VDim(2)] + v(E2C2V[2]) * normal_v[E2C2VDim(2)]
    left = u(E2C2V[3]) * normal_u[E2C2VDim(3)] + v(E2C2V[3]) * normal_v[E2C2VDim(3)]
    twice = wpfloat(2.0) * laplacian
    along = (first + second - twice) * (per_length * per_length)
    across = (right + left - twice) * (per_height * per_height)
    return wpfloat(4.0) * (along + across)


@ff.program
def nabla4(
    u: VertexField,
    v: VertexField,
    laplacian: EdgeField,
    normal_u: OfDiamonds,
    normal_v: OfDiamonds,
    per_length: OfEdges,
    per_height: OfEdges,
    out: EdgeField,
):
    """Write the fourth difference of the wind, of which `laplacian` is the second."""
    fourth_difference(u, v, laplacian, normal_u, normal_v, per_length, per_height, out=out)


@ff.field_operator
def least_squares(
    psi: CellField, east: OfCellNeighbours, north: OfCellNeighbours
) -> tuple[CellField, CellField]:
    """Components of the gradient which fits the differences to the three neighbours best."""
    rise = psi(C2E2C) - psi
    return neighbor_sum(rise * east, axis=C2E2CDim), neighbor_sum(rise * north, axis=C2E2CDim)


@ff.program
def gradient(
    psi: CellField,
    east: OfCellNeighbours,
    north: OfCellNeighbours,
    psi_east: CellField,
    psi_north: CellField,
):
    """Write both components of the gradient of `psi` in one pass over the cells."""
    least_squares(psi, east, north, out=(psi_east, psi_north))
