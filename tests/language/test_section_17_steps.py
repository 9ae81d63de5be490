"""Arguments that share memory: statements run in order, whatever memory they share."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.errors import CheckError, OverlapError

from ..dimensions import I
from .support import memory, numbers, on_memory

Ioff = ff.FieldOffset("Ioff", source=I, target=(I,))
Line = Field[Dims[I], float64]

pytestmark = pytest.mark.needs_compiler


@ff.field_operator
def doubled(a: Line) -> Line:
    return a + a


@ff.field_operator
def before(a: Line) -> Line:
    return a(Ioff[-1]) + 1.0


@ff.field_operator
def both(a: Line) -> tuple[Line, Line]:
    return a + 1.0, a + 2.0


@ff.program
def write_then_shift(x: Line, a: Line, b: Line, c: Line):
    doubled(x, out=a)
    before(b, out=c, domain={I: (1, 6)})


@ff.program
def shift_often(x: Line, a: Line, b: Line, c: Line):
    before(b, out=c, domain={I: (1, 5)})
    doubled(x, out=a)
    before(b, out=c, domain={I: (1, 5)})
    before(c, out=b, domain={I: (1, 5)})


@ff.program
def twice_then_read(x: Line, a: Line, b: Line, c: Line):
    both(x, out=(a, b))
    before(b, out=c, domain={I: (1, 6)})
    doubled(a, out=b)


PROGRAMS = [write_then_shift, shift_often, twice_then_read]
# where 'a', 'b' and 'c' begin in one memory of 9 numbers
PLACES = [(0, 0, 0), (0, 0, 1), (1, 1, 0), (2, 0, 3), (3, 1, 2), (0, 1, 0), (0, 3, 3)]


def after(program, backend, places):
    shared = memory(np.arange(9.0))
    a, b, c = (on_memory(shared[place:][:6]) for place in places)
    x = ff.as_field([I], np.array([5.0, -3.0, 2.0, 7.0, 1.0, 4.0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program.with_backend(backend)(x, a, b, c)
    return numbers(shared)


def in_numpy(program, places):
    memory = np.arange(9.0)
    a, b, c = (memory[place:][:6] for place in places)
    x = np.array([5.0, -3.0, 2.0, 7.0, 1.0, 4.0])
    if program is write_then_shift:
        a[:] = x + x
        c[1:] = b[:-1] + 1.0
    elif program is shift_often:
        c[1:5] = b[:4] + 1.0
        a[:] = x + x
        c[1:5] = b[:4] + 1.0
        b[1:5] = c[:4] + 1.0
    else:
        b[:] = x + 2.0
        c[1:] = b[:-1] + 1.0
        b[:] = a + a
    return memory


@pytest.mark.parametrize("places", PLACES)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_statements_run_in_order(program, backend, places):
    a, b, _ = places
    if program is twice_then_read and 0 < abs(a - b) < 6:
        with pytest.raises(OverlapError):
            after(program, backend, places)
        return
    given = after(program, backend, places)

    np.testing.assert_array_equal(given, in_numpy(program, places))


@pytest.mark.parametrize("places", [(0, 0, 1), (2, 0, 3)])
def test_a_recorded_call_runs_its_statements_in_order(places, compiled):
    shared = memory(np.arange(9.0))
    a, b, c = (on_memory(shared[place:][:6]) for place in places)
    x = ff.as_field([I], np.array([5.0, -3.0, 2.0, 7.0, 1.0, 4.0]))
    program = write_then_shift.with_backend(compiled)
    with ff.record() as calls:
        program(x, a, b, c)
    for _ in range(2):
        shared[:] = memory(np.arange(9.0))
        calls()
        np.testing.assert_array_equal(numbers(shared), in_numpy(write_then_shift, places))


@pytest.mark.parametrize(
    "compiled", [ff.cpu, pytest.param(ff.dace_cpu, marks=pytest.mark.needs_dace)]
)
def test_a_checked_call_reports_any_statement(compiled):
    shared = np.arange(9.0)
    a, b, c = (on_memory(shared[place:][:6]) for place in (0, 0, 1))
    x = ff.as_field([I], np.array([5.0, np.inf, 2.0, 7.0, 1.0, 4.0]))
    with pytest.raises(CheckError, match="'x', which is inf at I=1"):
        write_then_shift.with_backend(compiled).checked(x, a, b, c)


# --- outputs of one statement ------------------------------------------------------------------


@ff.field_operator
def three_of(a: Line):
    return a + 1.0, a * 10.0, a * 100.0


@ff.program
def write_three(a: Line, one: Line, two: Line, three: Line, start: ff.int32, stop: ff.int32):
    three_of(a, out=(one, two, three), domain=({I: (0, stop)}, {I: (start, 3)}, {I: (0, stop)}))


@pytest.mark.parametrize("together", ["abb", "aab", "aba", "aaa"])
def test_the_last_output_wins_though_bounds_are_written_differently(backend, together):
    """Two outputs of one place whose domains are equal in this call were both left out."""
    places = {name: memory([-1.0, -1.0, -1.0]) for name in "ab"}
    fields = [on_memory(places[name]) for name in together]

    write_three.with_backend(backend)(ff.as_field([I], np.array([1.0, 2.0, 3.0])), *fields, 0, 3)

    results = [2.0, 3.0, 4.0], [10.0, 20.0, 30.0], [100.0, 200.0, 300.0]
    for name, values in dict(zip(together, results, strict=True)).items():
        np.testing.assert_array_equal(numbers(places[name]), values)
