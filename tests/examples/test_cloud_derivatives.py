"""Tangent and adjoint of the cloud scheme pass the tests that the example prints."""

from itertools import pairwise

import pytest

from fieldforge.examples.cloud_derivatives import (
    Scheme,
    asymmetry,
    columns_of_air,
    main,
    moved_by,
    taylor,
)


@pytest.fixture(scope="module")
def air():
    return columns_of_air(count=4, levels=12)


@pytest.fixture(scope="module")
def scheme(air):
    return Scheme(air, "rows")


def test_what_the_tangent_leaves_over_falls_with_the_step(air, scheme):
    left = [share for _, share in taylor(scheme, moved_by(air), decades=6)]

    falls = [before / after for before, after in pairwise(left[2:])]
    assert left[2] < 1e-2
    assert falls == pytest.approx([10.0, 10.0, 10.0], rel=0.02)


def test_both_products_agree(air, scheme):
    assert asymmetry(scheme, moved_by(air)) < 50.0


def test_both_tests_are_printed(capsys):
    main(["--columns", "2", "--levels", "6", "--backend", "rows"], standalone_mode=False)

    told = capsys.readouterr().out.splitlines()
    assert told[0] == "Taylor: step, what the tangent leaves over"
    assert len(told) == 12
    assert told[-1].startswith("Symmetry: ")
