"""What a person sees of a field: its short text, its table in a notebook, one name of each axis."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.runtime.language.dimension import flip_staggered

from ...dimensions import I, K

KHALF = flip_staggered(K)


def test_a_field_is_one_line_of_text():
    assert repr(ff.zeros({I: (-1, 3), KHALF: 5})) == "Field(I=(-1:3), K_staggered=(0:5); float64)"


def test_a_notebook_shows_dimensions_memory_and_statistics():
    field = ff.as_field([I, KHALF], np.array([[1.0, np.nan], [3.0, 2.0]], np.float32))

    html = field._repr_html_()

    for told in ("Field[[I, K_staggered], float32]", "vertical", "0:2", "16 bytes in host memory"):
        assert told in html
    assert "min 1, mean 2, max 3" in html
    assert "1 values are not finite" in html


def test_a_table_in_a_notebook_has_the_colours_of_the_page():
    html = ff.zeros({I: 2})._repr_html_()

    assert "#" not in html
    assert "color:inherit" in html


@pytest.mark.parametrize("shape", [{I: 0}, {I: 3}])
def test_an_empty_field_and_truth_values_have_no_statistics(shape):
    assert "mean" not in ff.zeros(shape, dtype=ff.bool)._repr_html_()


def test_a_staggered_dimension_has_one_name_everywhere(tmp_path):
    Faces = ff.Field[ff.Dims[KHALF], ff.float64]

    @ff.field_operator(backend=ff.cpu)
    def doubled(w: Faces) -> Faces:
        return w + w

    faces = ff.ones({KHALF: 4})
    doubled(faces, out=faces)
    with pytest.raises(ArgumentError) as error:
        doubled(ff.ones({K: 4}), out=faces)

    shown = [repr(KHALF), str(KHALF(3)), str(K + 0.5), repr(faces), str(faces.domain)]
    shown += [str(error.value), doubled.variants, faces._repr_html_()]
    for each in shown:
        assert "K_staggered" in each
        assert "_StaggeredK" not in each
