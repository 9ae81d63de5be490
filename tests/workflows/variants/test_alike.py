import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.runtime.language.structure import leaves_of
from fieldforge.workflows.variants.naming import alike_outputs, leaf_name

from ...dimensions import I, K

Columns = Field[Dims[I, K], float64]


@ff.scan_operator(axis=K, forward=True, init=0.0, backend=None)
def total(state: float64, a: float64) -> float64:
    return state + a


@ff.field_operator(backend=None)
def sums(a: Columns) -> tuple[Columns, tuple[Columns, Columns]]:
    found = total(a)
    return found, (found(I + 1), found * a)


def outputs(*lengths: int):
    first, second, third = (ff.zeros({I: 3, K: length}) for length in lengths)
    return first, (second, third)


def fields(out):
    return [out[0], *out[1]]


def numbers():
    return ff.as_field([I, K], np.arange(20.0).reshape(4, 5) ** 2)


def alike(out):
    names = tuple(leaf_name("out", path) for path, _ in leaves_of(out))
    return alike_outputs((names,), {"out": out})


def test_outputs_of_one_size_are_alike():
    assert alike(outputs(5, 5, 5)) == (("out.0", "out.1.0", "out.1.1"),)


def test_outputs_of_other_sizes_are_apart():
    assert alike(outputs(5, 4, 5)) == (("out.0", "out.1.1"),)
    assert alike((ff.zeros({I: 3}), ff.zeros({I: 4}))) == ()


@pytest.mark.parametrize("lengths", [(5, 5, 5), (5, 4, 5), (3, 4, 5), (5, 5, 2)])
@pytest.mark.parametrize(
    "backend", [ff.reference, pytest.param(ff.cpu, marks=pytest.mark.needs_compiler)]
)
def test_every_output_is_written_whole(backend, lengths):
    meant, given, again = (outputs(*lengths) for _ in range(3))
    sums(numbers(), out=meant)

    compiled = sums.with_backend(backend)
    compiled(numbers(), out=given)
    compiled(numbers(), out=outputs(5, 5, 5))  # another variant
    compiled(numbers(), out=again)

    for found in (given, again):
        for one, other in zip(fields(found), fields(meant), strict=True):
            np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


@pytest.mark.parametrize(
    "domain",
    [
        {I: (1, 3), K: (1, 4)},
        ({I: (1, 3), K: (1, 4)}, ({I: (1, 3), K: (1, 4)}, {I: (0, 2), K: (0, 3)})),
        ({I: (0, 1), K: (1, 2)}, ({I: (1, 3), K: (1, 4)}, {I: (0, 2), K: (0, 3)})),
    ],
)
@pytest.mark.parametrize(
    "backend", [ff.reference, pytest.param(ff.cpu, marks=pytest.mark.needs_compiler)]
)
def test_every_output_is_written_on_its_domain(backend, domain):
    meant, given = outputs(5, 5, 5), outputs(5, 5, 5)
    sums(numbers(), out=meant, domain=domain)

    sums.with_backend(backend)(numbers(), out=given, domain=domain)

    for one, other in zip(fields(given), fields(meant), strict=True):
        np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())
