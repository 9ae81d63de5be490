"""Halos: against NumPy's padding, which knows the same boundaries by other names."""

from __future__ import annotations

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError, DomainError

I, J = ff.Dimension("I"), ff.Dimension("J")
IW = ff.flip_staggered(I)
INTERIOR = {I: (2, 7), J: (-1, 3)}


def filled(boundaries, below=2, above=1):
    """Return a field with a halo after it was filled, and its interior before."""
    domain = {dim: (start - below, stop + above) for dim, (start, stop) in INTERIOR.items()}
    values = np.random.default_rng(0).random((5 + below + above, 4 + below + above))
    field = ff.as_field(domain, values)
    ff.fill_halo(field, INTERIOR, boundaries)
    return field.asnumpy(), values[below : 5 + below, below : 4 + below]


@pytest.mark.parametrize(
    ("boundary", "options"),
    [
        ("periodic", {"mode": "wrap"}),
        ("even", {"mode": "symmetric"}),
        (7.5, {"mode": "constant", "constant_values": 7.5}),
    ],
)
def test_halos_with_corners_are_those_of_numpy(boundary, options):
    found, interior = filled({I: boundary, J: boundary})
    np.testing.assert_array_equal(found, np.pad(interior, (2, 1), **options))


def test_an_odd_wall_changes_the_sign_and_a_corner_of_two_changes_it_back():
    found, interior = filled({I: "odd", J: "odd"})
    mirrored = np.pad(interior, (2, 1), mode="symmetric")
    np.testing.assert_array_equal(np.abs(found), mirrored)
    np.testing.assert_array_equal(found[:2, :2], mirrored[:2, :2])
    np.testing.assert_array_equal(found[:2, 2:-1], -mirrored[:2, 2:-1])


def test_each_dimension_has_its_own_boundary():
    found, interior = filled({I: "periodic", J: "even"})
    expected = np.pad(
        np.pad(interior, ((2, 1), (0, 0)), mode="wrap"), ((0, 0), (2, 1)), "symmetric"
    )
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("boundary", ["even", "odd"])
def test_faces_on_a_wall_are_the_mirror(boundary):
    faces = ff.as_field({IW: (-2, 7)}, np.arange(9.0))
    ff.fill_halo(faces, {IW: (0, 5)}, {IW: boundary})
    inner = np.arange(2.0, 7.0)
    if boundary == "odd":
        inner[[0, -1]] = 0.0
    expected = np.pad(inner, 2, mode="reflect", reflect_type=boundary)
    np.testing.assert_array_equal(faces.asnumpy(), expected)


def test_periodic_faces_are_as_many_as_cells():
    faces = ff.as_field({IW: (-1, 4)}, [9.0, 1.0, 2.0, 3.0, 9.0])
    ff.fill_halo(faces, {IW: (0, 3)}, {IW: "periodic"})
    np.testing.assert_array_equal(faces.asnumpy(), [3.0, 1.0, 2.0, 3.0, 1.0])


@pytest.mark.parametrize(
    ("interior", "boundaries", "error", "message"),
    [
        ({I: (2, 7)}, {J: "even"}, ArgumentError, "no range for dimension 'J'"),
        ({I: (2, 7)}, {I: "mirror"}, ArgumentError, "no boundary 'mirror'"),
        ({I: (2, 70)}, {I: "even"}, DomainError, "2 .. 70 is no part"),
        ({IW: (2, 7)}, {IW: "even"}, DomainError, "is no part"),
        ({I: (4, 5)}, {I: "periodic"}, DomainError, "has 4 rows, its interior 1"),
    ],
)
def test_what_cannot_be_filled_is_an_error(interior, boundaries, error, message):
    field = ff.zeros({I: (0, 8), J: (0, 3)})
    with pytest.raises(error, match=message):
        ff.fill_halo(field, interior, boundaries)
