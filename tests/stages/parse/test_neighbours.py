"""Fields applied to offsets, reductions over neighbours, elements of sparse fields."""

# ruff: noqa: E501 - tables of snippets and messages
import pytest

SHIFTS = [
    ("c: CK", "c(E2C[1])", "neighbour %0 E2C[1] : Field[[Edge, K], float64]"),
    ("c: CK", "c(E2C)", "neighbours %0 E2C : Field[[Edge, E2C, K], float64]"),
    ("c: FC", "c(C2C2[2])", "neighbour %0 C2C2[2] : Field[[Cell], float64]"),
    ("c: FC", "c(C2C2)", "neighbours %0 C2C2 : Field[[Cell, C2C2], float64]"),
    ("c: FK", "c(Koff[-2])", "shift %0 K-2 : Field[[K], float64]"),
    ("c: F", "c(Ioff[1])", "shift %0 I+1 : Field[[I], float64]"),
    ("c: FK", "c(Kh + 0.5)", "shift %0 K+0 onto _StaggeredK : Field[[_StaggeredK], float64]"),
    ("c: FK", "c(Kh - 0.5)", "shift %0 K-1 onto _StaggeredK : Field[[_StaggeredK], float64]"),
    ("c: FKh", "c(K + 0.5)", "shift %0 _StaggeredK+1 onto K : Field[[K], float64]"),
    ("c: FKh", "c(K - 0.5)", "shift %0 _StaggeredK+0 onto K : Field[[K], float64]"),
    ("c: FKh", "c(K + 1.5)", "shift %0 _StaggeredK+2 onto K : Field[[K], float64]"),
]


@pytest.mark.parametrize(("parameter", "text", "row"), SHIFTS, ids=[row[1] for row in SHIFTS])
def test_a_field_is_applied_to_an_offset(parameter, text, row, rows):
    assert f"%1  {row}" in rows(f"def f({parameter}):\n    return {text}")


def test_a_displacement_brings_its_dimensions_along(rows):
    found = rows("def f(x: FK, n: NCK):\n    return x(as_offset(Koff, n))")

    assert "%2  displace %0 K %1 : Field[[Cell, K], float64]" in found


def test_elements_of_sparse_fields_are_read(rows):
    found = rows("def f(w: CoeffK, v: Coeff):\n    return w[C2EDim(0)] + v[C2EDim(2)]")

    assert "%1  slot %0 C2E[0] : Field[[Cell, K], float64]" in found
    assert "%3  slot %2 C2E[2] : Field[[Cell], float64]" in found


REFUSED = [
    ("c(C2E)", "C2E", "Incompatible offset can not shift field defined on Cell, K from Edge to target dim(s): Cell, C2E."),
    ("c(C2E[0])", "C2E[0]", "Incompatible offset can not shift field defined on Cell, K from Edge to target dim(s): Cell."),
    ("b & (c(E2C) > 1.0)", "b & (c(E2C) > 1.0)", "Could not promote 'Field[[Cell, C2E], bool]' and 'Field[[Edge, E2C, K], bool]' to common type in call to '&'."),
    ("c(E2C[n])", "n", "Offset 'E2C' expects a literal integer, got a value of type 'int32'."),
    ("c(E2C[-1])", "-1", "Neighbours are counted from 0, from the first one on."),
    ("c(E2C[0], K + 1)", "E2C[0]", "Several offsets in one call must all be Cartesian, such as 'I + 1'."),
    ("c(Koff)", "Koff", "Expected an offset, got offset 'Koff'."),
    ("c(K)", "K", "Expected an offset, got dimension 'K'."),
    ("c(E2CDim(0))", "E2CDim(0)", "Expected an offset, got the index 'E2C(0)'."),
    ("c(K + 0.25)", "0.25", "Invalid offset '0.25' for a Cartesian shift."),
    ("c(K + 0.5)", "K + 0.5", "Incompatible offset can not shift field defined on Cell, K from K_staggered to target dim(s): K."),
    ("c(E2C)(C2E)", "C2E", "Dimensions 'Cell[horizontal], C2E[local], E2C[local], K[vertical]' hold more than one local dimension."),
    ("c(as_offset(E2C, m))", "E2C", "Expected 0-th argument of 'as_offset' to be an offset along one dimension, got offset 'E2C'."),
    ("c(as_offset(Koff, c))", "c", "Expected 1-th argument of 'as_offset' to be a field of integers, got 'Field[[Cell, K], float64]'."),
    ("c(as_offset(Koff, 1))", "1", "Expected 1-th argument of 'as_offset' to be a field of integers, got 'int32'."),
    ("c(as_offset(Ioff, m))", "m", "Expected a field with dimension 'I' in call to 'as_offset', got 'Field[[Cell, K], int32]'."),
    ("neighbor_sum(c(E2C), E2CDim)", "E2CDim", "Invalid call to 'neighbor_sum'."),
    ("neighbor_sum(c(E2C))", "neighbor_sum(c(E2C))", "Invalid call to 'neighbor_sum'."),
    ("neighbor_sum(c(E2C), axes=E2CDim)", "axes=E2CDim", "Invalid call to 'neighbor_sum'."),
    ("neighbor_sum(c, axis=E2CDim)", "c", "Expected a field with dimension 'E2C', got 'Field[[Cell, K], float64]'."),
    ("neighbor_sum(n, axis=E2CDim)", "n", "Expected a field with dimension 'E2C', got 'int32'."),
    ("neighbor_sum(c, axis=K)", "K", "Expected 'axis' to be a local dimension, got dimension 'K'."),
    ("neighbor_sum(c(E2C), axis=E2C)", "E2C", "Expected 'axis' to be a local dimension, got offset 'E2C'."),
    ("neighbor_sum(b, axis=C2EDim)", "b", "Expected 0-th argument to be a field of numbers, got 'Field[[Cell, C2E], bool]'."),
    ("c[K(0)]", "K(0)", "Elements of a field are chosen along a local dimension, got the index 'K(0)'."),
    ("c[0]", "0", "Elements of a field are chosen along a local dimension, got the number '0'."),
    ("c[C2EDim(0)]", "C2EDim(0)", "Expected a field with dimension 'C2E', got 'Field[[Cell, K], float64]'."),
    ("b[C2EDim(n)]", "n", "An index along 'C2E' is one literal integer, as in 'C2E(0)'."),
    ("b[C2EDim(-1)]", "C2EDim(-1)", "Neighbours are counted from 0, from the first one on."),
    ("b[C2EDim()]", "C2EDim()", "An index along 'C2E' is one literal integer, as in 'C2E(0)'."),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_what_cannot_be_applied_is_refused(text, place, message, refused):
    error, under = refused(f"def f(c: CK, m: NCK, n: int32, b: BC):\n    return {text}")

    assert error.message == message
    assert under == place
