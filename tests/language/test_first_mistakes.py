"""What errors say to write instead, for mistakes met in models on C grids, meshes and columns."""

from typing import TypeVar

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError, CheckError, DomainError, DSLError

from ..dimensions import E2C, Cell, E2CDim, Edge, I, J, K, Plane

CellField, EdgeField = (ff.Field[ff.Dims[dim], ff.float64] for dim in (Cell, Edge))
T = TypeVar("T", ff.float32, ff.float64)
Generic = ff.Field[ff.Dims[I], T]


@ff.field_operator
def copied(a: Plane) -> Plane:
    return 1.0 * a


@ff.field_operator
def jump(x: CellField) -> EdgeField:
    return x(E2C[1]) - x(E2C[0])


# --- operators --------------------------------------------------------------------------------


def clipped(a: Plane) -> Plane:
    return ff.maximum(a, 0)


def masked(a: Plane) -> Plane:
    return ff.where(a > 1, a, 0.0)


def rooted(a: Plane) -> Plane:
    return ff.sqrt(2) * a


def halved(a: Generic) -> Generic:
    return 0.5 * a


def chosen(a: Plane, on: bool) -> Plane:
    return a if on else 0.0


def along_another(a: Plane) -> Plane:
    return a(K + 1)


def by_number(a: Plane) -> Plane:
    return a(1, 0)


def with_out(a: Plane, b: Plane) -> Plane:
    return copied(a, out=b)


def assigned(a: Plane) -> Plane:
    a[0, 0] = 1.0
    return a


def unreduced(x: CellField) -> EdgeField:
    return x(E2C)


def rounded(a: Plane) -> Plane:
    return round(a)


def averaged(a: Plane) -> Plane:
    return a - a.mean()


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (averaged, "An operator computes point by point: reduce the field in Python"),
        (clipped, "Write '0.0'."),
        (masked, "Write '1.0'."),
        (rooted, "Write '2.0'."),
        (halved, "Write 'T(0.5)'."),
        (chosen, "Make the number a field: 'broadcast(x, (I, J))'."),
        (along_another, "The offset shifts fields that have the dimension 'K'."),
        (by_number, "Name the dimension: 'I + 1'."),
        (with_out, "An operator takes the result of a call: 'x = copied(a)'"),
        (assigned, "Nothing is assigned to a part of a field: choose point by point with 'where'"),
        (unreduced, "It has all neighbours along 'E2C': reduce them, as in 'neighbor_sum("),
        (rounded, "Write 'floor(a + 0.5)'."),
    ],
)
def test_what_an_operator_cannot_do(body, hint):
    with pytest.raises(DSLError) as error:
        ff.field_operator(body)
    assert error.value.hints[0].startswith(hint)


def in_steps(a: Plane, out: Plane, n: ff.int32):
    for _ in range(n):
        copied(a, out=out)


def test_the_time_loop_is_one_of_python():
    with pytest.raises(DSLError, match="a loop over time steps is one of Python"):
        ff.program(in_steps)


# --- fields and tables ------------------------------------------------------------------------


def test_one_value_needs_the_indices_of_the_field():
    for value in (1.0, lambda i: i):
        with pytest.raises(
            DomainError, match=r"say its indices, as in 'as_field\({I: 10}, \.\.\.\)'"
        ):
            ff.as_field([I], value)


@pytest.mark.parametrize(
    ("data", "options", "hint"),
    [
        ([[0.0, np.nan]], {}, "np.nan_to_num"),
        ([[0, 99]], {"skip_value": 99}, r"np.where\(table == 99, -1, table\)"),
        ([[0, -1]], {"skip_value": None}, "write 'skip_value=-1', or leave it away"),
    ],
)
def test_how_a_table_marks_missing_neighbours(data, options, hint):
    with pytest.raises((ArgumentError, DomainError), match=hint):
        ff.as_connectivity([Edge, E2CDim], Cell, data, **options)


@pytest.mark.parametrize("backend", ["cpu", None])
def test_a_table_that_counts_from_1(backend):
    table = ff.as_connectivity([Edge, E2CDim], Cell, [[1, 2], [2, 3]])

    with pytest.raises(DomainError, match="counted from 0, those of 'E2C' begin at 1"):
        jump.with_backend(backend)(
            ff.ones({Cell: 3}), out=ff.zeros({Edge: 2}), offset_provider={"E2C": table}
        )


def test_a_table_of_other_indices_is_shown_how_to_be_made():
    table = ff.as_connectivity([Edge, E2CDim], Edge, [[0, 1]])

    with pytest.raises(ArgumentError) as error:
        jump.with_backend("cpu")(
            ff.ones({Cell: 2}), out=ff.zeros({Edge: 1}), offset_provider={"E2C": table}
        )
    assert error.value.hints == (
        "Make it with 'as_connectivity([Edge, E2C], codomain=Cell, data=table)'; of a mesh pass "
        "'mesh.connectivities(E2C)'.",
    )


def test_a_halo_that_is_wider_than_the_interior():
    with pytest.raises(DomainError, match="'periodic' copies the interior: it takes as many rows"):
        ff.fill_halo(ff.ones({I: (-3, 5)}), {I: (0, 2)}, {I: "periodic"})


def test_a_boundary_is_a_number_of_the_field():
    field = ff.ones({I: (-1, 4)}, dtype=ff.int32)

    ff.fill_halo(field, {I: (0, 3)}, {I: 2.0})
    assert field.asnumpy().tolist() == [2, 1, 1, 1, 2]
    for value in (0.5, float("nan"), 2**40):
        with pytest.raises(ArgumentError, match="A field of 'int32' cannot hold the number"):
            ff.fill_halo(field, {I: (0, 3)}, {I: value})


# --- calls ------------------------------------------------------------------------------------


def test_an_array_begins_at_0():
    shifted = ff.field_operator(_around).with_backend("cpu")

    with pytest.raises(DomainError) as error:
        shifted(np.ones((5, 3)), out=np.zeros((3, 3)))
    assert "as in 'as_field({I: (-1, 4), ...}, a)'" in error.value.hints[0]


def _around(a: Plane) -> Plane:
    return a(I - 1) + a(I + 1)


@pytest.mark.parametrize(
    ("given", "hint"),
    [([[1.0]], r"'as_field\(\[I, J\], a\)'"), ({"a": 1.0}, r"'a\[\.\.\.\]'")],
)
def test_what_is_no_array(given, hint):
    with pytest.raises(ArgumentError, match=hint):
        copied.with_backend("cpu")(given, out=ff.zeros({I: 1, J: 1}))


def test_a_slot_is_named_in_its_hint():
    with pytest.raises(ArgumentError, match=r"write 'n = np.int32\(n\)'"), ff.record(n=8):
        pass


def test_a_check_lists_indices_in_the_order_of_dimensions():
    a = ff.as_field({I: (0, 3), J: 3}, np.full((3, 3), 1.0))
    a[I(1), J(2)] = np.nan

    with pytest.raises(CheckError, match="which is nan at I=1, J=2"):
        ff.field_operator(_crosswise).with_backend("cpu").checked(
            a, out=ff.zeros({I: (0, 2), J: (1, 3)})
        )


def _crosswise(a: Plane) -> Plane:
    return a(J - 1)(I + 1) + a
