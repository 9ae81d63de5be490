"""Fields that end where a region would read them, and what a call must require of them."""

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64, int32, where
from fieldforge.experimental import as_offset, concat_where
from fieldforge.runtime.process.errors import DomainError

from ..dimensions import I, J, K, Koff
from .executions import agree, all_values

pytestmark = pytest.mark.needs_compiler


@ff.field_operator(backend=None)
def far_away(a: Field[Dims[I, K], float64], b: Field[Dims[K], float64], by: Field[Dims[K], int32]):
    return concat_where(K != 100, 1.5, a)(as_offset(Koff, by))


@ff.field_operator(backend=None)
def apart(a: Field[Dims[I, K], float64], b: Field[Dims[K], float64], by: Field[Dims[K], int32]):
    return concat_where((K < 10) | (K >= 20), b, a + b)(as_offset(Koff, by))


@ff.field_operator(backend=None)
def nested(a: Field[Dims[I, K], float64], b: Field[Dims[K], float64], by: Field[Dims[K], int32]):
    inner = concat_where(K == 50, a * 2.0, 4.0)
    return where(b > 0.0, concat_where(K > 2, inner, b)(as_offset(Koff, by)), 3.0)


@ff.field_operator(backend=None)
def twice(a: Field[Dims[I, K], float64], b: Field[Dims[K], float64], by: Field[Dims[K], int32]):
    far = concat_where(K == 50, a, b)(as_offset(Koff, by))
    return (far + 1.0)(as_offset(Koff, by)) + b


OPERATORS = [far_away, apart, nested, twice]


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("operator", OPERATORS)
def test_a_displacement_asks_nothing_of_a_branch_without_a_value(operator, static):
    """Seed 11000, 110/44: the reference and compiled calls required 'a' along 'I'."""

    @ff.program(backend=None, static_domains=static)
    def run(
        a: Field[Dims[I, K], float64], b: Field[Dims[K], float64], by: Field[Dims[K], int32],
        out: Field[Dims[I, K], float64],
    ):  # fmt: skip
        operator(a, b, by, out=out)

    given = {
        "a": ff.as_field({I: (0, 2), K: (0, 7)}, np.arange(14.0).reshape(2, 7)),
        "b": ff.as_field({K: (0, 7)}, np.arange(7.0)),
        "by": ff.as_field([K], np.array([0, 1, -1, 1, 0, 1, 0], np.int32)),
        "out": ff.zeros({I: (1, 6), K: (0, 7)}),
    }

    agree(run, given)
    agree(run, given, ff.cpu.with_options(arrays=all_values(run, **given)))


@pytest.mark.parametrize("operator", [far_away, apart, twice])
def test_a_branch_with_a_value_must_exist_beside_it(operator):
    """A displacement could be led to it, so that a hard read stays one."""

    @ff.program(backend=None)
    def run(
        a: Field[Dims[I, K], float64], b: Field[Dims[K], float64], by: Field[Dims[K], int32],
        out: Field[Dims[I, K], float64],
    ):  # fmt: skip
        operator(a, b, by, out=out, domain={I: (1, 6), K: (0, 7)})

    for backend in (ff.reference, ff.cpu):
        with pytest.raises(DomainError, match="'a' is too small: along 'I' the program reads 1:6"):
            run.with_backend(backend)(
                ff.zeros({I: (0, 2), K: (0, 101)}), ff.ones({K: (0, 101)}),
                ff.zeros({K: 7}, int32), ff.zeros({I: (1, 6), K: (0, 7)}),
            )  # fmt: skip


def test_a_displacement_that_leads_to_no_value_reads_inside_the_field():
    for backend in (None, ff.reference, ff.cpu):
        out = ff.zeros({I: (1, 600), K: (0, 7)})
        by = ff.as_field([K], np.array([100, 1, 98, 1, 0, 95, 0], np.int32))
        far_away.with_backend(backend)(
            ff.zeros({I: (0, 2), K: (0, 7)}), ff.zeros({K: 7}), by, out=out
        )
        assert (out.asnumpy()[:, [1, 3, 4, 6]] == 1.5).all()
        assert np.isin(out.asnumpy(), [0.0, 1.0, 1.5]).all()  # the others are undefined


def test_any_distance_leads_to_a_constant():
    """Embedded calls repeated the constant for every index that a distance might lead to."""

    def arguments():
        far = np.iinfo(np.int32)
        return {
            "a": ff.zeros({I: 6, K: (100, 101)}),
            "b": ff.zeros({K: 7}),
            "by": ff.as_field([K], np.array([0, far.max, far.min, 97, 0, far.min, 0], np.int32)),
            "out": ff.zeros({I: 6, K: 7}),
        }

    meant = agree(far_away, arguments)
    assert meant["out"][0].tolist() == [1.5, 1.5, 1.5, 0.0, 1.5, 1.5, 1.5]


@ff.field_operator(backend=None)
def hidden(a: Field[Dims[I, J], bool], n: int32):
    inner = where(concat_where(I < 2, True, False), a, True)
    return where(concat_where((J <= 1) | (n < I), a, inner), 3.0, 2.0)


@ff.field_operator(backend=None)
def hidden_further(a: Field[Dims[I, J], bool], n: int32):
    inner = where(concat_where(I < 1, True, False), a(I + 1), True)
    return where(concat_where(n < I, a(I - 1), concat_where(-n > I, a(J + 1), inner)), 3.0, 2.0)


@pytest.mark.parametrize("run", [hidden, hidden_further])
def test_an_empty_part_makes_no_hidden_read_hard(run):
    """Seed 11000, 56/58: the hull of what must exist included the empty parts of a region."""

    given = {
        "a": ff.as_field({I: (-1, 2), J: (7, 10)}, np.eye(3, dtype=bool)),
        "n": 100,
        "out": ff.zeros({I: (0, 31), J: (7, 10)}),
    }

    agree(run, given)
    agree(run, given, ff.cpu.with_options(arrays=all_values(run, **given)))


def test_a_part_that_is_not_empty_must_exist():
    for backend in (None, ff.reference, ff.cpu):
        a, out = ff.zeros({I: (-1, 2), J: (7, 10)}, bool), ff.zeros({I: (0, 31), J: (7, 10)})
        with pytest.raises(DomainError, match="along 'I'"):
            hidden.with_backend(backend)(a, 20, out=out)


@ff.field_operator(backend=None)
def beside_itself(a: Field[Dims[I, K], float64], by: Field[Dims[K], int32]):
    return a(as_offset(Koff, by)) + a


@ff.field_operator(backend=None)
def hidden_beside_itself(a: Field[Dims[I, K], float64], by: Field[Dims[K], int32]):
    return a(as_offset(Koff, by)) + where(concat_where(K >= 4, True, False), a, 1.0)


def test_what_is_read_beside_a_displacement_must_exist():
    """Compiled calls read outside of 'a': the displaced read, which stays inside, hid the other."""
    for backend in (None, ff.reference, ff.cpu):
        with pytest.raises(DomainError, match="'a' is too small: along 'K'"):
            beside_itself.with_backend(backend)(
                ff.zeros({I: 5, K: (4, 13)}), ff.zeros({K: 6}, int32), out=ff.zeros({I: 5, K: 6})
            )


def test_a_hidden_read_beside_a_displacement_stays_inside():
    given = {
        "a": ff.as_field({I: 5, K: (4, 13)}, np.arange(45.0).reshape(5, 9)),
        "by": ff.as_field([K], np.array([4, 5, 3, 2, 1, 0], np.int32)),
        "out": ff.zeros({I: 5, K: 6}),
    }

    agree(hidden_beside_itself, given)
