"""`program.bind`: what is fixed, what is left, and that it stays true to the program."""

import contextlib
import inspect

import numpy as np
import pytest

import fieldforge as ff
from fieldforge.errors import ArgumentError, DomainError
from fieldforge.runtime.process import hooks

from ...dimensions import I, Line


@ff.field_operator
def scaled(u: Line, by: ff.float64) -> Line:
    return u * by


@ff.program(backend=ff.cpu)
def scale(u: Line, by: ff.float64, out: Line):
    scaled(u, by, out=out)


@pytest.fixture
def u():
    return ff.as_field([I], [1.0, 2.0, 3.0])


@pytest.fixture
def out():
    return ff.zeros({I: 3})


def test_what_is_left_is_given_by_position_or_by_name(u, out):
    bound = scale.bind(u=u)

    bound(2.0, out)
    assert out.asnumpy().tolist() == [2.0, 4.0, 6.0]
    bound(out=out, by=3.0)
    assert out.asnumpy().tolist() == [3.0, 6.0, 9.0]


def test_the_signature_is_that_of_what_is_left(u):
    assert list(inspect.signature(scale.bind(u=u)).parameters) == ["by", "out"]
    assert repr(scale.bind(u=u, by=1.0)) == "<scale(out: Field[[I], float64])>"


def test_a_call_with_nothing_left_reads_what_the_fields_hold_now(u, out):
    bound = scale.bind(u=u, by=2.0, out=out)
    bound()
    u.ndarray[:] = 5.0

    bound.call()

    assert out.asnumpy().tolist() == [10.0, 10.0, 10.0]


def test_names_that_are_no_parameters_are_refused_with_the_nearest(u):
    with pytest.raises(ArgumentError, match=r"no parameter 'outt' to bind.*\n.*mean 'out'"):
        scale.bind(outt=u)
    with pytest.raises(ArgumentError, match=r"scale\(\) missing 1 required .*'out'"):
        scale.bind(u=u)(1.0)
    with pytest.raises(ArgumentError, match="unexpected keyword argument 'u'"):
        scale.bind(u=u)(1.0, u, u=u)


def test_arguments_that_do_not_fit_are_refused_as_in_a_call(u):
    bound = scale.bind(u=u, by=2.0, out=ff.zeros({I: 5}))

    for _ in range(2):
        with pytest.raises(DomainError, match="'u' is too small"):
            bound()


def test_a_name_that_is_bound_anew_is_noticed(u, out):
    scope = {"ff": ff, "Line": Line, "factor": 2.0}
    source = "def times(u: Line) -> Line:\n    return u * factor\n"
    _, call = decorated(scope, source, "def call(u: Line, out: Line):\n    times(u, out=out)\n")
    bound = call.bind(u=u, out=out)
    bound()
    assert out.asnumpy().tolist() == [2.0, 4.0, 6.0]

    scope["factor"] = 10.0
    bound()

    assert out.asnumpy().tolist() == [10.0, 20.0, 30.0]


def decorated(scope, operator, program):
    import linecache

    for number, text in enumerate((operator, program)):
        file = f"<rebound {number}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), scope)
        name = text.split("(")[0].removeprefix("def ")
        decorate = ff.program(backend=ff.cpu) if number else ff.field_operator
        scope[name] = decorate(scope[name])
    return scope["times"], scope["call"]


def test_a_static_argument_that_is_bound_chooses_the_variant(u, out):
    static = scale.with_static_params("by")
    twice, thrice = static.bind(by=2.0, u=u), static.bind(by=3.0, u=u)

    twice(out)
    assert out.asnumpy().tolist() == [2.0, 4.0, 6.0]
    thrice(out)
    assert out.asnumpy().tolist() == [3.0, 6.0, 9.0]
    static.bind(u=u)(4.0, out)
    assert out.asnumpy().tolist() == [4.0, 8.0, 12.0]


def test_bound_arguments_of_the_program_stay_bound(u, out):
    program = scale.with_bound_args(by=2.0)

    program.bind(u=u, out=out)()

    assert out.asnumpy().tolist() == [2.0, 4.0, 6.0]
    with pytest.raises(ArgumentError, match="already set as a bound argument"):
        program.bind(by=1.0)


@pytest.mark.filterwarnings("ignore:Program")
@pytest.mark.parametrize("backend", [None, ff.reference])
def test_other_backends_are_bound_alike(backend, u, out):
    bound = scale.with_backend(backend).bind(u=u, out=out)

    bound(2.0)

    assert out.asnumpy().tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize("bind", [scale.bind, scale.with_bound_args(by=2.0).bind])
def test_hooks_see_the_calls_of_a_bound_program(bind, u, out):
    seen = []
    bound = bind(u=u, out=out) if bind != scale.bind else bind(u=u, by=2.0, out=out)
    bound()

    def watch(program, args, offset_provider, enable_jit, kwargs):
        seen.append((program.__name__, sorted(kwargs)))
        return contextlib.nullcontext()

    hooks.program_call_context.register(watch)
    try:
        bound()
    finally:
        hooks.program_call_context.remove(watch)
    bound()

    assert seen == [("scale", ["by", "out", "u"])]
    assert out.asnumpy().tolist() == [2.0, 4.0, 6.0]


def test_a_bound_call_keeps_its_fields_alive(out):
    bound = scale.bind(u=ff.ones({I: 3}), by=2.0, out=out)

    for _ in range(3):
        np.zeros(3)
        bound()

    assert out.asnumpy().tolist() == [2.0, 2.0, 2.0]


Ih = ff.flip_staggered(I)
Faces = ff.Field[ff.Dims[Ih], ff.float64]


@ff.field_operator
def scaled_faces(u: Faces, by: ff.float64) -> Faces:
    return u * by


@ff.program(backend=ff.cpu)
def scale_faces(u: Faces, by: ff.float64, out: Faces):
    scaled_faces(u, by, out=out)


def test_a_bound_program_shows_staggered_dimensions_by_their_name():
    shown = "<scale_faces(u: Field[[I_staggered], float64], out: Field[[I_staggered], float64])>"
    assert repr(scale_faces.bind(by=2.0)) == shown
