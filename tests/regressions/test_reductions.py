import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float32, float64, max_over, min_over

from ..dimensions import V2E, Edge, V2EDim, Vertex
from .executions import agree

pytestmark = pytest.mark.needs_compiler


@ff.field_operator(backend=None)
def extremes(
    a: Field[Dims[Edge], float64], b: Field[Dims[Edge], float32]
) -> tuple[Field[Dims[Vertex], float64], Field[Dims[Vertex], float32]]:
    return max_over(a(V2E), axis=V2EDim), min_over(b(V2E), axis=V2EDim)


@ff.program(backend=None)
def run(
    a: Field[Dims[Edge], float64], b: Field[Dims[Edge], float32],
    high: Field[Dims[Vertex], float64], low: Field[Dims[Vertex], float32],
):  # fmt: skip
    extremes(a, b, out=(high, low))


def test_extremes_of_infinities_are_infinite_and_those_of_nothing_are_finite():
    rows = [[0, 1], [1, -1], [-1, -1]]
    tables = {"V2E": ff.as_connectivity([Vertex, V2EDim], codomain=Edge, data=rows)}

    given = {
        "a": ff.as_field([Edge], np.array([-np.inf, -np.inf])),
        "b": ff.as_field([Edge], np.array([np.inf, np.inf], np.float32)),
        "high": ff.zeros({Vertex: 3}),
        "low": ff.zeros({Vertex: 3}, float32),
    }

    meant = agree(run, given, tables=tables)

    assert meant["high"].tolist() == [-np.inf, -np.inf, np.finfo(np.float64).min]
    assert meant["low"].tolist() == [np.inf, np.inf, np.finfo(np.float32).max]
