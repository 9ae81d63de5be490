"""Fields become xarray's arrays and come back; programs take such arrays where dimensions match."""

import numpy as np
import pytest

import fieldforge as ff

from ...dimensions import I, J, K, Plane

xr = pytest.importorskip("xarray", reason="the extra 'xarray' is not installed")

IHalf = ff.flip_staggered(I)


@ff.field_operator
def rise(u: Plane) -> Plane:
    return u(I + 1) - u(J - 1)


@ff.program
def climb(u: Plane, out: Plane):
    rise(u, out=out)


def numbers(*shape):
    return np.random.default_rng(2).random(shape)


def test_a_field_becomes_an_array_with_its_indices_and_units():
    field = ff.as_field(ff.domain({I: (-1, 3), K: 2}), numbers(4, 2))
    array = field.to_xarray("t", units="K", attrs={"long_name": "temperature"})
    assert array.dims == ("I", "K")
    assert array.name == "t"
    assert array.attrs == {"long_name": "temperature", "units": "K"}
    assert array["I"].values.tolist() == [-1, 0, 1, 2]
    assert array["K"].attrs["axis"] == "Z"
    array[0, 0] = 7.0
    assert field.asnumpy()[0, 0] == 7.0, "they share their memory"


@pytest.mark.parametrize("dims", [(), (I, K)])
@pytest.mark.parametrize("first", [I, IHalf])
def test_it_comes_back(dims, first):
    field = ff.as_field(ff.domain({first: (-1, 3), K: (5, 7)}), numbers(4, 2))
    if first is IHalf and dims:
        dims = (IHalf, K)
    again = ff.from_xarray(field.to_xarray(), *dims)
    assert again.domain == field.domain
    np.testing.assert_array_equal(again.asnumpy(), field.asnumpy())


def test_it_comes_back_from_a_file_with_coordinates_of_the_world(tmp_path):
    pytest.importorskip("netCDF4", reason="netCDF4 is not installed")
    field = ff.as_field(ff.domain({IHalf: (-1, 3), J: 2}), numbers(4, 2))
    lon = np.array([3.0, 3.5, 4.0, 4.5])
    array = field.to_xarray("u", coords={IHalf: lon, "time": 4.0}, units="m s-1")
    assert array["I_staggered"].values.tolist() == lon.tolist()
    array.to_dataset().to_netcdf(tmp_path / "u.nc")
    with xr.open_dataset(tmp_path / "u.nc") as dataset:
        again = ff.from_xarray(dataset["u"])
    assert again.domain == field.domain
    np.testing.assert_array_equal(again.asnumpy(), field.asnumpy())


def test_staggered_coordinates_lie_half_a_cell_below():
    array = ff.zeros({IHalf: (0, 3)}).to_xarray()
    assert array["I_staggered"].values.tolist() == [-0.5, 0.5, 1.5]
    assert array["I_staggered"].attrs["c_grid_axis_shift"] == -0.5


@pytest.mark.parametrize("backend", [None, "cpu"])
def test_arrays_with_other_dimensions_are_refused(backend):
    u = xr.DataArray(numbers(6, 5), dims=("I", "y"))
    with pytest.raises(ff.errors.FieldforgeError):
        climb.with_backend(backend)(u, ff.zeros({I: 5, J: 4}))


def test_what_is_no_array_or_has_no_such_axis_is_refused():
    with pytest.raises(ff.errors.ArgumentError, match=r"Expected an 'xarray\.DataArray'"):
        ff.from_xarray(np.zeros(3))
    with pytest.raises(ff.errors.DomainError, match="no axis 'K'; it has 'x'"):
        ff.from_xarray(xr.DataArray(np.zeros(3), dims="x"), K)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([126, 127, -128], np.int8), "holds 127 and then -128"),
        (np.array([3, 4, 6]), "holds 4 and then 6"),
        (np.array([2, 1, 0]), "holds 2 and then 1"),
        (np.array([1, 1, 2], np.uint8), "holds 1 and then 1"),
    ],
)
def test_integer_coordinates_that_are_no_indices_are_refused(values, words):
    array = xr.DataArray(np.zeros((3, 2)), {"I": values}, ("I", "J"))
    with pytest.raises(
        ff.errors.DomainError, match=f"Coordinate 'I' {words}, which are no indices of 'I'"
    ):
        ff.from_xarray(array, I, J)
    with pytest.raises(ff.errors.DomainError, match=words):
        climb.with_backend("reference")(array, ff.zeros({I: 3, J: 2}))
    assert ff.from_xarray(array.drop_vars("I"), I, J).domain == ff.domain({I: 3, J: 2})


def test_short_integers_count_where_they_rise_by_one():
    array = xr.DataArray(np.zeros(3), {"I": np.array([125, 126, 127], np.int8)}, ("I",))
    assert ff.from_xarray(array, I).domain == ff.domain({I: (125, 128)})


def test_integers_along_a_staggered_axis_are_refused():
    array = xr.DataArray(np.zeros(3), {"I_staggered": [0, 1, 2]}, ("I_staggered",))
    with pytest.raises(ff.errors.DomainError, match=r"holds 0 and then 1, .* lie at halves"):
        ff.from_xarray(array, IHalf)
