import types

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float32, float64
from fieldforge.runtime._core import Program

I = ff.Dimension("I")
FACTOR = 2.0
CONSTANTS = types.ModuleType("constants")
CONSTANTS.step = 0.5

pytestmark = pytest.mark.needs_compiler


@pytest.fixture
def factor(monkeypatch):
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    return lambda value: monkeypatch.setitem(globals(), "FACTOR", value)


@ff.field_operator
def scaled(a: Field[Dims[I], float64]) -> Field[Dims[I], float64]:
    return a * FACTOR + CONSTANTS.step


@ff.program(backend=ff.cpu)
def scale(a: Field[Dims[I], float64], out: Field[Dims[I], float64]):
    scaled(a, out=out)


def result(program) -> float:
    out = ff.zeros({I: 2})
    program(ff.ones({I: 2}), out)
    return float(out.asnumpy()[0])


def test_native_program_notices_a_global_that_its_operator_sees(factor):
    before = result(scale)
    factor(3.0)

    assert (before, result(scale)) == (2.5, 3.5)


def test_native_program_stays_native_after_a_change(factor):
    result(scale)
    factor(4.0)
    result(scale)

    assert type(scale).__call__ is Program.__call__
    assert result(scale) == 4.5


def test_native_program_notices_an_attribute_of_a_module(monkeypatch):
    before = result(scale)
    monkeypatch.setattr(CONSTANTS, "step", 1.0)

    assert (before, result(scale)) == (2.5, 3.0)


def test_nonlocal_name_is_noticed():
    shift = 1.0

    @ff.field_operator
    def shifted(a: Field[Dims[I], float64]) -> Field[Dims[I], float64]:
        return a + shift

    @ff.program(backend=ff.cpu)
    def run(a: Field[Dims[I], float64], out: Field[Dims[I], float64]):
        shifted(a, out=out)

    before = result(run)
    shift = 5.0

    assert (before, result(run)) == (2.0, 6.0)


def test_precision_of_annotations_is_read_anew(tmp_path, monkeypatch):
    source = """
import fieldforge as ff
from fieldforge import Dims, Field
I = ff.Dimension("I")
wpfloat = ff.float64

def set_precision(kind):
    global wpfloat
    wpfloat = kind

@ff.field_operator
def halved(a: "Field[Dims[I], wpfloat]") -> "Field[Dims[I], wpfloat]":
    return a * wpfloat("0.5")

@ff.program(backend=ff.cpu)
def halve(a: "Field[Dims[I], wpfloat]", out: "Field[Dims[I], wpfloat]"):
    halved(a, out=out)
"""
    (tmp_path / "precise.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    import precise

    def halves(kind):
        out = ff.zeros({I: 1}, kind)
        precise.halve(ff.ones({I: 1}, kind), out)
        return out.asnumpy()

    first = halves(float64)
    precise.set_precision(float32)

    assert first.tolist() == halves(float32).tolist() == [0.5]
    assert halves(float32).dtype == np.float32


def test_watched_places_are_dictionaries_or_cells():
    program = Program("p", ("a",), print, print)

    with pytest.raises(TypeError, match="Expected a dictionary"):
        program.watch([([], "x", 1)], print)
