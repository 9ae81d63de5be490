"""Several rows of a stencil at a time, and outputs past the caches: other loops, the same bits."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, astype, float32, float64, uint8, where
from fieldforge.examples.advection import limit_in_steps, step_upwind
from fieldforge.examples.diffusion import I, J, K, diffuse
from fieldforge.examples.laplacians import twenty_seven_points
from fieldforge.examples.shallow_water_cartesian import advance
from fieldforge.examples.terrain import smooth_step

pytestmark = pytest.mark.needs_compiler


@ff.field_operator
def steep(u: Field[Dims[I, J, K], float64]) -> Field[Dims[I, J, K], float64]:
    rise = u(J + 1) - u
    curved = where(rise * rise(I + 1) > 0.0, rise * rise, rise - rise(I - 1) * rise(I + 1))
    return curved + curved(J - 1) * curved(J + 1) - 0.5 * curved * curved(J - 1)


@ff.program
def in_place(u: Field[Dims[I, J, K], float64], first: ff.int32, last: ff.int32):
    steep(u, out=u, domain={I: (1, 7), J: (first, last), K: (0, 3)})


@ff.field_operator
def doubled(u: Field[Dims[I, J, K], float32]) -> Field[Dims[I, J, K], float32]:
    return u(K + 1) * float32(2.0)


@ff.program
def mixed(u: Field[Dims[I, J, K], float32], out: Field[Dims[I, J, K], float32]):
    doubled(u, out=out)


@pytest.mark.parametrize(
    ("program", "gains"),
    [
        (diffuse, True),
        (smooth_step, True),
        (twenty_seven_points, True),
        (step_upwind, True),
        (limit_in_steps, False),
        (advance, False),
    ],
)
def test_rows_are_together_only_where_that_saves_a_sixth_of_loads_and_operations(program, gains):
    loops = program.with_backend(ff.cpu).trace(until="codegen")["codegen"].loops
    assert ("4 rows of J at a time" in loops or "4 rows of I at a time" in loops) == gains


def backend(**options):
    return ff.cpu.with_options(numerics="strict", parallel_from=1, **options)


@pytest.mark.parametrize("rows", [1, 3, 4, 9])
def test_rows_that_are_left_are_computed_one_by_one(rows):
    numbers = np.random.default_rng(rows)
    u = ff.as_field(
        {I: (-2, 8), J: (-2, rows + 2), K: 3}, numbers.random((10, rows + 4, 3)), allocator=ff.cpu
    )
    coeff = ff.as_field({I: 6, J: rows, K: 3}, numbers.random((6, rows, 3)), allocator=ff.cpu)
    results = []
    for each in (ff.reference.with_options(numerics="strict"), backend()):
        out = ff.zeros({I: 6, J: rows, K: 3}, allocator=ff.cpu)
        program = diffuse.with_backend(each)
        program(u, coeff, out)
        results.append(out.asnumpy())

    np.testing.assert_array_equal(*results)
    loops = program.trace()["codegen"].loops
    assert "step 4" in loops
    assert "store out[0, 3, 0] %" in loops


@pytest.mark.parametrize("last", [1, 4, 12])
def test_rows_together_do_not_read_what_they_have_overwritten(last):
    results = []
    for each in (ff.reference.with_options(numerics="strict"), backend()):
        u = ff.as_field(
            (I, J, K), np.random.default_rng(3).random((10, 14, 3)) - 0.5, allocator=ff.cpu
        )
        in_place.with_backend(each)(u, np.int32(1), np.int32(last))
        results.append(u.asnumpy())

    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("columns", [1, 7, 16, 33, 300])
def test_rows_of_any_length_are_written_past_the_caches(columns):
    data = np.random.default_rng(columns).random((columns, 5, 4)).astype(np.float32)
    u = ff.as_field((I, J, K), data, allocator=ff.cpu)
    out = ff.full({I: columns, J: 5, K: 3}, 7.0, float32, allocator=ff.cpu)
    program = mixed.with_backend(backend(stream_from=1))

    program(u, out)

    np.testing.assert_array_equal(out.asnumpy(), data[:, :, 1:] * np.float32(2.0))
    assert " streams out " in program.trace()["codegen"].loops
    assert "stream(" in program.trace()["codegen"].text


@ff.field_operator
def told_apart(
    u: Field[Dims[I, J, K], float32],
) -> tuple[Field[Dims[I, J, K], float64], Field[Dims[I, J, K], bool], Field[Dims[I, J, K], uint8]]:
    return astype(u, float64) * 2.0, u > float32(0.5), astype(u * float32(9.0), uint8)


@ff.program
def of_all_sizes(
    u: Field[Dims[I, J, K], float32],
    real: Field[Dims[I, J, K], float64],
    flag: Field[Dims[I, J, K], bool],
    small: Field[Dims[I, J, K], uint8],
):
    told_apart(u, out=(real, flag, small))


@pytest.mark.parametrize("columns", [7, 16, 33, 300])
def test_elements_smaller_than_a_register_has_lanes_for_are_stored_beside_streams(columns):
    data = np.random.default_rng(columns).random((columns, 5, 4)).astype(np.float32)
    u = ff.as_field((I, J, K), data, allocator=ff.cpu)
    box = {I: columns, J: 5, K: 4}
    out = [ff.zeros(box, dtype, allocator=ff.cpu) for dtype in (float64, bool, uint8)]

    of_all_sizes.with_backend(backend(stream_from=1))(u, *out)

    np.testing.assert_array_equal(out[0].asnumpy(), data.astype(np.float64) * 2.0)
    np.testing.assert_array_equal(out[1].asnumpy(), data > 0.5)
    np.testing.assert_array_equal(out[2].asnumpy(), (data * np.float32(9.0)).astype(np.uint8))


def test_outputs_that_are_read_again_stay_in_cache():
    program = in_place.with_backend(backend(stream_from=1))
    assert " streams " not in program.trace(until="codegen")["codegen"].loops
