"""Meshes that many simulations share."""

import functools
from collections.abc import Iterator

import pytest

from fieldforge.examples.shallow_water import voronoi


@pytest.fixture(scope="session", autouse=True)
def _optimised_once() -> Iterator[None]:
    """Optimise the mesh of each level once; a simulation changes none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voronoi, "optimised", functools.cache(voronoi.optimised))
        yield
