"""Boxes of one statement are one kernel: an inner one and its rims."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import int32
from fieldforge.experimental import concat_where

from ....dimensions import I, J, K, Plane

pytestmark = pytest.mark.needs_compiler

Box = ff.Field[[I, J, K], ff.float64]


@ff.field_operator
def walled(u: Plane, v: Plane, nx: int32, ny: int32) -> Plane:
    return concat_where(
        I < 1,
        1.0,
        concat_where(
            nx - 2 < I,
            2.0 * v,
            concat_where(J < 1, 3.0, concat_where(ny - 2 < J, v, u(I + 1) - u(I - 1) + u(J - 1))),
        ),
    )


@ff.program
def walls(u: Plane, v: Plane, out: Plane, nx: int32, ny: int32):
    walled(u, v, nx, ny, out=out, domain={I: (0, nx), J: (0, ny)})


@ff.field_operator
def layered(u: Box, lid: int32) -> Box:
    return concat_where(lid > K, u, concat_where(K > 40, 0.5 * u, u(I + 1) - u))


@ff.program
def layers(u: Box, out: Box, nx: int32, ny: int32, nz: int32, lid: int32):
    layered(u, lid, out=out, domain={I: (0, nx), J: (0, ny), K: (0, nz)})


def fields(dims, shape, names, seed=3):
    random = np.random.default_rng(seed)
    return {name: ff.as_field(dims, random.uniform(-1, 1, shape)) for name in names}


def launches(program):
    return program.with_backend(ff.gpu_host).trace()["bind"].text.count("launch ")


def test_walls_and_what_they_enclose_are_one_launch():
    assert launches(walls) == 1


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 3), (3, 3), (5, 40), (70, 33), (4, 260)])
def test_walls_of_every_shape_have_the_bits_of_the_interpreter(shape):
    found = {}
    for backend in (ff.reference, ff.gpu_host):
        given = fields((I, J), shape, ("u", "v", "out"))
        walls.with_backend(backend)(**given, nx=shape[0], ny=shape[1])
        found[backend.name] = given["out"].asnumpy()

    np.testing.assert_array_equal(found["gpu-host"], found["reference"])


@pytest.mark.parametrize(("levels", "lid"), [(60, 7), (60, 0), (60, 60), (41, 50), (20, 5)])
@pytest.mark.parametrize("block", [{}, {"block": ff.ThreadBlock(x=64)}])
def test_layers_have_the_bits_of_the_interpreter(levels, lid, block):
    found = {}
    for backend in (ff.reference, ff.gpu_host.with_options(**block)):
        u, out = (
            ff.as_field((I, J, K), np.random.default_rng(seed).uniform(size=(8 + more, 5, levels)))
            for seed, more in ((4, 1), (5, 0))
        )
        layers.with_backend(backend)(u, out, nx=8, ny=5, nz=levels, lid=lid)
        found[backend.name] = out.asnumpy()

    np.testing.assert_array_equal(found["gpu-host"], found["reference"])


def test_an_output_that_a_box_reads_keeps_its_launches_apart():
    @ff.field_operator
    def lifted(u: Plane) -> Plane:
        return concat_where(I < 1, u(I + 1), concat_where(I > 5, 2.0 * u, u(I - 1)))

    @ff.program
    def lift(u: Plane):
        lifted(u, out=u, domain={I: (0, 8), J: (0, 4)})

    found = {}
    for backend in (ff.reference, ff.gpu_host):
        given = fields((I, J), (9, 4), ("u",))
        lift.with_backend(backend)(**given)
        found[backend.name] = given["u"].asnumpy()

    np.testing.assert_array_equal(found["gpu-host"], found["reference"])
