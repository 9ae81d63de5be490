"""Sweeps: which recurrences are one scan, where scans begin, and what they read."""

import numpy as np
import pytest

from .stencils import definition_of, interpreted, made

THOMAS = """
def s(lower: F, diagonal: F, upper: F, right: F, x: F):
    with computation(FORWARD):
        with interval(0, 1):
            pivot = diagonal
            ratio = upper / pivot
            reduced = right / pivot
        with interval(1, None):
            pivot = diagonal - lower * ratio[0, 0, -1]
            ratio = upper / pivot
            reduced = (right - lower * reduced[0, 0, -1]) / pivot
    with computation(BACKWARD):
        with interval(-1, None):
            x = reduced
        with interval(0, -1):
            x = reduced - ratio * x[0, 0, 1]
"""

TWO_SUMS = """
def s(a: F, b: F, x: F, y: F):
    with computation(FORWARD):
        with interval(0, 1):
            t = a
            u = b
        with interval(1, None):
            t = a + t[0, 0, -1]
            u = b + u[0, 0, -1]
    with computation(PARALLEL), interval(...):
        x = t[{offset}, 0, 0]
        y = u
"""


def text_of(text):
    return made(definition_of(text.replace("F,", "Field[float],").replace("F)", "Field[float])")))


def scans_of(text):
    lines = text_of(text).lowered.text.splitlines()
    return [line.split("=")[1].split("on")[0].strip() for line in lines if " = scan " in line]


def test_recurrences_of_a_block_are_one_scan_from_the_first_level_on():
    forward, backward = scans_of(THOMAS)

    assert forward.startswith("scan K forward 0 .. domain.K init")
    assert backward.startswith("scan K backward 0 .. domain.K init")


def test_what_only_a_level_itself_needs_is_no_state():
    forward, _ = scans_of(THOMAS)

    assert len(forward.partition("init ")[2].partition(" args")[0].split()) == 2


def test_a_tridiagonal_system_is_solved():
    random = np.random.default_rng(1)
    names = ("lower", "diagonal", "upper", "right", "x")
    given = {name: random.random((2, 3, 7)) + 4.0 * (name == "diagonal") for name in names}
    text = THOMAS.replace("F,", "Field[float],").replace("F)", "Field[float])")

    interpreted(text, given, (2, 3, 7))

    for i in range(2):
        for j in range(3):
            lower, diagonal, upper, right, x = (given[name][i, j] for name in names)
            matrix = np.diag(diagonal) + np.diag(lower[1:], -1) + np.diag(upper[:-1], 1)
            np.testing.assert_allclose(matrix @ x, right, rtol=1e-13)


@pytest.mark.parametrize(("offset", "count"), [(0, 1), (1, 2)])
def test_recurrences_of_different_extents_are_different_scans(offset, count):
    """Otherwise 'b' would be read where only 'a' has to be."""
    text = TWO_SUMS.replace("{offset}", str(offset))
    given = {name: np.ones((3 + (name == "a"), 1, 4)) for name in "abxy"}

    interpreted(
        text.replace("F,", "Field[float],").replace("F)", "Field[float])"), given, (3, 1, 4)
    )

    assert len(scans_of(text)) == count
    assert given["x"][2, 0].tolist() == given["y"][0, 0].tolist() == [1, 2, 3, 4]


def test_a_recurrence_that_needs_other_columns_of_another_is_a_scan_after_it():
    text = """
def s(a: Field[float], x: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            t = 0.0
            u = 0.0
        with interval(1, None):
            t = a + t[0, 0, -1]
            v = 2.0 * t
            u = u[0, 0, -1] + v[1, 0, 0] + 1.0
    with computation(PARALLEL), interval(...):
        x = u
"""
    given = {"a": np.ones((3, 1, 4)), "x": np.zeros((2, 1, 4))}

    interpreted(text, given, (2, 1, 4))

    assert given["x"][0, 0].tolist() == [0, 3, 8, 15]
    assert len(scans_of(text)) == 2


def test_what_two_recurrences_pass_on_is_in_their_scan():
    text = """
def s(a: Field[float], x: Field[float], y: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            t = a
            x = 0.0
        with interval(1, None):
            t = a + t[0, 0, -1]
            y = 10.0 * t
            x = x[0, 0, -1] + y
"""
    given = {name: np.full((1, 1, 4), float(name == "a")) for name in "axy"}

    interpreted(text, given, (1, 1, 4))

    assert given["x"][0, 0].tolist() == [0, 20, 50, 90]
    assert given["y"][0, 0].tolist() == [0, 20, 30, 40]
    assert len(scans_of(text)) == 1


@pytest.mark.parametrize("order", ["FORWARD", "BACKWARD"])
def test_the_old_value_of_an_output_that_nobody_reads_need_not_exist(order):
    """A level before the domain belongs to 'b' only."""
    step = -1 if order == "FORWARD" else 1
    text = f"""
def s(a: Field[float], b: Field[float]):
    with computation({order}), interval(...):
        a = b[0, 0, {step}] + 1.0
        b = a * 10.0
"""
    given = {"a": np.zeros((1, 1, 3)), "b": np.ones((1, 1, 4))}
    origin = {"b": (0, 0, int(step < 0))}

    interpreted(text, given, (1, 1, 3), origin)

    assert given["a"][0, 0].tolist() == [2, 21, 211][::-step]
    assert given["b"][0, 0].tolist() == [1, 20, 210, 2110][::-step]


def test_a_recurrence_in_a_region_reads_other_columns_for_the_region_only():
    text = """
def s(a: Field[float], c: Field[float]):
    with computation(FORWARD), interval(1, None):
        a = a[0, 0, -1] + 1.0
        with horizontal(region[I[0], :]):
            a = a + c[1, 0, 0]
"""
    given = {"a": np.zeros((3, 1, 3)), "c": np.full((3, 1, 3), 10.0)}

    interpreted(text, given, (3, 1, 3))

    assert given["a"][:, 0, 2].tolist() == [22, 2, 2]


def test_a_field_that_begins_with_the_second_level_is_read_from_there_on():
    text = """
def s(a: Field[float], b: Field[float], x: Field[float]):
    with computation(FORWARD):
        with interval(0, 1):
            x = a
        with interval(1, None):
            x = x[0, 0, -1] + b
"""
    given = {"a": np.ones((1, 1, 4)), "b": np.full((1, 1, 3), 2.0), "x": np.zeros((1, 1, 4))}

    interpreted(text, given, (1, 1, 4), {"b": (0, 0, -1)})

    assert given["x"][0, 0].tolist() == [1, 3, 5, 7]
