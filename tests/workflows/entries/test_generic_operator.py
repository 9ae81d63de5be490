"""Operators generic by type variables, in all executions."""

import pickle
import sys
from typing import TypeVar

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.ffront.decorator import FieldOperator
from fieldforge.workflows.batches.lock_file import read
from fieldforge.workflows.entries.generic_operator import GenericOperator

from ...dimensions import I, K
from ...sources import names_of

T = TypeVar("T", ff.float32, ff.float64)
N = TypeVar("N", ff.int32, ff.int64)
Line = ff.Field[ff.Dims[I], T]
Column = ff.Field[ff.Dims[K], T]
Single = ff.Field[ff.Dims[I], ff.float32]
Double = ff.Field[ff.Dims[I], ff.float64]
BACKENDS = (None, "reference", "cpu")
DTYPES = (np.float32, np.float64)
FACTOR = 0.5

pytestmark = pytest.mark.needs_compiler


@ff.field_operator
def scaled(u: Line, by: T) -> Line:
    return T(FACTOR) * by * u


@ff.field_operator
def mean(u: Line, v: Line) -> tuple[Line, T]:
    whole: Line = scaled(u, T(1)) + scaled(v, by=T(1.0))
    return ff.astype(whole, T), T(3)


@ff.field_operator
def first_of_mean(u: Line, v: Line) -> Line:
    return mean(u, v)[0]


@ff.field_operator
def beside(u: Line, n: ff.Field[[I], N]) -> Line:
    return u + ff.astype(n, T)


@ff.field_operator
def of_pair(pair: tuple[Line, Line]) -> Line:
    return pair[0] - pair[1]


@ff.scan_operator(axis=K, forward=True, init=(0.0, 0))
def total(above: tuple[T, ff.int32], a: T) -> tuple[T, ff.int32]:
    return above[0] + a, above[1] + 1


@ff.field_operator
def summed(a: Column) -> Column:
    return total(a)[0]


def line(dtype, *values):
    return ff.as_field([I], np.array(values, dtype))


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_call_has_the_types_of_its_arguments(backend, dtype):
    u, v, out = line(dtype, 1, 2), line(dtype, 3, 6), line(dtype, 0, 0)

    first_of_mean.with_backend(backend)(u, v, out=out)

    assert out.asnumpy().tolist() == [2.0, 4.0]
    assert out.dtype == dtype


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_and_tuples_decide_too(backend, dtype):
    out = line(dtype, 0, 0)

    scaled.with_backend(backend)(line(dtype, 1, 2), dtype(4), out=out)
    assert out.asnumpy().tolist() == [2.0, 4.0]

    of_pair.with_backend(backend)((line(dtype, 5, 6), line(dtype, 1, 1)), out=out)
    assert out.asnumpy().tolist() == [4.0, 5.0]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("integer", [np.int32, np.int64])
def test_several_variables(backend, integer):
    out = line(np.float32, 0, 0)

    beside.with_backend(backend)(line(np.float32, 1, 2), line(integer, 3, 4), out=out)

    assert out.asnumpy().tolist() == [4.0, 6.0]


@pytest.mark.filterwarnings("ignore:Scan operator 'total' is called directly")
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_scans_begin_with_their_type(backend, dtype):
    a = ff.as_field([K], np.array([1, 2, 3], dtype))
    out, count = ff.zeros({K: 3}, dtype=dtype), ff.zeros({K: 3}, dtype=ff.int32)

    summed.with_backend(backend)(a, out=out)
    assert out.asnumpy().tolist() == [1, 3, 6]

    total.with_backend(backend)(a, out=(out, count))
    assert (out.asnumpy().tolist(), count.asnumpy().tolist()) == ([1, 3, 6], [1, 2, 3])


def test_each_type_is_a_variant_that_is_built_once():
    operator = first_of_mean.with_backend("cpu")
    for _ in range(2):
        for dtype in DTYPES:
            operator(line(dtype, 1), line(dtype, 1), out=line(dtype, 0))

    shown = operator.variants
    assert shown.count("for T = float32") == shown.count("for T = float64") == 1
    assert shown.count("unit stride of u: I") == 2
    assert operator.drop_variants() == 2


def test_batches_and_lock_files_have_every_type(tmp_path):
    operator = of_pair.with_backend("cpu")
    with ff.locking(tmp_path / "programs.lock"):
        operator.compile()
    rows = read(tmp_path / "programs.lock")
    assert [row.types for row in rows] == [("float32",), ("float64",)]
    assert len({row.order().definition.annotations[0][1] for row in rows}) == 2

    ff.precompile([operator], progress=None)
    assert all("asked for by 'build'" in each.variants for each in operator.instances.values())


def test_stages_of_a_build_are_shown_for_types():
    operator = scaled.with_backend("cpu")
    text = operator.trace(until="parse")["parse"].text
    assert "u: Field[[I], float32]" in text

    text = operator.trace(line(np.float64, 1), 2.0, out=line(np.float64, 1))["parse"].text
    assert "u: Field[[I], float64], by: float64" in text


def test_a_checked_call_names_the_line():
    with pytest.raises(ff.errors.CheckError, match="scaled"):
        scaled.with_backend("cpu").checked(
            line(np.float32, np.inf), np.float32(0), out=line(np.float32, 0)
        )


def test_copies_stay_generic():
    copy = pickle.loads(pickle.dumps(scaled.with_backend("cpu")))

    assert isinstance(copy, GenericOperator)
    assert isinstance(copy, FieldOperator)


def test_a_name_that_is_bound_anew_counts(monkeypatch):
    operator, out = scaled.with_backend("cpu"), line(np.float32, 0)
    operator(line(np.float32, 2), np.float32(1), out=out)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)

    operator(line(np.float32, 2), np.float32(1), out=out)

    assert out.asnumpy().tolist() == [4.0]


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_type_that_the_variable_does_not_name_is_an_error(backend):
    with pytest.raises(TypeError, match="'pair' is of type 'int32', expected one of 'float32'"):
        of_pair.with_backend(backend)((line(np.int32, 1), line(np.int32, 1)), out=line(np.int32, 1))


def test_a_call_in_an_operator_names_its_place():
    with pytest.raises(ff.errors.DSLError) as caught:

        @ff.field_operator
        def mixed(u: Single, v: Double) -> Single:
            return first_of_mean(u, v)

    assert "'u' is of type 'float32', 'v' of 'float64'" in str(caught.value)
    assert "return first_of_mean(u, v)" in str(caught.value)


def test_every_choice_of_types_is_checked_when_it_is_decorated():
    with pytest.raises(ff.errors.DSLError) as caught:

        @ff.field_operator
        def doubled(u: Line) -> Line:
            return 2.0 * u

    assert "for T = float32" in "".join(caught.value.__notes__)


U = TypeVar("U")


@pytest.mark.parametrize(
    ("annotation", "result", "message"),
    [
        (ff.Field[[I], U], ff.Field[[I], U], "Type variable 'U' does not name its types"),
        (Double, Line, "Type variable 'T' stands in no parameter"),
    ],
)
def test_variables_without_types_are_refused(annotation, result, message):
    def given(u):
        return u

    given.__annotations__ = {"u": annotation, "return": result}
    with pytest.raises(ff.errors.DSLError, match=message):
        ff.field_operator(given)


def test_programs_have_no_variables():
    with pytest.raises(ff.errors.DSLError, match="Programs have no type variables"):

        @ff.program
        def run(u: Line, out: Line):
            of_pair((u, u), out=out)


PARAMETERS = """
@ff.field_operator
def doubled[S: (ff.float32, ff.float64)](u: ff.Field[ff.Dims[I], S]) -> ff.Field[[I], S]:
    return S(2.0) * u
"""


@pytest.mark.skipif(sys.version_info < (3, 12), reason="'def f[T]' is written since Python 3.12")
@pytest.mark.parametrize("backend", BACKENDS)
def test_type_parameters_are_type_variables(backend):
    names = names_of(PARAMETERS, ff=ff, I=I)
    for dtype in DTYPES:
        out = line(dtype, 0)

        names["doubled"].with_backend(backend)(line(dtype, 3), out=out)

        assert out.asnumpy().tolist() == [6.0]
