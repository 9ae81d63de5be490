"""Scans whose loads land, and long columns: the bits of the CPU at every length."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import astype, float32, float64
from fieldforge.experimental import concat_where
from fieldforge.stages.gpu_target import GpuTarget
from fieldforge.stages.sizes import ThreadBlock
from fieldforge.workflows.backends.backend import BACKENDS

from ....dimensions import I, J, K, Levels
from ....selection import not_optimised

HOST, CPU = (not_optimised(BACKENDS[name]) for name in ("gpu-host", "cpu"))
Singles = ff.Field[ff.Dims[I, J, K], float32]


@ff.scan_operator(axis=K, forward=True, init=(float64(0.5), float32(0.25)))
def down(
    above: tuple[float64, float32], a: float64, b: float64, c: float32
) -> tuple[float64, float32]:
    x, y = above
    return a / (b + x * a), c + y * astype(a, float32)


@ff.scan_operator(axis=K, forward=False, init=float64(1.0))
def up(below: float64, x: float64, y: float32, a: float64) -> float64:
    return x - astype(y, float64) * below + a


@ff.scan_operator(axis=K, forward=False, init=float64(0.0))
def again(below: float64, x: float64, a: float64, c: float32) -> float64:
    return x * below - a * astype(c, float64)


@ff.field_operator
def swept(a: Levels, b: Levels, c: Singles) -> tuple[Levels, Levels]:
    beside = concat_where(K > 1, a(K - 1) + b(I + 1), b)
    x, y = down(a, beside, c)
    return up(x, y, a), again(x, a, c)


@ff.program
def sweep(a: Levels, b: Levels, c: Singles, out: Levels, other: Levels):
    swept(a, b, c, out=(out, other))


def small(memory: int) -> GpuTarget:
    return GpuTarget("sm_90", block_memory=memory, shared_memory=200_000)


OPTIONS = [
    {},
    {"land": 16, "column_block": ThreadBlock(x=4)},
    {"land": 4, "ahead": 2, "column_block": ThreadBlock(x=3)},
    {"land": -1, "ahead": 2, "column_block": ThreadBlock(x=3), "target": small(400)},
    {"land": 2, "ahead": 1, "column_block": ThreadBlock(x=4), "target": small(700)},
    {"blocked": False, "ahead": 2, "column_block": ThreadBlock(x=3), "target": small(400)},
]


def fields(levels: int) -> list[ff.Field]:
    """Return the arguments, the two outputs last."""
    numbers = np.random.default_rng(levels)
    shape = (5, 2, levels)
    core = {I: 5, J: (1, 3), K: (-1, levels - 1)}
    return [
        ff.as_field(core, numbers.uniform(1, 2, shape)),
        ff.as_field({**core, I: 6}, numbers.uniform(2, 3, (6, 2, levels))),
        ff.as_field(core, numbers.uniform(0, 1, shape).astype(np.float32)),
        *(ff.as_field(core, np.full(shape, np.nan)) for _ in range(2)),
    ]


@pytest.mark.needs_compiler
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_columns_of_every_length_have_the_bits_of_the_cpu(options: dict[str, object]) -> None:
    host = sweep.with_backend(HOST.with_options(**options))
    for levels in (1, 2, 3, 7, 8, 16, 17, 41):
        found = []
        for program in (sweep.with_backend(CPU), host):
            given = fields(levels)
            program(*given)
            found.append([out.asnumpy() for out in given[3:]])
        for one, two in zip(*found, strict=True):
            assert (one == two).all(), levels


def test_these_scans_land_and_long_columns_go_through_memory() -> None:
    program = sweep.with_backend(HOST.with_options(**OPTIONS[1]))
    made = program.trace(*fields(7), until="codegen")["codegen"].artifacts["generated"]
    assert "16 levels of a to @5, c to stay on their way" in made.loops
    assert "ff::async_copy<1>(h0, " in made.source
    assert "h0[kept(i2)]" in made.source


@pytest.mark.needs_compiler
def test_an_input_that_stays_may_be_the_memory_of_an_output() -> None:
    found = []
    for backend in (CPU, HOST.with_options(**OPTIONS[1])):
        a, b, c, out, _ = fields(19)
        sweep.with_backend(backend)(a, b, c, out, a)
        found += [out.asnumpy(), a.asnumpy()]
    assert (found[0] == found[2]).all()
    assert (found[1] == found[3]).all()
