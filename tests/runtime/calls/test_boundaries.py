"""Halos: against NumPy's padding, which knows the same boundaries by other names."""

import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.common import _field
from fieldforge.errors import ArgumentError, DomainError, ReadOnlyError

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
        ({I: (2, 70)}, {I: "even"}, DomainError, "interior is 2:70, but the field covers 0:8"),
        ({IW: (2, 7)}, {IW: "even"}, DomainError, "has no dimension 'I_staggered'"),
        ({I: (4, 5)}, {I: "periodic"}, DomainError, "has 4 rows, its interior 1"),
        ({I: (2, 7)}, {I: ("periodic", "even")}, ArgumentError, "no boundary"),
        ({I: (2, 7)}, {I: (1.0, 2.0, 3.0)}, ArgumentError, "no boundary"),
        ({I: (2, 7)}, {I: ("even", "number")}, ArgumentError, "no boundary"),
    ],
)
def test_what_cannot_be_filled_is_an_error(interior, boundaries, error, message):
    field = ff.zeros({I: (0, 8), J: (0, 3)})
    with pytest.raises(error, match=message):
        ff.fill_halo(field, interior, boundaries)


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_walls_of_any_number_and_layout(dtype, order):
    domain = {I: (0, 6), J: (-1, 7), IW: (0, 4)}
    values = np.random.default_rng(1).integers(-90, 90, (6, 8, 4)).astype(dtype, order=order)
    field = _field(values.copy(order), domain=domain)

    ff.fill_halo(field, {I: (2, 4), J: (1, 6)}, {J: ("odd", 3), I: "periodic"})

    inner = np.pad(values[2:4, 2:7], ((0, 0), (2, 0), (0, 0)), mode="symmetric")
    inner[:, :2] *= -1
    expected = np.pad(inner, ((0, 0), (0, 1), (0, 0)), constant_values=3)
    np.testing.assert_array_equal(
        field.asnumpy(), np.pad(expected, ((2, 2), (0, 0), (0, 0)), "wrap")
    )


def test_each_side_has_its_own_boundary_and_none_stays():
    field = ff.as_field({I: (-2, 5)}, np.arange(7.0))
    ff.fill_halo(field, {I: (0, 3)}, {I: (None, 9.0)})
    np.testing.assert_array_equal(field.asnumpy(), [0.0, 1.0, 2.0, 3.0, 4.0, 9.0, 9.0])
    ff.fill_halo(field, {I: [0, 3]}, {I: ("odd", None)})
    np.testing.assert_array_equal(field.asnumpy(), [-3.0, -2.0, 2.0, 3.0, 4.0, 9.0, 9.0])


def test_zeros_have_signs_and_nan_is_copied():
    field = ff.as_field({I: (-2, 3)}, [1.0, 1.0, 0.0, np.nan, 1.0])
    ff.fill_halo(field, {I: (0, 2)}, {I: ("odd", -0.0)})
    np.testing.assert_array_equal(field.asnumpy(), [np.nan, 0.0, 0.0, np.nan, 0.0])
    assert np.signbit(field.asnumpy()[[1, 4]]).all()


def test_recorded_steps_fill_halos_natively():
    first, second = (ff.as_field({I: (-1, 4)}, np.arange(5.0) * n) for n in (1, 10))
    lid = np.float64(7.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a step that runs in Python says so
        with ff.record(field=first, lid=lid) as step:
            ff.fill_halo(first, {I: (0, 3)}, {I: ("even", lid)})
        step(field=second, lid=np.float64(8.0))
        wider = ff.as_field({I: (-2, 4)}, np.arange(6.0))
    np.testing.assert_array_equal(first.asnumpy(), [1.0, 1.0, 2.0, 3.0, 7.0])
    np.testing.assert_array_equal(second.asnumpy(), [10.0, 10.0, 20.0, 30.0, 8.0])
    with pytest.warns(UserWarning, match="has no variant"):
        step(field=wider)
    np.testing.assert_array_equal(wider.asnumpy(), [3.0, 2.0, 2.0, 3.0, 4.0, 7.0])
    assert "fill_halo" in str(step)
    assert "fill_halo" in step._repr_html_()


def test_memory_that_cannot_be_written_is_refused():
    values = np.zeros(5)
    values.flags.writeable = False
    with pytest.raises(ReadOnlyError, match="'field' is written"):
        ff.fill_halo(_field(values, domain={I: (-1, 4)}), {I: (0, 3)}, {I: "even"})


@pytest.mark.parametrize("boundaries", ["periodic", {"I": "periodic"}, [I]])
def test_boundaries_that_are_not_by_dimension_are_refused(boundaries):
    with pytest.raises(ArgumentError, match="Expected the boundaries by dimension") as caught:
        ff.fill_halo(ff.zeros({I: (-1, 4)}), {I: (0, 3)}, boundaries)
    assert "{I: " in caught.value.hints[0]


def test_an_interior_that_is_no_range_is_shown_once_in_quotes():
    with pytest.raises(DomainError, match=r"or a length, got 'periodic'\."):
        ff.fill_halo(ff.zeros({I: (-1, 4)}), {I: "periodic"}, {I: "even"})


def test_objects_and_numbers_without_a_sign_are_refused():
    with pytest.raises(ArgumentError, match="Expected a field, got an object of type 'ndarray'"):
        ff.fill_halo(np.zeros(3), {I: (0, 3)}, {I: "even"})
    with pytest.raises(ArgumentError, match="'uint8' has none"):
        ff.fill_halo(ff.zeros({I: 3}, "uint8"), {I: (0, 3)}, {I: "odd"})
