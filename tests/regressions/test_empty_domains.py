"""Statements that a call asks to do nothing, because their domain is empty."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, broadcast, float64, int32, neighbor_sum

from ..dimensions import C2C, C2CDim, Cell, K
from .executions import agree, all_values

pytestmark = pytest.mark.needs_compiler


@ff.scan_operator(axis=K, forward=True, init=0.0, backend=None)
def upwards(state: float64, a: float64) -> float64:
    return state + a


@ff.field_operator(backend=None)
def around(a: Field[Dims[Cell, K], float64]) -> Field[Dims[Cell, K], float64]:
    sums = upwards(a)
    return neighbor_sum(broadcast(5.0, (Cell,))(C2C) + sums, axis=C2CDim) - sums(C2C)[C2CDim(0)]


@ff.program(backend=None)
def some_cells(
    a: Field[Dims[Cell, K], float64],
    out: Field[Dims[Cell, K], float64],
    start: int32,
    stop: int32,
):
    around(a, out=out, domain={Cell: (start * 2 - 2, stop + 3), K: (0, 3)})


TABLES = {
    "C2C": ff.as_connectivity(
        {Cell: 4, C2CDim: 2}, Cell, np.array([[1, 2], [0, 3], [3, -1], [-1, 0]], np.int32)
    )
}


@pytest.mark.parametrize("stop", [-1, -2, 0])
@pytest.mark.parametrize("picked", [slice(None), slice(None, None, 3), slice(1, None, 3)])
def test_sums_over_no_cells_need_no_room(picked, stop):
    def arguments():
        a = ff.as_field([Cell, K], np.arange(12.0).reshape(4, 3))
        return {"a": a, "out": ff.zeros({Cell: 4, K: 3}), "start": 2, "stop": stop}

    names = all_values(some_cells.with_backend(ff.cpu), **arguments(), offset_provider=TABLES)
    backend = ff.cpu.with_options(arrays=names[picked])
    meant = agree(some_cells, arguments, backend, TABLES)
    assert meant["out"].any() == (stop == 0)


@ff.program(backend=None)
def some_and_all(
    a: Field[Dims[Cell, K], float64],
    out: Field[Dims[Cell, K], float64],
    start: int32,
    stop: int32,
):
    around(a, out=out, domain={Cell: (start, stop), K: (0, 3)})
    upwards(a, out=out, domain={Cell: (stop, start), K: (1, 3)})


@pytest.mark.parametrize("program", [some_cells, some_and_all])
@pytest.mark.parametrize("backend", [ff.cpu, ff.gpu_host, ff.dace_cpu], ids=lambda each: each.name)
def test_domains_that_are_compiled_in_may_be_empty(program, backend):
    def arguments():
        a = ff.as_field([Cell, K], np.arange(12.0).reshape(4, 3))
        return {"a": a, "out": ff.zeros({Cell: 4, K: 3}), "start": 3, "stop": 0}

    static = program.with_static_params("start", "stop")
    meant = agree(static, arguments, backend, TABLES)
    assert meant["out"].any() == (program is some_and_all)
