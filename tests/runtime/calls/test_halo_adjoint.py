"""`fill_halo_adjoint`: the transpose of `fill_halo`, for all boundaries."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import fieldforge as ff
from fieldforge.errors import ArgumentError
from fieldforge.runtime.calls import boundaries
from fieldforge.runtime.calls.boundaries import read_boundaries
from fieldforge.runtime.calls.halo_transfers import transfers_of
from fieldforge.runtime.language.domain import domain as make_domain

I, J = ff.Dimension("I"), ff.Dimension("J")
FACES = ff.flip_staggered(I)
DOMAIN = {I: (-2, 6), J: (-1, 5)}
INNER = {I: (0, 4), J: (0, 4)}


def transposed(fill, adjoint, domain):
    """Compare the matrices of both."""
    size = int(np.prod([stop - start for start, stop in domain.values()]))
    shape = [stop - start for start, stop in domain.values()]
    columns = []
    for run in (fill, adjoint):
        rows = []
        for unit in np.eye(size):
            field = ff.as_field(domain, unit.reshape(shape))
            run(field)
            rows.append(field.asnumpy().ravel().copy())
        columns.append(np.array(rows))
    return columns


@pytest.mark.parametrize(
    "boundaries",
    [
        {I: "periodic", J: "periodic"},
        {I: ("even", "odd"), J: ("odd", "even")},
        {J: (None, 0.0), I: "periodic"},
        {I: ("even", None), J: "periodic"},
    ],
)
def test_it_is_the_transpose(boundaries):
    forward, back = transposed(
        lambda field: ff.fill_halo(field, INNER, boundaries),
        lambda field: ff.fill_halo_adjoint(field, INNER, boundaries),
        DOMAIN,
    )

    assert_array_equal(back, forward.T)


def test_walls_on_faces_are_the_transpose():
    domain, inner = {FACES: (-1, 6)}, {FACES: (0, 5)}
    for wall in ("even", "odd"):
        forward, back = transposed(
            lambda field, wall=wall: ff.fill_halo(field, inner, {FACES: wall}),
            lambda field, wall=wall: ff.fill_halo_adjoint(field, inner, {FACES: wall}),
            domain,
        )
        assert_array_equal(back, forward.T)


def test_numbers_of_boundaries_do_not_count():
    one, other = (ff.ones(DOMAIN) for _ in range(2))

    ff.fill_halo_adjoint(one, INNER, {I: 3.0, J: ("even", 2.0)})
    ff.fill_halo_adjoint(other, INNER, {I: 0.0, J: ("even", 0.0)})

    assert_array_equal(one.asnumpy(), other.asnumpy())


def test_arrays_and_unknown_boundaries_are_refused():
    with pytest.raises(ArgumentError, match="Expected a field, got an object of type 'ndarray'"):
        ff.fill_halo_adjoint(np.ones(3), INNER, {I: "even"})
    with pytest.raises(ArgumentError, match="There is no boundary 'mirror'"):
        ff.fill_halo_adjoint(ff.ones(DOMAIN), INNER, {I: "mirror"})


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_native_code_has_the_bits_of_numpy(dtype):
    sides = {I: ("even", "odd"), J: "periodic"}
    values = np.random.default_rng(4).normal(size=(8, 6)).astype(dtype)
    field, expected = ff.as_field(DOMAIN, values), values.copy()
    read, _ = read_boundaries(sides)
    given = field.dims, field.starts, field.stops, np.dtype(dtype)
    for each in reversed(list(transfers_of(*given, make_domain(INNER), read))):
        boundaries._hand_back(expected, each, field.starts)

    ff.fill_halo_adjoint(field, INNER, sides)

    assert_array_equal(field.asnumpy(), expected)
    assert np.abs(expected - values).max() > 0.1
