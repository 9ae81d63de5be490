"""`checked`: a number that is not finite is traced back to the line where it arose."""

import inspect

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.constructors import as_connectivity
from fieldforge.errors import CheckError, DomainError, OverlapError
from fieldforge.experimental import concat_where
from fieldforge.runtime.process import settings

from ...dimensions import I, Line, V2EDim

V, E = ff.Dimension("V"), ff.Dimension("E")
V2E = ff.FieldOffset("V2E", source=E, target=(V, V2EDim))
Edges = ff.Field[ff.Dims[E], ff.float64]
Nodes = ff.Field[ff.Dims[V], ff.float64]


@ff.field_operator
def ratio(a: Line, b: Line) -> Line:
    double = a + a
    return double / b


@ff.field_operator
def risen(a: Line, b: Line) -> Line:
    return 1.0 + ratio(a, b)(I + 1)


@ff.program(backend=ff.cpu)
def rise(a: Line, b: Line, out: Line):
    risen(a, b, out=out)


def line(*values):
    return ff.as_field([I], list(values))


def test_the_operator_the_line_the_index_and_the_value_are_named():
    out = ff.zeros({I: 3})

    with pytest.raises(CheckError) as caught:
        rise.checked(line(1.0, 2.0, 3.0, 4.0), line(1.0, 1.0, 0.0, 1.0), out=out)

    error = caught.value
    assert (error.operator, error.index, error.value) == ("ratio", {I: 1}, np.inf)
    _, first = inspect.getsourcelines(ratio.definition)
    assert error.location.line == first + 3
    assert "'out' of 'risen' is inf at I=1: 'div' made it of 6.0 and 0.0" in error.message
    assert "double / b" in str(error)
    assert out.asnumpy().tolist() == [0.0, 0.0, 0.0]


def test_an_argument_that_is_not_finite_is_named():
    with pytest.raises(CheckError, match="comes from argument 'a', which is nan at I=1"):
        rise.checked(line(1.0, np.nan, 3.0), line(1.0, 1.0, 1.0), ff.zeros({I: 2}))


@ff.field_operator(backend=ff.cpu)
def second(u: Edges) -> Nodes:
    return u(V2E[1])


@ff.field_operator(backend=ff.cpu)
def total(u: Edges) -> Nodes:
    return ff.neighbor_sum(u(V2E), axis=V2EDim)


def test_a_neighbour_that_a_reduction_skips_is_not_taken_for_the_cause():
    table = as_connectivity(
        [V, V2EDim], codomain=E, data=np.array([[-1, 0], [-1, 1]], np.int32), skip_value=-1
    )
    u = ff.as_field([E], [1.0, np.nan])

    with pytest.raises(CheckError, match="argument 'u', which is nan at E=1"):
        total.checked(u, out=ff.zeros({V: 2}), offset_provider={"V2E": table})


@ff.field_operator(backend=ff.cpu)
def ahead(a: Line, b: Line) -> Line:
    return (a / b)(I + 1)


def test_a_shift_leads_to_the_number_that_was_read():
    a, b = line(0.0, 1.0, 2.0, 3.0), line(0.0, 1.0, 1.0, 0.0)

    with pytest.raises(CheckError, match=r"'out' of 'ahead' is inf at I=2: 'div' made it of 3\.0"):
        ahead.checked(a, b, out=ff.zeros({I: 3}))


def test_a_neighbour_leads_to_the_number_that_was_read():
    table = as_connectivity([V, V2EDim], codomain=E, data=np.array([[0, 2], [0, 1]], np.int32))
    u = ff.as_field([E], [np.inf, np.nan, 2.0])

    with pytest.raises(CheckError, match="argument 'u', which is nan at E=1"):
        second.checked(u, out=ff.zeros({V: 2}), offset_provider={"V2E": table})


@ff.field_operator(backend=ff.cpu)
def on_one_side(a: Line) -> Line:
    return concat_where(I < 2, a, ff.float64("inf"))


@ff.field_operator(backend=ff.cpu)
def on_all_sides(a: Line) -> Line:
    return concat_where(I < 2, a, a)


def test_a_branch_that_is_not_written_harms_nobody():
    out = ff.zeros({I: 2})

    for backend in (ff.cpu, None):
        on_one_side.with_backend(backend).checked(line(1.0, 2.0), out=out)

    assert out.asnumpy().tolist() == [1.0, 2.0]


def test_an_operation_that_returns_what_it_was_given_ends_the_search():
    with pytest.raises(CheckError, match="argument 'a', which is nan at I=1"):
        on_all_sides.checked(line(1.0, np.nan), out=ff.zeros({I: 2}))


def test_ranges_and_overlaps_are_checked():
    with pytest.raises(DomainError):
        rise.checked(line(1.0, 2.0), line(1.0, 1.0), ff.zeros({I: 3}))

    @ff.field_operator(backend=ff.cpu)
    def both(a: Line) -> tuple[Line, Line]:
        return a, a + 1.0

    memory = np.zeros(3)
    with pytest.raises(OverlapError):
        both.checked(line(1.0, 2.0), out=(memory[:2], memory[1:]))


def test_the_environment_switches_one_program(setting):
    rise(line(1.0, 1.0), line(0.0, 0.0), ff.zeros({I: 1}))
    bound = rise.bind(a=line(1.0, 1.0), b=line(0.0, 0.0), out=ff.zeros({I: 1}))
    bound()
    before = settings.current().check
    chosen = settings.Settings.from_env({"FIELDFORGE_CHECK": "rise, other"})
    assert chosen.check == ("rise", "other")

    setting(check=chosen.check)
    with pytest.raises(CheckError):
        rise(line(1.0, 1.0), line(0.0, 0.0), ff.zeros({I: 1}))
    with pytest.raises(CheckError):
        bound()

    setting(check=before)
    bound()
    rise(line(1.0, 1.0), line(0.0, 0.0), ff.zeros({I: 1}))


def test_bound_arguments_are_checked_with_the_rest():
    bound = rise.with_bound_args(b=line(0.0, 0.0))

    with pytest.raises(CheckError):
        bound.checked(line(1.0, 1.0), ff.zeros({I: 1}))
