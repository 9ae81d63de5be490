"""Rows that begin inside of a line: their ends, and whole lines that are stored past the caches."""

import re

import numpy as np
import pytest

import fieldforge as ff

from .....dimensions import I, J, Plane

N, ROWS = 70, 9
Narrow = ff.Field[ff.Dims[I, J], ff.float32]


@ff.field_operator
def differences(u: Plane) -> Plane:
    return u(I + 1) - 2.0 * u + u(J + 1)


@ff.program
def differ(u: Plane, out: Plane):
    differences(u, out=out)


@ff.field_operator
def both(u: Plane) -> tuple[Plane, Plane]:
    return 2.0 * u, u(I + 1) - u


@ff.program
def write_both(u: Plane, double: Plane, rise: Plane):
    both(u, out=(double, rise))


@ff.field_operator
def exponential(u: Plane) -> Plane:
    return ff.exp(u)


@ff.program
def grow(u: Plane, out: Plane):
    exponential(u, out=out)


@ff.field_operator
def halved(u: Narrow) -> Narrow:
    return ff.float32(0.5) * u


@ff.program
def halve(u: Narrow, out: Narrow):
    halved(u, out=out)


def streaming(**options):
    """Return a backend whose calls all store past the caches."""
    return ff.cpu.with_options(parallel_from=1, stream_from=1, **options)


def text(program, **options) -> str:
    chosen = program.with_backend(streaming(target="x86-64-v3", **options))
    return chosen.trace(until="codegen")["codegen"].text


def numbers(dtype=float) -> np.ndarray:
    return np.random.default_rng(3).integers(-9, 9, (N + 1, ROWS + 1)).astype(dtype)


def inside(halo: int, length: int, dtype=ff.float64):
    """Return a field of sevens with a halo along I, and a view of what lies inside of the halo."""
    whole = ff.full({I: (-halo, length + halo), J: ROWS}, 7.0, dtype, allocator=ff.cpu)
    return whole, whole[I(0) : I(length)]


def assert_only_inside(whole, expected: np.ndarray) -> None:
    given = whole.asnumpy()
    halo = (len(given) - len(expected)) // 2
    np.testing.assert_array_equal(given[halo : halo + len(expected)], expected)
    np.testing.assert_array_equal(np.delete(given, range(halo, halo + len(expected)), axis=0), 7.0)


def test_rows_of_the_same_pitch_are_streamed_from_their_first_line_on() -> None:
    source = text(differ)

    (test,) = re.findall(r"const bool past = (.*);", source)
    alike = r" >= 1 && \(n\d & 7\) == 0 && "
    long = r"\((n\d - b - head) == 4 \|\| \1 >= 8\) && "
    assert re.search(alike + long + r"\(\(s64\)\(r(\d) \+ b \+ head\) & 63\) == 0$", test), test
    assert re.search(r"const s64 head = \(-\(s64\)\(r\d \+ b\) & 63\) / 8;", source)
    # the ends of a row two rows later
    assert re.search(r"if \(past && head\) \{ ask<3>\(r\d \+ 2 \* n\d \+ b - 1\); \}", source)
    assert re.search(r"% 4\) \{ ask<3>\(r\d \+ 2 \* n\d \+ n\d - 1\); \}", source)


def test_ends_are_not_asked_for_where_the_option_says_so() -> None:
    assert "ask<" not in text(differ, prefetch=False)
    assert "masked(strip, b, earlier(4, line - b)" in text(differ, prefetch=False)


def test_points_that_are_functions_are_streamed_where_all_rows_begin_with_a_line() -> None:
    assert re.search(r"const bool past = .* && head == 0 && ", text(grow))
    assert "line - b" not in text(grow)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("halo", range(9))
@pytest.mark.parametrize("length", [1, 5, 8, 13, 16, 23, 40, 64, 70])
def test_rows_that_begin_anywhere_are_written_and_nothing_around_them(halo, length) -> None:
    u, (whole, out) = numbers(), inside(halo, length)
    expected = u[1:, :ROWS] - 2.0 * u[:N, :ROWS] + u[:N, 1:]

    differ.with_backend(streaming())(ff.as_field((I, J), u, allocator=ff.cpu), out)

    assert_only_inside(whole, expected[:length])


@pytest.mark.needs_compiler
@pytest.mark.parametrize("halos", [(0, 0), (3, 3), (3, 11), (1, 2), (0, 5)])
def test_two_results_may_begin_at_different_places_of_a_line(halos) -> None:
    u = numbers()
    (all_double, double), (all_rise, rise) = (inside(halo, N) for halo in halos)

    write_both.with_backend(streaming())(ff.as_field((I, J), u, allocator=ff.cpu), double, rise)

    assert_only_inside(all_double, 2.0 * u[:N, :ROWS])
    assert_only_inside(all_rise, u[1:, :ROWS] - u[:N, :ROWS])


@pytest.mark.needs_compiler
@pytest.mark.parametrize("halo", [0, 1, 7, 9, 15])
def test_narrow_numbers_have_longer_heads(halo) -> None:
    u, (whole, out) = numbers(np.float32), inside(halo, N, ff.float32)

    halve.with_backend(streaming())(ff.as_field((I, J), u, allocator=ff.cpu), out)

    assert_only_inside(whole, np.float32(0.5) * u[:N, :ROWS])
