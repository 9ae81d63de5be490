"""The pictures of the pages are drawn by running the examples."""

import pytest

pytest.importorskip("matplotlib", reason="the pictures are drawn by matplotlib")
from generate.pictures import FOLDER, OF_BENCHES, PICTURES


@pytest.mark.parametrize(
    "name",
    [
        *("halo", "time_loop", "plate", "heat_on_sphere", "heat_on_triangles"),
        *("intervals", "extents", "regions"),
    ],
)
def test_pictures_can_be_drawn(name):
    assert PICTURES[name]().axes


def test_each_picture_is_committed_and_small():
    sizes = {path.stem: path.stat().st_size for path in FOLDER.glob("*.png")}
    assert set(sizes) == {*PICTURES, *OF_BENCHES}
    assert max(sizes.values()) < 200_000
