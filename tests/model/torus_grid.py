"""Write a small torus of equilateral triangles as an ICON grid file, so that none is downloaded."""

from pathlib import Path
from typing import Any

import numpy as np

# Corners, edges and neighbours of each vertex (i, j): rows with odd j are shifted by half an edge.


class Torus:
    """A plane grid of `nx` x `ny` vertices (`ny` even) that is periodic in both directions."""

    def __init__(self, nx: int, ny: int, length: float) -> None:
        if ny % 2 or min(nx, ny) < 4:
            raise ValueError("A torus needs an even number of rows, and 4 vertices each way.")
        self.nx, self.ny, self.length = nx, ny, length
        j, i = (each.ravel() for each in np.mgrid[0:ny, 0:nx])
        odd = j % 2
        self.at = np.stack([(i + 0.5 * odd) * length, j * self.height], axis=1)
        self.east, self.west = self._id(i + 1, j), self._id(i - 1, j)
        self.north_east, self.north_west = self._id(i + odd, j + 1), self._id(i + odd - 1, j + 1)
        self.south_east, self.south_west = self._id(i + odd, j - 1), self._id(i + odd - 1, j - 1)
        self.v = self._id(i, j)

    @property
    def height(self) -> float:
        """The distance of two rows."""
        return self.length * np.sqrt(3.0) / 2.0

    @property
    def size(self) -> tuple[float, float]:
        """Length and height of the domain."""
        return self.nx * self.length, self.ny * self.height

    def _id(self, i: Any, j: Any) -> Any:
        return (j % self.ny) * self.nx + i % self.nx

    def tables(self) -> dict[str, Any]:
        """Return the neighbour tables, counted from 0; neighbours go counterclockwise."""
        v = self.v
        up, down = 2 * v, 2 * v + 1  # the triangles east and north of a vertex
        flat, rising, falling = 3 * v, 3 * v + 1, 3 * v + 2  # its edges at 0, 60 and 120 degrees

        def woven(*rows: Any) -> Any:
            return np.stack(rows, axis=1).reshape(len(rows) * len(v), -1)

        c2v = woven(
            np.stack([v, self.east, self.north_east], axis=1),
            np.stack([v, self.north_east, self.north_west], axis=1),
        )
        c2e = woven(
            np.stack([flat, 3 * self.east + 2, rising], axis=1),
            np.stack([rising, 3 * self.north_west, falling], axis=1),
        )
        e2v = woven(
            np.stack([v, self.east], axis=1),
            np.stack([v, self.north_east], axis=1),
            np.stack([v, self.north_west], axis=1),
        )
        order = np.argsort(c2e.ravel(), kind="stable")
        e2c = (order // 3).reshape(-1, 2)
        both = e2c[c2e]
        own = np.arange(len(c2e))[:, None]
        c2e2c = np.where(both[:, :, 0] == own, both[:, :, 1], both[:, :, 0])
        west, low, right = self.west, self.south_west, self.south_east
        return {
            "C2V": c2v,
            "C2E": c2e,
            "C2E2C": c2e2c,
            "E2V": e2v,
            "E2C": e2c,
            "V2E": np.stack([flat, rising, falling, 3 * west, 3 * low + 1, 3 * right + 2], axis=1),
            "V2C": np.stack([up, down, 2 * west, 2 * low + 1, 2 * low, 2 * right + 1], axis=1),
            "V2E2V": np.stack(
                [self.east, self.north_east, self.north_west, west, low, right], axis=1
            ),
        }

    def nearest(self, vectors: Any) -> Any:
        """Return the shortest of the vectors that mean the same on the torus."""
        size = np.array(self.size)
        return vectors - size * np.round(vectors / size)

    def centres(self, corners: Any) -> Any:
        """Return the middle of the vertices in each row of a table."""
        first = self.at[corners[:, 0]]
        ways = self.nearest(self.at[corners] - first[:, None])
        return (first + ways.mean(axis=1)) % np.array(self.size)


def write_grid(path: Path, nx: int, ny: int, length: float) -> None:
    """Write what ICON4Py reads of a grid file."""
    from netCDF4 import Dataset

    torus = Torus(nx, ny, length)
    t = torus.tables()
    cells, edges = torus.centres(t["C2V"]), torus.centres(t["E2V"])
    normal = torus.nearest(cells[t["E2C"][:, 1]] - cells[t["E2C"][:, 0]])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    tangent = np.stack([-normal[:, 1], normal[:, 0]], axis=1)
    along = torus.nearest(torus.at[t["E2V"][:, 1]] - torus.at[t["E2V"][:, 0]])
    outwards = torus.nearest(edges[t["V2E"]] - torus.at[:, None])
    turning = np.einsum("vkd,vkd->vk", outwards, tangent[t["V2E"]])
    leaves = t["E2C"][t["C2E"]][:, :, 0] == np.arange(len(cells))[:, None]
    with Dataset(path, "w", format="NETCDF4") as file:
        places = {"vertex": torus.at, "edge": edges, "cell": cells}
        for name, size in (("nv", 3), ("ne", 6), ("nc", 2), ("no", 4)):
            file.createDimension(name, size)
        for name, at in places.items():
            file.createDimension(name, len(at))
        file.setncatts(
            {
                "title": "torus", "uuidOfHGrid": "6d7ba27e-9cd3-4a3a-a5f7-9ec0d8e6d4f3",
                "uuidOfParHGrid": "none", "number_of_grid_used": 0, "grid_root": 0,
                "grid_level": 0, "grid_geometry": np.int32(2), "grid_cell_type": np.int32(3),
                "domain_length": torus.size[0], "domain_height": torus.size[1],
                "mean_edge_length": length, "mean_dual_edge_length": length / np.sqrt(3.0),
                "mean_cell_area": np.sqrt(3.0) / 4.0 * length**2,
                "mean_dual_cell_area": np.sqrt(3.0) / 2.0 * length**2,
                "sphere_radius": 6.371229e6,
            }
        )  # fmt: skip

        def put(name: str, values: Any, *dims: str) -> None:
            values = np.asarray(values)
            file.createVariable(name, values.dtype, dims)[:] = values

        for name, key, dims in (
            ("vertex_of_cell", "C2V", ("nv", "cell")), ("edge_of_cell", "C2E", ("nv", "cell")),
            ("neighbor_cell_index", "C2E2C", ("nv", "cell")),
            ("edge_vertices", "E2V", ("nc", "edge")),
            ("adjacent_cell_of_edge", "E2C", ("nc", "edge")),
            ("edges_of_vertex", "V2E", ("ne", "vertex")),
            ("cells_of_vertex", "V2C", ("ne", "vertex")),
            ("vertices_of_vertex", "V2E2V", ("ne", "vertex")),
        ):  # fmt: skip
            put(name, (t[key].T + 1).astype(np.int32), *dims)
        for name, at, titles in (
            ("cell", cells, ("clon", "clat", "cell_circumcenter_cartesian_{}")),
            ("edge", edges, ("elon", "elat", "edge_middle_cartesian_{}")),
            ("vertex", torus.at, ("vlon", "vlat", "cartesian_{}_vertices")),
        ):
            put(titles[0], (at[:, 0] / torus.size[0] - 0.5) * 0.1, name)
            put(titles[1], (at[:, 1] / torus.size[1] - 0.5) * 0.1, name)
            for axis, values in zip("xyz", (at[:, 0], at[:, 1], 0.0 * at[:, 0]), strict=True):
                put(titles[2].format(axis), values, name)
            put(f"refin_{name[0]}_ctrl", np.zeros(len(at), np.int32), name)
        ones = np.ones(len(edges))
        put("cell_area", np.full(len(cells), np.sqrt(3.0) / 4.0 * length**2), "cell")
        put("dual_area", np.full(len(torus.at), np.sqrt(3.0) / 2.0 * length**2), "vertex")
        put("edge_length", length * ones, "edge")
        put("dual_edge_length", length / np.sqrt(3.0) * ones, "edge")
        put("edge_cell_distance", np.stack([length / np.sqrt(12.0) * ones] * 2), "nc", "edge")
        put("edge_vert_distance", np.stack([length / 2.0 * ones] * 2), "nc", "edge")
        put("edge_system_orientation", np.sign(np.einsum("ed,ed->e", along, tangent)), "edge")
        put("orientation_of_normal", np.where(leaves, 1.0, -1.0).T, "nv", "cell")
        put("edge_orientation", np.where(turning < 0.0, 1, -1).T.astype(np.int32), "ne", "vertex")
        for name, vectors in (("primal", normal), ("dual", tangent)):
            columns = (vectors[:, 0], vectors[:, 1], 0.0 * ones)
            for axis, values in zip("xyz", columns, strict=True):
                put(f"edge_{name}_normal_cartesian_{axis}", values, "edge")
