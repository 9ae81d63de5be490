"""The work of a call is counted from the boxes that it reads and writes."""

import numpy as np

import fieldforge as ff
from fieldforge.stages.interpret.work import Work, work_of

from ...dimensions import C2E, C2EDim, Cell, Edge, I, J, K, Plane

Column = ff.Field[ff.Dims[I, K], ff.float32]


@ff.field_operator
def laplacian(u: Plane) -> Plane:
    return u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1) - 4.0 * u


@ff.program(backend=ff.cpu.with_options(numerics="strict"))
def twice(u: Plane, lap: Plane, out: Plane, n: ff.int32):
    laplacian(u, out=lap, domain={I: (0, n), J: (0, 3)})
    laplacian(lap, out=out, domain={I: (1, n - 1), J: (1, 2)})


@ff.scan_operator(axis=K, forward=True, init=ff.float32(0.0))
def total(above: ff.float32, x: ff.float32) -> ff.float32:
    return above + x


@ff.field_operator(backend=ff.cpu)
def column(x: Column) -> Column:
    return total(x)


@ff.field_operator(backend=ff.cpu)
def around(x: ff.Field[ff.Dims[Edge], ff.float64]) -> ff.Field[ff.Dims[Cell], ff.float64]:
    return ff.neighbor_sum(x(C2E), axis=C2EDim)


def work(program, arguments, provider=None):
    lowered = program.trace(until="lower", offset_provider=provider, **arguments)["lower"].artifact
    return work_of(lowered, arguments, provider)


def test_fields_count_once_on_what_is_read_and_written():
    u, lap, out = (ff.zeros({I: (-1, 9), J: (-1, 9)}) for _ in range(3))
    found = work(twice, {"u": u, "lap": lap, "out": out, "n": ff.int32(4)})
    assert found.read == 6 * 5 * 8  # u with one point around 4 x 3; lap has just been written
    assert found.written == (4 * 3 + 2 * 1) * 8
    assert found.operations == 5 * (4 * 3 + 2)


def test_a_scan_counts_its_body_at_each_level():
    x, out = (ff.zeros({I: 3, K: 4}, dtype=np.float32) for _ in range(2))
    assert work(column, {"x": x, "out": out}) == Work(48, 48, 12)


def test_tables_are_read_too():
    table = ff.as_connectivity([Cell, C2EDim], Edge, [[0, 1, 2], [2, 3, 4]])
    arguments = {"x": ff.ones({Edge: 5}), "out": ff.zeros({Cell: 2})}
    assert work(around, arguments, {"C2E": table}) == Work(5 * 8 + 2 * 3 * 4, 2 * 8, 6)
