"""Heat on triangles: a quarter of a ring, with arcs held at two temperatures and insulated sides.

Temperatures lie on the vertices. Heat flows along edges; the weight of an edge is the mean of the
cotangents of the angles opposite to it, which makes linear temperatures exact (finite elements
with a lumped mass). An edge at the rim has one cell, so nothing flows through the rim by itself:
that is the insulated boundary. A mask holds the vertices of the two arcs.

>>> ring = Ring.of(arcs=5, spokes=9)
>>> now = temperatures(ring, steps=2000)
>>> bool(abs(now - ring.steady()).max() < 0.01)
True
"""

from __future__ import annotations

from typing import Any, Final

import attrs
import numpy as np

import fieldforge as ff

Cell, Edge, Vertex = (ff.Dimension(name) for name in ("Cell", "Edge", "Vertex"))
E2VDim = ff.Dimension("E2V", ff.DimensionKind.LOCAL)
V2EDim = ff.Dimension("V2E", ff.DimensionKind.LOCAL)
E2V = ff.FieldOffset("E2V", source=Vertex, target=(Edge, E2VDim))
V2E = ff.FieldOffset("V2E", source=Edge, target=(Vertex, V2EDim))

Vertices = ff.Field[ff.Dims[Vertex], ff.float64]
Edges = ff.Field[ff.Dims[Edge], ff.float64]
Signs = ff.Field[ff.Dims[Vertex, V2EDim], ff.float64]
Mask = ff.Field[ff.Dims[Vertex], bool]

INSIDE, OUTSIDE = 1.0, 2.0  # radii
HOT: Final = 1.0


@ff.field_operator
def flux(t: Vertices, weight: Edges) -> Edges:
    """Return the heat that flows along each edge, from its first end to its second."""
    return weight * (t(E2V[0]) - t(E2V[1]))


@ff.field_operator
def heated(
    t: Vertices, weight: Edges, sign: Signs, area: Vertices, is_held: Mask, dt: ff.float64
) -> Vertices:
    """Return the temperatures after a step; those of held vertices stay."""
    gain = ff.neighbor_sum(sign * flux(t, weight)(V2E), axis=V2EDim)
    return ff.where(is_held, t, t + dt / area * gain)


@ff.program(backend=ff.cpu)
def step(
    now: Vertices,
    new: Vertices,
    weight: Edges,
    sign: Signs,
    area: Vertices,
    is_held: Mask,
    dt: ff.float64,
):
    """Make one step of the explicit Euler method."""
    heated(now, weight, sign, area, is_held, dt, out=new)


@attrs.frozen(eq=False)
class Ring:
    """A quarter of a ring between two arcs, cut into triangles, with its geometry as fields."""

    mesh: ff.Mesh
    weight: Any
    sign: Any
    area: Any
    is_held: Any

    @classmethod
    def of(cls, arcs: int, spokes: int) -> Ring:
        """Make the mesh of `arcs` by `spokes` vertices and its geometry."""
        radius = np.linspace(INSIDE, OUTSIDE, arcs)
        angle = np.linspace(0.0, np.pi / 2, spokes)
        x, y = np.outer(radius, np.cos(angle)), np.outer(radius, np.sin(angle))
        number = np.arange(arcs * spokes).reshape(arcs, spokes)
        a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
        corners = np.concatenate(
            [np.stack(each, -1).reshape(-1, 3) for each in ((a, b, c), (a, c, d))]
        )
        mesh = ff.Mesh({"C2V": corners}, {"V": (x.ravel(), y.ravel())}).with_tables("C2E", "V2E")
        arc = np.hypot(*mesh.points["V"])
        held = np.isclose(arc, INSIDE) | np.isclose(arc, OUTSIDE)
        return cls(mesh, *_geometry(mesh), ff.as_field([Vertex], held))

    def provider(self) -> dict[str, Any]:
        """Return the neighbour tables of `step`."""
        return self.mesh.connectivities(E2V, V2E)

    def first(self) -> Any:
        """Return temperatures of a hot inner arc around a cold ring."""
        radius = np.hypot(*self.mesh.points["V"])
        return ff.as_field([Vertex], np.where(np.isclose(radius, INSIDE), HOT, 0.0))

    def steady(self) -> np.ndarray[Any, Any]:
        """Return the temperatures after a long time: the logarithm of the radius."""
        radius = np.hypot(*self.mesh.points["V"])
        return np.asarray(HOT * np.log(OUTSIDE / radius) / np.log(OUTSIDE / INSIDE))

    def longest_step(self) -> float:
        """Return a time step for which the method is stable (Gershgorin)."""
        leaving = np.bincount(self.mesh.tables["E2V"].ravel(), np.repeat(self.weight.asnumpy(), 2))
        return float(0.9 * (self.area.asnumpy() / leaving).min())


def temperatures(ring: Ring, steps: int, backend: Any = ff.cpu) -> np.ndarray[Any, Any]:
    """Return the temperatures on the vertices after some steps."""
    program, provider, dt = step.with_backend(backend), ring.provider(), ring.longest_step()
    now, new = ring.first(), ring.first()
    for _ in range(steps):
        program(now, new, ring.weight, ring.sign, ring.area, ring.is_held, dt,
                offset_provider=provider)  # fmt: skip
        now, new = new, now
    return np.asarray(now.asnumpy())


def _geometry(mesh: ff.Mesh) -> tuple[Any, Any, Any]:
    """Return weights of edges, signs of the edges of vertices, and areas around vertices."""
    place = np.stack(mesh.points["V"], axis=-1)
    corners, edges, ends = (mesh.tables[name] for name in ("C2V", "C2E", "E2V"))
    weight, area = np.zeros(len(ends)), np.zeros(len(place))
    for k in range(3):  # edge k joins corners k and k + 1; corner k + 2 is opposite
        far = place[corners[:, (k + 2) % 3]]
        one, two = place[corners[:, k]] - far, place[corners[:, (k + 1) % 3]] - far
        twice = np.abs(one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0])
        np.add.at(weight, edges[:, k], 0.5 * (one * two).sum(axis=1) / twice)
        np.add.at(area, corners[:, k], twice / 6)
    around = mesh.tables["V2E"]
    begins = ends[around, 0] == np.arange(len(around))[:, None]
    sign = np.where(around < 0, 0.0, np.where(begins, -1.0, 1.0))
    return (
        ff.as_field([Edge], weight),
        ff.as_field([Vertex, V2EDim], sign),
        ff.as_field([Vertex], area),
    )


def main() -> None:
    """Write `heat.nc`, which follows UGRID, and `heat.png`."""
    ring = Ring.of(arcs=17, spokes=33)
    t = ff.as_field([Vertex], temperatures(ring, steps=200))
    data = ring.mesh.to_xarray({"V": Vertex}, {"t": t.to_xarray("t", units="K")})
    data.to_netcdf("heat.nc")
    axes = t.plot(mesh=ring.mesh.triangles(), title="after 200 steps", units="K", cmap="magma")
    axes.figure.savefig("heat.png")


if __name__ == "__main__":
    main()
