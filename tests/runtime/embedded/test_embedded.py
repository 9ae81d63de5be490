"""Embedded execution against NumPy written by hand."""

import dataclasses
import sys
import threading
import traceback
import warnings
from typing import NamedTuple

import numpy as np
import pytest

from fieldforge.runtime.embedded import embedded
from fieldforge.runtime.embedded.builtins import float32, float64, int32
from fieldforge.runtime.fields.constructors import as_field, full, zeros
from fieldforge.runtime.fields.field import Field, make
from fieldforge.runtime.language.annotations import Dims
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.language.domain import domain
from fieldforge.runtime.process.errors import (
    ArgumentError,
    DomainError,
    IndexOutOfBounds,
    MissingArgumentError,
    OverlapError,
)

from .decorated import Decorated

I, J = Dimension("I"), Dimension("J")

IField = Field[Dims[I], float64]
IJField = Field[Dims[I, J], float64]


class Wind(NamedTuple):
    u: IField
    v: IField


@dataclasses.dataclass
class State:
    wind: Wind
    height: IField


def value_of(operator, *args, **kwargs):
    return embedded.call_operator(operator.__definition__, args, kwargs)


def laplacian_of(a):
    return -4.0 * a[1:-1, 1:-1] + a[2:, 1:-1] + a[:-2, 1:-1] + a[1:-1, 2:] + a[1:-1, :-2]


@Decorated
def laplacian(u: IJField) -> IJField:
    return -4.0 * u + u(I + 1) + u(I - 1) + u(J + 1) + u(J - 1)


@pytest.fixture
def u():
    data = np.random.default_rng(3).standard_normal((8, 7))
    return as_field([I, J], data)


# --- scalars and arithmetic ---------------------------------------------------------------------


@Decorated
def divide(a: int32, b: int32) -> int32:
    return a / b


@Decorated
def floor_divide(a: int32, b: int32) -> int32:
    return a // b


@Decorated
def modulo(a: int32, b: int32) -> int32:
    return a % b


@Decorated
def invert(a: bool) -> bool:
    return ~a


@Decorated
def negate(a: bool) -> bool:
    return not a


def test_3_4_scalars_have_the_types_of_the_language():
    assert value_of(divide, 5, 2) == 2
    assert value_of(divide, -5, 2) == -2
    assert value_of(divide, 5, 0) == 0
    assert value_of(floor_divide, -5, 2) == -3
    assert value_of(modulo, -5, 3) == 1
    assert type(value_of(divide, 5, 2)) is np.int32


def test_3_3_inversion_and_not_of_a_bool():
    assert value_of(invert, True) == False  # noqa: E712 - not ~True, which is -2
    assert value_of(negate, False) == True  # noqa: E712
    assert type(value_of(invert, True)) is np.bool_


def test_3_3_a_condition_on_a_field_is_a_type_error():
    @Decorated
    def chooses(a: IField) -> IField:
        return a if a > 0.0 else -a

    @Decorated
    def inverts(a: Field[[I], bool]) -> Field[[I], bool]:
        return not a

    with pytest.raises(TypeError, match="no truth value"):
        value_of(chooses, as_field([I], [1.0]))
    with pytest.raises(TypeError, match="no truth value"):
        value_of(inverts, as_field([I], [True]))


def test_3_3_python_abs_is_that_of_the_language():
    @Decorated
    def magnitude(a: int32) -> int32:
        return abs(a)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert value_of(magnitude, -(2**31)) == -(2**31)


@pytest.mark.parametrize(("term", "expected"), [(" + a", 2001.0), (" - a", -1999.0)])
def test_a_chain_of_thousands_of_operators_is_normal(tmp_path, term, expected):
    text = "def long(a: IField) -> IField:\n    return a" + term * 2000 + "\n"
    file = tmp_path / "long.py"
    file.write_text(text)
    names = dict(globals())
    exec(compile(text, str(file), "exec"), names)

    result = value_of(Decorated(names["long"]), as_field([I], [1.0]))

    assert result.asnumpy().tolist() == [expected]


@Decorated
def mixed_chain(a: int32, b: int32) -> int32:
    return a * b + a / b - (a - b - 1) * 2 % b


def test_a_chain_keeps_the_order_of_its_operators():
    assert value_of(mixed_chain, 7, 3) == 7 * 3 + 2 - (7 - 3 - 1) * 2 % 3


# --- domains ------------------------------------------------------------------------------------


def test_8_a_result_that_does_not_cover_the_output_is_refused(u):
    with pytest.raises(IndexOutOfBounds) as caught:
        laplacian(u, out=zeros({I: (0, 7), J: (1, 6)}))

    text = str(caught.value)
    assert "'laplacian'" in text
    assert "needed along 'I' is (0:7), given is (1:7)" in text
    assert "'u' (0:8)" in text


# --- tuples, types, memory ----------------------------------------------------------------------


def test_2_3_tuples_and_collections_go_in_and_out():
    @Decorated
    def turn(s: State) -> State:
        return State(wind=Wind(u=-s.wind.v, v=s.wind[0]), height=s.height * 2.0)

    def made(value):
        return as_field([I], [value])

    out = State(Wind(made(0.0), made(0.0)), made(0.0))
    turn(State(Wind(made(1.0), made(2.0)), made(3.0)), out=out)
    values = [out.wind.u, out.wind.v, out.height]
    assert [value.asnumpy()[0] for value in values] == [-2.0, 1.0, 6.0]

    turn(((made(5.0), made(6.0)), made(7.0)), out=((out.wind.u, out.wind.v), out.height))
    assert [value.asnumpy()[0] for value in values] == [-6.0, 5.0, 14.0]


def test_3_6_an_output_of_another_type_is_refused(u):
    for out in (zeros({I: 3}), zeros(u.domain, float32), (u, u), 3.0):
        with pytest.raises(ArgumentError, match="Expected argument 'out' to be of type"):
            laplacian(u, out=out)


def test_outputs_that_share_memory_are_refused():
    @Decorated
    def both(a: IField) -> tuple[IField, IField]:
        return a, -a

    a, out = as_field([I], [1.0, 2.0, 3.0, 4.0]), zeros({I: 4})
    memory, whole = np.zeros(5), domain({I: 4})

    with pytest.raises(OverlapError, match=r"'out\[0\]' and 'out\[1\]'"):
        both(a, out=(make(memory[:4], whole), make(memory[1:], whole)))
    both(a, out=(out[:2], out[2:]))
    assert out.asnumpy().tolist() == [1.0, 2.0, -3.0, -4.0]
    both(a, out=(out, out))  # the last write wins
    assert out.asnumpy().tolist() == [-1.0, -2.0, -3.0, -4.0]


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ((1.5, 2), "Expected argument 'a' to be of type 'int32', got 'float64'"),
        ((1, np.int64(2)), "Expected argument 'b' to be of type 'int32', got 'int64'"),
        ((2**40, 2), "Expected argument 'a' to be of type 'int32', got 'int64'"),
        ((2**70, 2), "Expected argument 'a' to be of type 'int32', got 'int'"),
        ((True, 2), "got 'bool'"),
        (("x", 2), "got 'str'"),
        ((full({I: 2}, 1), 2), r"got 'Field\[\[I\], int64\]'"),
    ],
)
def test_7_wrong_arguments_are_refused(args, says):
    with pytest.raises(ArgumentError, match=says):
        divide(*args, out=zeros({}, np.int32))


def test_3_6_a_domain_beyond_the_output_is_refused(u):
    with pytest.raises(IndexOutOfBounds, match=r"needed along 'J' is \(1:9\), given is \(0:7\)"):
        laplacian(u, out=zeros(u.domain), domain={I: (1, 2), J: (1, 9)})
    with pytest.raises(DomainError, match="not equivalent"):
        laplacian(u, out=zeros(u.domain), domain={I: (1, 2)})


def test_3_6_out_is_required(u):
    with pytest.raises(MissingArgumentError, match="'out'"):
        laplacian(u)


# --- the context, debugging ---------------------------------------------------------------------


def test_8_the_context_is_active_inside_only_and_in_this_thread_only():
    seen = []

    class Spy:
        __definition__ = None

        def __call__(self, a):
            seen.append(embedded.active())
            thread = threading.Thread(target=lambda: seen.append(embedded.active()))
            thread.start()
            thread.join()
            return a

    spy = Spy()

    @Decorated
    def watched(a: IField) -> IField:
        return spy(a)

    watched(as_field([I], [1.0]), out=zeros({I: 1}))

    assert seen == [True, False]
    assert not embedded.active()


def test_8_many_threads_run_one_operator(u):
    expected = laplacian_of(u.asnumpy())
    outs = [zeros({I: (1, 7), J: (1, 6)}) for _ in range(8)]
    threads = [threading.Thread(target=laplacian, args=(u,), kwargs={"out": o}) for o in outs]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for out in outs:
        np.testing.assert_allclose(out.asnumpy(), expected)


def test_8_a_traceback_shows_the_line_of_the_user():
    @Decorated
    def wrong(a: IField) -> IField:
        b = a + a
        return b + a(J + 1)  # the line at fault

    with pytest.raises(DomainError) as caught:
        value_of(wrong, as_field([I], [1.0]))

    frame = next(f for f in traceback.extract_tb(caught.value.__traceback__) if f.name == "wrong")
    assert frame.filename == __file__
    assert frame.line == "return b + a(J + 1)  # the line at fault"


def test_8_a_tracer_sees_the_lines_of_the_user(u):
    lines = set()

    def trace(frame, event, arg):
        if frame.f_code.co_name == "laplacian" and event == "line":
            lines.add((frame.f_code.co_filename, frame.f_lineno))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        value_of(laplacian, u)
    finally:
        sys.settrace(before)

    first = laplacian.__definition__.function.__code__.co_firstlineno
    assert lines == {(__file__, first + 2)}
