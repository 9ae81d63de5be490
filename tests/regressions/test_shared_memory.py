"""Outputs of one statement that share memory with what it reads."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64, int32
from fieldforge.errors import OverlapError
from fieldforge.experimental import concat_where
from fieldforge.runtime.fields.field import make
from fieldforge.runtime.language.domain import Domain
from fieldforge.runtime.language.ranges import UnitRange

from ..dimensions import Column, I, K
from .executions import agree

pytestmark = pytest.mark.needs_compiler


def on(memory, start=0, stop=None):
    part = memory[start:stop]
    return make(part, Domain((K, UnitRange(0, len(part)))))


@ff.scan_operator(axis=K, forward=False, init=(0.0, 1.0))
def late(state: tuple[float64, float64], a: float64) -> tuple[float64, float64]:
    return a, state[0] + 10.0 * state[1]


@ff.program
def into_two(a: Column, b: Column, n: int32):
    late(b, out=(a, b), domain=({K: (n, 1)}, {K: (0, 4)}))


@ff.program
def into_another(a: Column, b: Column, n: int32):
    late(a, out=(a, b), domain=({K: (n, 1)}, {K: (0, 4)}))


@pytest.mark.parametrize("program", [into_two, into_another])
@pytest.mark.parametrize("start", [0, 1])
def test_an_output_of_which_nothing_is_written_harms_no_input(program, start):
    """The domain of one output is empty, and the input is the other one (seed 8300, 59/38)."""

    def arguments():
        memory = np.arange(1.0, 6.0)
        return {"a": on(memory, 0, 4), "b": on(memory, start, start + 4), "n": int32(2)}

    agree(program, arguments)


@ff.scan_operator(axis=K, forward=False, init=((2.0, 3.0), 1.0))
def delayed(
    state: tuple[tuple[float64, float64], float64], a: float64
) -> tuple[tuple[float64, float64], float64]:
    return (2.0, state[1]), a


@ff.program
def column(a: Column, b: Column, c: Column, n: int32):
    delayed(a, out=((c, a), b), domain=(({K: (n, 4)}, {K: (0, 4)}), {K: (0, 4)}))


@ff.program
def columns(a: Column, b: Column, c: Column, n: int32):
    delayed(a, out=((c, a), b), domain=(({K: (n, 4)}, {K: (0, 4)}), {K: (0, 4)}))
    delayed(b, out=((a, b), c), domain=(({K: (0, 4)}, {K: (0, 4)}), {K: (n, 4)}))


@ff.program
def written_before(a: Column, b: Column, c: Column, x: Column):
    late(x, out=(x, c))
    late(a, out=(a, b))


@ff.field_operator
def two_of(a: Column) -> tuple[Column, Column]:
    return a + 1.0, a * 3.0


@ff.program
def written_before_point_by_point(a: Column, b: Column, c: Column, x: Column):
    two_of(x, out=(x, c))
    two_of(a, out=(a, b))


@pytest.mark.parametrize("program", [column, columns])
def test_an_output_that_a_later_one_replaces_is_read(program):
    """Both outputs are one field, and the first is the input (seed 8300, 187/4)."""

    def arguments():
        memory = np.arange(1.0, 5.0)
        return {"a": on(memory), "b": on(memory), "c": ff.zeros({K: 4}), "n": int32(1)}

    agree(program, arguments)


@pytest.mark.parametrize("program", [written_before, written_before_point_by_point])
@pytest.mark.parametrize("start", [0, 1])
def test_an_output_that_a_later_one_replaces_is_read_after_an_earlier_statement(program, start):
    """The copy that takes the replaced output had what was there before the call."""

    def arguments():
        memory = np.arange(1.0, 6.0)
        a, b = on(memory, 0, 4), on(memory, 0, 4)
        c = on(memory, start, start + 4)
        return {"a": a, "b": b, "c": c, "x": ff.as_field([K], np.array([5.0, -1.0, 2.0, 8.0]))}

    agree(program, arguments)


@ff.field_operator
def in_regions(x: Column, y: Column) -> tuple[Column, Column]:
    return y + 1.0, concat_where(K == 2, x * 3.0, concat_where(K < 1, y, x))


@ff.program
def regions(x: Column, y: Column, a: Column, b: Column, n: int32):
    in_regions(x, y, out=(a, b), domain=({K: (n, 4)}, {K: (0, 4)}))


@ff.program
def regions_first(x: Column, y: Column, a: Column, b: Column, n: int32):
    in_regions(x, y, out=(b, a), domain=({K: (0, 4)}, {K: (n, 4)}))


@pytest.mark.parametrize("program", [regions, regions_first])
def test_an_output_stored_in_parts_may_replace_another_or_be_replaced(program):
    """Each region of the second output is a store of its own (seed 21000, 14/27)."""

    def arguments():
        memory = np.arange(1.0, 5.0)
        return {"x": on(memory), "y": ff.zeros({K: 4}), "a": on(memory), "b": on(memory), "n": 0}

    agree(program, arguments)


@pytest.mark.parametrize("backend", [ff.reference, ff.cpu], ids=lambda each: each.name)
def test_an_output_stored_in_parts_may_not_replace_a_part_of_another(backend):
    memory = np.zeros(4)
    x, y = ff.as_field([K], np.arange(4.0)), ff.zeros({K: 4})

    with pytest.raises(OverlapError, match="'a' and 'b' are written by one statement"):
        regions.with_backend(backend)(x, y, on(memory), on(memory), 1)
    assert not memory.any()


@ff.field_operator
def three_of(x: Column) -> tuple[Column, Column, Column]:
    return x + 1.0, x * 3.0, x * 100.0


@ff.program
def in_parts(x: Column, a: Column, b: Column):
    three_of(x, out=(a, b, a), domain=({K: (0, 2)}, {K: (0, 2)}, {K: (2, 4)}))


def test_no_other_part_of_a_replaced_output_is_lost():
    memory = np.zeros(4)
    x = ff.as_field([K], np.arange(4.0))

    with pytest.raises(OverlapError, match="'a' and 'b' are written by one statement"):
        in_parts.with_backend(ff.cpu)(x, on(memory), on(memory))
    assert not memory.any()


@ff.program
def beside(a: Column, b: Column, start: int32):
    late(b, out=(a, b), domain=({K: (start, start + 2)}, {K: (0, 2)}))


@ff.program
def beside_twice(a: Column, b: Column, start: int32):
    late(b, out=(a, b), domain=({K: (start, start + 2)}, {K: (0, 2)}))
    late(a, out=(a, b), domain=({K: (start, start + 2)}, {K: (1, 2)}))


@pytest.mark.parametrize("program", [beside, beside_twice])
@pytest.mark.parametrize(("shift", "start"), [(0, 2), (1, 2), (1, 1), (2, 0)])
def test_outputs_beside_each_other_lie_in_what_is_read(program, shift, start):
    """Both outputs share memory with the input, at points of their own (seed 8300)."""

    def arguments():
        memory = np.arange(1.0, 8.0)
        return {"a": on(memory, shift, shift + 4), "b": on(memory, 0, 4), "start": int32(start)}

    agree(program, arguments)


Plane = Field[Dims[I, K], float64]


@ff.scan_operator(axis=K, forward=True, init=(0.0, 1.0))
def sums(state: tuple[float64, float64], a: float64) -> tuple[float64, float64]:
    return state[0] + a, state[1] * a


@ff.program
def planes(a: Plane, b: Plane):
    sums(b, out=(a, b), domain=({I: (0, 3), K: (2, 5)}, {I: (0, 3), K: (0, 2)}))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("step", [1, -1, 2])
def test_planes_beside_each_other_lie_in_what_is_read(order, step):
    def arguments():
        values = np.arange(1.0, 101.0).reshape(10, 10) / 64.0
        memory = np.array(values, order=order)[:, ::step][:3, :5]
        domain = Domain((I, UnitRange(0, 3)), (K, UnitRange(0, 5)))
        return {"a": make(memory, domain), "b": make(memory, domain)}

    agree(planes, arguments)
