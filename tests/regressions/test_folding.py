import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64, where

from ..dimensions import I, J, K
from .executions import agree

pytestmark = pytest.mark.needs_compiler


def test_shift_of_a_mask_that_folds_to_true():
    @ff.field_operator(backend=None)
    def always(a: Field[Dims[I], bool]) -> Field[Dims[I], bool]:
        return (True | a)(I - 1)

    given = {"a": ff.zeros({I: (-1, 4)}, bool), "out": ff.zeros({I: (0, 4)}, bool)}

    assert agree(always, given)["out"].all()


def test_shift_along_a_dimension_that_folding_removes():
    @ff.field_operator(backend=None)
    def choose(
        a: Field[Dims[J], float64], b: Field[Dims[I, J, K], float64]
    ) -> Field[Dims[I, J, K], float64]:
        return where(broadcast(True, (I,)), a, b)(K - 1)

    @ff.program(backend=None)
    def run(
        a: Field[Dims[J], float64], b: Field[Dims[I, J, K], float64],
        out: Field[Dims[I, J, K], float64],
    ):  # fmt: skip
        choose(a, b, out=out)

    given = {
        "a": ff.as_field([J], np.array([1.0, 2.0])),
        "b": ff.full({I: 2, J: 2, K: (-1, 3)}, 7.0),
        "out": ff.zeros({I: 2, J: 2, K: 3}),
    }

    assert agree(run, given)["out"][0, :, 0].tolist() == [1.0, 2.0]


def test_shift_of_a_choice_between_scalars_that_folds():
    @ff.field_operator(backend=None)
    def choose(a: Field[Dims[I], float64]) -> Field[Dims[I], float64]:
        return where(broadcast(False, (I,)), a, 0.5)(I + 2)

    @ff.program(backend=None)
    def run(a: Field[Dims[I], float64], out: Field[Dims[I], float64]):
        choose(a, out=out)

    given = {"a": ff.zeros({I: (2, 6)}), "out": ff.zeros({I: 4})}

    assert agree(run, given)["out"].tolist() == [0.5] * 4
