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
