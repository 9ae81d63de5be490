"""Annotations of GTScript: element types, axes and data axes."""

import numpy as np
import pytest

from fieldforge.cartesian import gtscript
from fieldforge.cartesian.gtscript import IJ, IJK, Field, GlobalTable, I, J, K


@pytest.mark.parametrize(
    ("made", "dtype", "axes", "data_dims"),
    [
        (Field[float], "float64", "IJK", ()),
        (Field[np.int8], "int8", "IJK", ()),
        (Field[IJ, np.float32], "float32", "IJ", ()),
        (Field[K, bool], "bool", "K", ()),
        (Field[[I, K], int], "int64", "IK", ()),
        (Field[IJ, (float, (4, 2))], "float64", "IJ", (4, 2)),
        (Field[(float, (4,))], "float64", "IJK", (4,)),
        (Field[(float, 3)], "float64", "IJK", (3,)),
        (GlobalTable[(np.float32, (5, 6))], "float32", "", (5, 6)),
    ],
)
def test_types_have_elements_axes_and_data_axes(made, dtype, axes, data_dims):
    assert made.dtype == np.dtype(dtype)
    assert "".join(axis.name for axis in made.axes) == axes
    assert made.data_dims == data_dims


def test_texts_stay_texts():
    assert Field["a type"].dtype == "a type"
    assert Field[IJ, "a type"].axes == IJ


@pytest.mark.parametrize("dtype", [np.uint8, complex, np.dtype("U3"), object()])
def test_other_element_types_are_refused(dtype):
    with pytest.raises(ValueError, match="Invalid data type descriptor"):
        Field[dtype]


def test_what_is_no_type_is_refused():
    with pytest.raises(ValueError, match="Invalid field type descriptor"):
        Field[float, IJ]
    with pytest.raises(ValueError, match="GlobalTable takes a pair"):
        GlobalTable[float]


def test_types_compare_by_content():
    assert Field[IJK, float] == Field[float]
    assert Field[IJ, float] != Field[float]
    assert len({Field[float], Field[np.float64]}) == 1


def test_axes_have_indices_and_offsets():
    bound = I[0] + 2 - 1

    assert (bound.axis, bound.index, bound.offset) == ("I", 0, 1)
    assert 1 + J[-1] == J[-1] + 1
    assert K[1:3].end == 3
    assert (K - 2).shift == -2
    assert gtscript.mask_from_axes(I) == [True, False, False]


@pytest.mark.parametrize(
    "wrong", [lambda: I["a"], lambda: I + 0.5, lambda: I[0] + "a", lambda: J - "b"]
)
def test_axes_take_integers_alone(wrong):
    with pytest.raises(TypeError):
        wrong()


def test_words_mean_something_in_stencils_alone():
    with pytest.raises(TypeError, match="'sqrt' of GTScript can only be used in a stencil"):
        gtscript.sqrt(2.0)
    with pytest.raises(TypeError, match="'region' of GTScript"):
        gtscript.region[:, :]
