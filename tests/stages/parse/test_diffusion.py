"""The printed tree of a horizontal diffusion with a limiter: four operators and a program."""

from pathlib import Path

import numpy as np
import pytest

from fieldforge.runtime.embedded.builtins import where
from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.language.capture import capture
from fieldforge.stages.parse.stage import Parse
from fieldforge.stages.parse.trees import parse_all

from ...dimensions import I, J, K
from .conftest import Decorated

Field3D = Field[[I, J, K], np.float64]
GOLDEN = Path(__file__).parent / "goldens" / "diffusion.txt"


def operator(function):
    """Decorate an operator, as far as `parse` is concerned."""
    return Decorated(capture(function, "field_operator"))


@operator
def laplacian(u: Field3D) -> Field3D:
    """Sum the differences to the four neighbours."""
    return 4.0 * u - (u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1))


@operator
def flux_x(u: Field3D, lap: Field3D) -> Field3D:
    """Limit the flux: it must not go up the gradient."""
    flux = lap(I + 1) - lap
    return where(flux * (u(I + 1) - u) > 0.0, 0.0, flux)


@operator
def flux_y(u: Field3D, lap: Field3D) -> Field3D:
    """Limit the flux: it must not go up the gradient."""
    flux = lap(J + 1) - lap
    return where(flux * (u(J + 1) - u) > 0.0, 0.0, flux)


@operator
def diffusion(u: Field3D, coeff: Field3D) -> Field3D:
    """Take away the divergence of the limited fluxes."""
    lap = laplacian(u)
    flx, fly = flux_x(u, lap), flux_y(u, lap=lap)
    return u - coeff * (flx - flx(I - 1) + fly - fly(J - 1))


def diffuse(u: Field3D, coeff: Field3D, out: Field3D, nx: np.int32, ny: np.int32, nz: np.int32):
    """Write one step on the inner points."""
    diffusion(u, coeff, out=out, domain={I: (2, nx - 2), J: (2, ny - 2), K: (0, nz)})


@pytest.fixture
def parsed():
    return parse_all(capture(diffuse, "program"))["parsed"]


def test_the_tree_reads_as_the_program_that_was_written(parsed):
    assert parsed.text + "\n" == GOLDEN.read_text()


def test_the_tree_comes_back_from_its_file(parsed):
    assert type(parsed).from_files(parsed.files()) == parsed


def test_the_stage_reads_the_operators_below_it_too():
    found = Parse().run(definition=diffusion.__definition__)["parsed"]

    names = [operator.name for _, operator in found.operators]
    assert names == ["flux_x", "flux_y", "laplacian"]
