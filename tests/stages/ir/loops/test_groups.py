"""What follows from the fields of groups: whether a call runs them, and how large they are."""

import attrs
import pytest

from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.ir.bounds import Const, PatchOrder, Range
from fieldforge.stages.ir.loops.cpu import Portions
from fieldforge.stages.ir.loops.gpu import Columns, Patches
from fieldforge.stages.ir.loops.kernel import Seq
from fieldforge.stages.ir.loops.nest import Each, Nest, NestLoop

K = Dimension("K")
ORDER = PatchOrder(192, 24, 1 << 16, 150, ())
PATCHES = Patches(("@0",), ORDER, Const(1000), 16, 4, 256, 5, Seq())
PORTIONS = Portions(
    ("@0",), ORDER, Const(1000), Const(20), 8, 16, 1 << 20, Const(8 << 20), 64, ()
)  # fmt: skip


@pytest.mark.parametrize(("needed", "fits"), [(100, 1), (200, 1), (201, 0), (0, 1)])
def test_columns_fit_where_their_arrays_have_room(needed, fits):
    assert Columns((), 32, Const(needed), 200, ()).fits == Const(fits)


@pytest.mark.parametrize(
    ("start", "stop", "parts"), [(0, 16, 1), (0, 17, 2), (3, 19, 2), (4, 4, 0)]
)
def test_levels_of_a_patch_are_cut_from_a_multiple_of_a_threads_points_on(start, stop, parts):
    levels = NestLoop("thread", Range(K, Const(start), Const(stop)))
    nest = Nest(0, (levels,), (), "stores out")
    assert attrs.evolve(PATCHES, body=Each(0, nest)).parts == Const(parts)


def test_patches_need_lists_and_half_of_the_elements_of_the_tables():
    fits = str(PATCHES.fits).replace(str(PATCHES.patches), "n")

    assert fits == "mul(min(1, floordiv(2000, max(1, mul(n, 192)))), min(1, n))"


@pytest.mark.parametrize(("levels", "pitch"), [(-1, 0), (0, 0), (1, 16), (16, 16), (17, 32)])
def test_rows_of_portions_are_whole_lines_of_cache(levels, pitch):
    assert attrs.evolve(PORTIONS, levels=Const(levels)).pitch == Const(pitch)


def test_portions_need_lists_large_arrays_and_rows_that_fit():
    room, count = str(PORTIONS.room), str(PORTIONS.patches)
    fits = str(PORTIONS.fits).replace(room, "room").replace(count, "n")

    assert attrs.evolve(PORTIONS, least=1 << 30).fits == Const(0)
    assert "floordiv(1048576, max(1, room))" in fits
    assert "floordiv(8388608, max(1, room))" in fits
    assert "min(1, n)" in fits
