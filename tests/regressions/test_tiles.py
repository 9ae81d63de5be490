"""Tiles: nests that hand arrays to each other, found by generated programs."""

import attrs
import numpy as np
import pytest

import fieldforge as ff
from fieldforge import (
    Dims,
    Field,
    astype,
    broadcast,
    float32,
    float64,
    fmod,
    int32,
    maximum,
    uint32,
)  # fmt: skip
from fieldforge.experimental import concat_where
from fieldforge.stages.target import Target

from ..dimensions import I, J, K
from .executions import agree, all_values

Column = Field[Dims[I, K], float64]
SMALL = attrs.evolve(Target.host(), l2=2048)


@ff.field_operator
def branches(
    a0: Field[Dims[J], float32],
    a1: Field[Dims[I], float64],
    a2: float64,
    a4: Field[Dims[I, J], float32],
    a5: uint32,
) -> tuple[Field[Dims[I, J], float32], Field[Dims[I], float64]]:
    if a2 != 1.0:
        return a4, broadcast(astype(a5, float64), (I,))
    return concat_where(J > 1, fmod(float32(3.25) - a0, broadcast(float32(0.0), (I,))), a0), a1


@ff.program
def in_place(
    f0: Field[Dims[I, J], float32],
    f1: Field[Dims[I], float64],
    f2: Field[Dims[J], float32],
    s0: float64,
    s1: uint32,
    s3: int32,
):
    branches(f2, f1, s0, f0, s1, out=(f0, f1), domain=({I: (1, 3), J: (s3 + 1, 2)}, {I: (0, 3)}))


def run(backend, s0):
    f0 = ff.as_field({I: (1, 5), J: (-3, 4)}, np.arange(28.0, dtype=float32).reshape(4, 7))
    f1 = ff.as_field({I: (-1, 3)}, np.arange(4.0))
    f2 = ff.as_field({J: (0, 2)}, np.array([1.5, 2.5], dtype=float32))
    program = in_place.with_backend(backend)
    program(f0, f1, f2, s0, uint32(7), int32(-1))
    return program, (f0.asnumpy(), f1.asnumpy())


@pytest.mark.needs_compiler
@pytest.mark.parametrize("s0", [1.0, 3.25])
def test_nests_that_store_nothing_of_their_own_are_no_tiles(s0):
    strict = ff.cpu.with_options(numerics="strict", target=SMALL)
    program, meant = run(strict, s0)

    _, given = run(strict.with_options(arrays=all_values(program)), s0)

    for ours, theirs in zip(given, meant, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@ff.field_operator
def ratios(u: Column) -> Column:
    squares = (u * u)(I - 2)
    ratio = maximum(1.5, u) / u(K - 2) / concat_where(K >= 2, squares, squares + u)
    return ratio(K + 1)


@ff.program
def rows_in_turn(u: Column, out: Column):
    ratios(u, out=out)


@pytest.mark.needs_compiler
def test_arrays_of_rows_in_turn_have_memory_of_their_own():
    domain = {I: (-4, 8), K: (-2, 5)}
    u = ff.as_field(ff.domain(domain), np.random.default_rng(7).uniform(1.0, 9.0, (12, 7)))

    def made_by(backend):
        out = ff.zeros({I: (-2, 8), K: (0, 2)})
        program = rows_in_turn.with_backend(backend)
        program = program.with_compilation_options(static_domains=True)  # then sides are numbers
        program(u, out)
        return program, (u, out)

    strict = ff.cpu.with_options(numerics="strict")
    program, args = made_by(strict)
    arrays = all_values(program, *args)

    _, (_, given) = made_by(strict.with_options(arrays=arrays))

    np.testing.assert_array_equal(given.asnumpy(), args[1].asnumpy())


@ff.field_operator
def far_before(u: Field[Dims[I, J], float64]) -> Field[Dims[I, J], float64]:
    return ((u * u) / u(J - 3))(J - 5)


@pytest.mark.needs_compiler
def test_a_margin_too_wide_for_a_run_of_nests_ends_it():
    """The nest before the one with the wide margin had none, and read outside its array."""

    @ff.program(backend=None)
    def run(u: Field[Dims[I, J], float64], out: Field[Dims[I, J], float64]):
        far_before(u, out=out)

    given = {
        "u": ff.as_field({I: 40, J: (-8, 70)}, np.arange(1.0, 40 * 78 + 1.0).reshape(40, 78)),
        "out": ff.zeros({I: 40, J: (0, 70)}),
    }

    agree(run, given, ff.cpu.with_options(arrays=all_values(run, **given)))
