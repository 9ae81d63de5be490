"""The ends of rows: the last strip overlaps the one before where points may be computed twice."""

import re

import numpy as np
import pytest

import fieldforge as ff

from .....dimensions import I, J, Plane

ROWS = 3
LENGTHS = (1, 3, 4, 7, 8, 9, 15, 16, 17, 31)


@ff.field_operator
def grown(u: Plane) -> Plane:
    return 2.0 * u + 1.0


@ff.field_operator
def differences(u: Plane) -> Plane:
    return u(I + 1) - 2.0 * u + u(J + 1)


@ff.program
def grow(u: Plane, out: Plane, n: ff.int32):
    grown(u, out=out, domain={I: (0, n), J: (0, ROWS)})


@ff.program
def grow_in_place(u: Plane, n: ff.int32):
    grown(u, out=u, domain={I: (0, n), J: (0, ROWS)})


@ff.program
def differ(u: Plane, out: Plane, n: ff.int32):
    differences(u, out=out, domain={I: (0, n), J: (0, ROWS)})


def backend(**options):
    return ff.cpu.with_options(parallel_from=1, **options)


def again(program, **options) -> str:
    """Return the test that a row may end with a strip that overlaps the one before."""
    source = program.with_backend(backend(**options)).trace(until="codegen")["codegen"].text
    (test,) = re.findall(r"const bool again = (.*);", source)
    return test


def plane(n: int) -> np.ndarray:
    """Make room for a point more in each direction, with a number that no program may change."""
    return np.random.default_rng(n).integers(-9, 9, (n + 1, ROWS + 1)).astype(float)


def field(values: np.ndarray):
    return ff.as_field((I, J), values, allocator=ff.cpu)


def test_the_tests_say_where_points_may_be_computed_twice() -> None:
    assert re.fullmatch(r"!past && n\d+ - b >= \d+ && p1 != p0", again(grow))
    assert re.fullmatch(r"n\d+ - b >= \d+ && p1 != p0", again(grow, stream_from=0))
    assert again(grow_in_place) == "false"


@pytest.mark.needs_compiler
@pytest.mark.parametrize("stream_from", [0, 1, None])
def test_rows_of_any_length_are_computed_and_no_point_beyond(stream_from) -> None:
    chosen = differ.with_backend(backend(stream_from=stream_from))
    for n in LENGTHS:
        u, out = plane(n), np.full((n + 1, ROWS + 1), 7.0)
        expected = out.copy()
        expected[:n, :ROWS] = u[1:, :ROWS] - 2.0 * u[:n, :ROWS] + u[:n, 1:]
        result = field(out)

        chosen(field(u), result, n)

        np.testing.assert_array_equal(result.asnumpy(), expected)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("in_place", [False, True], ids=["one field twice", "in place"])
def test_no_point_is_computed_twice_from_its_own_result(in_place) -> None:
    chosen = (grow_in_place if in_place else grow).with_backend(backend())
    for n in LENGTHS:
        u = plane(n)
        expected = u.copy()
        expected[:n, :ROWS] = 2.0 * u[:n, :ROWS] + 1.0
        given = field(u)

        chosen(*([given] if in_place else [given, given]), n)

        np.testing.assert_array_equal(given.asnumpy(), expected)


@pytest.mark.needs_compiler
def test_checked_rows_end_as_others_do() -> None:
    chosen = differ.with_backend(backend(checked=True))
    for n in LENGTHS:
        u, out = plane(n), field(np.zeros((n + 1, ROWS + 1)))
        chosen(field(u), out, n)
        expected = u[1:, :ROWS] - 2.0 * u[:n, :ROWS] + u[:n, 1:]
        np.testing.assert_array_equal(out.asnumpy()[:n, :ROWS], expected)
