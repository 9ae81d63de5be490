import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64

from ..dimensions import I, K

pytestmark = pytest.mark.needs_compiler


@ff.scan_operator(axis=K, forward=True, init=0.0, backend=None)
def total(state: float64, a: float64) -> float64:
    return state + a


def test_scan_whose_result_is_not_used_reads_nothing():
    """Compiled programs drop it; embedded execution walks when values are asked for."""

    @ff.field_operator(backend=None)
    def double(
        a: Field[Dims[I, K], float64], b: Field[Dims[I, K], float64]
    ) -> Field[Dims[I, K], float64]:
        unused = total(b)  # noqa: F841 - that is the point
        return a + a

    def arguments():
        return {
            "a": ff.as_field([I, K], np.arange(8.0).reshape(2, 4)),
            "b": ff.zeros({I: 2, K: 1}),
            "out": ff.zeros({I: 2, K: 4}),
        }

    for backend in (None, ff.reference, ff.cpu):
        given = arguments()
        double.with_backend(backend)(**given)
        assert given["out"].asnumpy().tolist() == (2 * np.arange(8.0).reshape(2, 4)).tolist()
