"""The picture of the parts shows each cell once."""

import pytest

pytest.importorskip("matplotlib", reason="the picture is drawn by matplotlib")
from fieldforge.examples.shallow_water.draw_parts import figure_of
from fieldforge.examples.shallow_water.grid import voronoi_grid
from fieldforge.examples.shallow_water.model import parts_of
from fieldforge.examples.shallow_water.voronoi import optimised


def test_all_cells_are_drawn_and_the_ranges_of_a_rank_are_disjoint():
    grid = voronoi_grid(optimised(2), 1.0)
    parts = parts_of(grid, 3)

    above, below = figure_of(grid, parts, 1).axes

    assert sum(len(each.get_offsets()) for each in above.collections) == grid.cells
    ranges = [len(each.get_offsets()) for each in below.collections[1:]]
    assert sum(ranges) == len(next(iter(parts[1].points.values())).global_ids)
