"""The native core: views, entries, and calls of small C functions that say what they got."""

import dataclasses
import enum
import gc
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from fieldforge.runtime._core import Entry, FieldView, Library, Program
from fieldforge.runtime.calls.plan import Access, Argument, Box, Plan, Word
from fieldforge.runtime.calls.program_errors import ProgramFailedError
from fieldforge.runtime.calls.refusals import reject
from fieldforge.runtime.fields.alignment import is_same_array
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.process.errors import ArgumentError, DomainError, OverlapError

from ..stages.codegen.programs import BINARY
from .entries import compiled, field, scalar

I, J, K, L, M = (Dimension(name) for name in "IJKLM")

SOURCE = r"""
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <thread>
#define ENTRY(name) extern "C" int32_t name(const void* const* ptrs, const int64_t* ints, \
                                            const void* scalars, void* arena, void*)
using f64 = double;

// out[i] = in[i - 1] + in[i + 1], in the order of i
ENTRY(neighbours) {
    f64* out = (f64*)ptrs[0]; const f64* in = (const f64*)ptrs[1];
    for (int64_t i = ints[2]; i < ints[3]; ++i)
        out[i * ints[0]] = in[(i - 1) * ints[1]] + in[(i + 1) * ints[1]];
    return 0;
}
ENTRY(copy_ints) {
    for (int64_t i = 0; i < ints[0]; ++i) ((int64_t*)ptrs[0])[i] = ints[i];
    return 0;
}
ENTRY(copy_scalars) { memcpy((void*)ptrs[0], scalars, ints[0]); return 0; }
ENTRY(address_of_arena) { *(uint64_t*)ptrs[0] = (uint64_t)arena; return 0; }
ENTRY(status) { return *(const int32_t*)scalars; }
ENTRY(nothing) { return 0; }

// Returns 0 once as many threads as the scalar says are inside, each with an arena of its own.
static std::atomic<int> inside{0};
ENTRY(meet) {
    const int count = *(const int32_t*)scalars;
    *(uint64_t*)arena = (uint64_t)arena;
    ++inside;
    for (int i = 0; i < 20000 && inside < count; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return inside < count ? 1 : *(uint64_t*)arena == (uint64_t)arena ? 0 : 2;
}
// Says that it is inside, and waits until it may leave.
ENTRY(hold) {
    volatile int32_t* flags = (volatile int32_t*)ptrs[0];
    flags[0] = 1;
    for (int i = 0; i < 20000 && !flags[1]; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return !flags[1];
}
// Adds the scalar to every element, using the arena in between.
ENTRY(add_in_arena) {
    const int64_t n = ints[0]; int64_t* out = (int64_t*)ptrs[0]; int64_t* work = (int64_t*)arena;
    const int64_t more = *(const int64_t*)scalars;
    for (int64_t i = 0; i < n; ++i) work[i] = out[i] + more;
    for (int64_t i = 0; i < n; ++i) out[i] = work[i];
    return 0;
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return Library(str(compiled(SOURCE, tmp_path_factory.mktemp("entries"), "-pthread")))


def const(value):
    return (Word("const", value),)


def plus(code, value):
    return (*code, Word("const", value), Word("add"))


def no_entry(args, kwargs):
    raise AssertionError("the call fits no entry")


def make_program(plan, library, symbol):
    made = Program("p", plan.parameters, no_entry, reject)
    made.add(Entry(plan, library.symbol(symbol), library))
    return made


def view(array, *dims, starts=None):
    return FieldView(array, dims, starts or (0,) * len(dims))


# --- views -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
)
def test_a_view_shows_what_it_was_made_of(dtype):
    array = np.zeros((3, 4), dtype, order="F")

    made = FieldView(array, [I, J], [-1, 2])

    assert made.ndarray is array
    assert (made.dims, made.starts, made.stops) == ((I, J), (-1, 2), (2, 6))
    assert (made.shape, made.strides, made.ndim) == (array.shape, array.strides, 2)
    assert (made.dtype_name, made.pointer, made.readonly) == (dtype, array.ctypes.data, False)
    assert (made.device_type, made.device_id) == (1, 0)


def test_a_view_can_have_no_axes_and_more_axes_than_usual():
    point, many = view(np.array(2.5)), view(np.zeros((2, 3, 4, 5, 6)), I, J, K, L, M)
    assert (point.shape, many.shape) == ((), (2, 3, 4, 5, 6))


def test_the_longlong_types_are_those_of_64_bits():
    made = [view(np.zeros(2, dtype), I).dtype_name for dtype in ("longlong", "ulonglong", "intc")]
    assert made == ["int64", "uint64", "int32"]


@pytest.mark.parametrize("dtype", [">f8", "f2", "c16", "M8[s]", "U3", [("a", "f8")]])
def test_elements_that_no_program_has_are_refused(dtype):
    with pytest.raises((TypeError, ValueError)):
        view(np.zeros(2, dtype), I)


@pytest.mark.parametrize(
    ("dims", "starts", "kind"),
    [
        ((I,), (0, 0), ValueError),
        ((I, J), (0,), ValueError),
        ((I, J), (0, 0.5), TypeError),
        ((I, J), (0, 2**63 - 2), OverflowError),
        ((I, J), (0, 2**63), OverflowError),
    ],
)
def test_dims_and_starts_must_fit_the_array(dims, starts, kind):
    with pytest.raises(kind):
        FieldView(np.zeros((3, 4)), dims, starts)


def test_a_view_is_set_up_once():
    made = view(np.zeros(3), I)
    with pytest.raises(TypeError, match="once"):
        made.__init__(np.zeros(4), (I,), (0,))
    assert made.shape == (3,)


def test_a_view_can_be_made_from_parts():
    owner = object()

    made = FieldView.from_parts(64, (2, 3), (24, 8), "float64", 2, 1, owner, (I, J), (5, 6), True)

    assert made.ndarray is owner
    assert (made.pointer, made.shape, made.strides, made.starts) == (64, (2, 3), (24, 8), (5, 6))
    assert (made.device_type, made.device_id, made.readonly) == (2, 1, True)


class Field(FieldView):
    """A subclass with attributes and arguments of its own."""

    def __init__(self, array, dims, starts=None, note=""):
        super().__init__(array, dims, starts or (0,) * len(dims))
        self.note = note


def test_a_view_can_be_subclassed():
    made = Field(np.zeros(3), (I,), note="hello")
    parts = Field.from_parts(64, (2,), (8,), "int64", 1, 0, None, (I,), (0,))
    assert (made.note, made.shape) == ("hello", (3,))
    assert type(parts) is Field


def test_a_cycle_through_a_view_is_collected():
    array = np.zeros(3)
    made = Field(array, (I,))
    made.note = made
    seen, before = weakref.ref(made), sys.getrefcount(array)

    del made
    gc.collect()

    assert seen() is None
    assert sys.getrefcount(array) < before


# --- plans that are not well-formed ------------------------------------------------------------


A_AND_X = (field("a", 0), scalar("x", 1, "float64"))


def ints(*codes, arguments=A_AND_X):
    return Plan("p", ("a", "x"), arguments, codes, ())


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(ints(()), id="no value"),
        pytest.param(ints((*const(1), *const(2))), id="two values"),
        pytest.param(ints((*const(1), Word("add"))), id="too few values"),
        pytest.param(ints((Word("int", 0),)), id="an integer that is not known yet"),
        pytest.param(ints((Word("start", argument=7),)), id="no such argument"),
        pytest.param(ints((Word("start", axis=1),)), id="no such axis"),
        pytest.param(ints((Word("start", argument=1),)), id="the start of a scalar"),
        pytest.param(ints((Word("scalar", argument=0),)), id="a field as a scalar"),
        pytest.param(ints((Word("scalar", argument=1),)), id="a bound that is a float"),
        pytest.param(ints((Word("power"),)), id="unknown instruction"),
        pytest.param(ints((Word("patches"),)), id="patches without an order"),
        pytest.param(
            ints((Word("patches", slots=(0, 96, 0, 1024, 250, 1, 1, 128, -1, 0, -1, 1, 0, 0)),)),
            id="a nest that reads what it fills",
        ),
        pytest.param(
            ints((Word("patches", slots=(0, 96, 0, 1024, 250, 1, 1, 128, -1, 0, -1, 0)),)),
            id="patches of a field",
        ),
        pytest.param(
            ints((Word("patches", slots=(0, 96, 0, 1024, 250, 1, 1, 128, -1, 0, 0, 0)),)),
            id="a nest that begins with itself",
        ),
        pytest.param(ints(arguments=(field("a", 5),)), id="no such parameter"),
        pytest.param(ints(arguments=(field("a", (0, -1)),)), id="negative path"),
        pytest.param(ints(arguments=(field("a", 0, unit=1),)), id="no such unit axis"),
        pytest.param(ints(arguments=(field("a", 0, dtype="float16"),)), id="unknown dtype"),
        pytest.param(Plan("p", (), (), (), (), abi=2), id="another ABI"),
        pytest.param(
            Plan("p", ("a",), (field("a", 0),), (), (Access((Box(0, (), ()),), ()),)),
            id="a box without ranges",
        ),
    ],
)
def test_a_plan_that_is_not_well_formed_is_refused(plan):
    with pytest.raises(ValueError, match="not well-formed"):
        Entry(plan, 1)


def test_an_entry_for_other_parameters_is_refused():
    program = Program("p", ("a", "b"), no_entry, reject)
    with pytest.raises(ValueError, match="2 parameters, got one for 0"):
        program.add(Entry(Plan("p", (), (), (), ()), 1))


@pytest.mark.parametrize("names", [("a", "a"), ("offset_provider",), ("enable_jit",)])
def test_names_of_parameters_are_unique_and_not_reserved(names):
    with pytest.raises(ValueError, match="is taken"):
        Program("p", names, no_entry, reject)


# --- words -------------------------------------------------------------------------------------

FARTHEST = 2**62
EDGES = (0, 1, -1, 2, 7, -7, 2**31, 2**40, FARTHEST - 1, 1 - FARTHEST)
NUMBERS = st.sampled_from(EDGES) | st.integers(-(2**31), 2**31 - 1)


@st.composite
def codes(draw):
    """An integer program over scalars 1 and 2, and the function that it computes."""
    words, depth = [], 0
    for _ in range(draw(st.integers(1, 12))):
        if depth >= 2 and draw(st.booleans()):
            words.append(Word(draw(st.sampled_from(sorted(BINARY)))))
            depth -= 1
        elif draw(st.booleans()):
            words.append(Word("scalar", argument=draw(st.integers(1, 2))))
            depth += 1
        else:
            words.append(Word("const", draw(NUMBERS)))
            depth += 1
    words += [Word(draw(st.sampled_from(sorted(BINARY)))) for _ in range(depth - 1)]
    return tuple(words)


def evaluated(code, scalars):
    stack = []
    for word in code:
        if word.op == "const":
            stack.append(word.value)
        elif word.op == "scalar":
            stack.append(scalars[word.argument])
        else:
            right, left = stack.pop(), stack.pop()
            stack.append(BINARY[word.op](left, right))
            assume(abs(stack[-1]) < FARTHEST)
    return stack[0]


@pytest.mark.needs_compiler
@given(st.lists(codes(), min_size=1, max_size=5), NUMBERS, NUMBERS)
def test_integer_programs_compute_what_python_would(library, programs, m, n):
    arguments = (
        field("out", 0, dtype="int64", written=True),
        scalar("m", 1, "int64"),
        scalar("n", 2, "int64"),
    )
    every = (const(len(programs) + 1), *programs)
    plan = Plan("p", ("out", "m", "n"), arguments, every, ())
    out = np.zeros(len(every), np.int64)

    meant = [evaluated(code, {1: m, 2: n}) for code in programs]
    make_program(plan, library, "copy_ints")(view(out, I), m, n)

    assert out[1:].tolist() == meant


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("n", "meant"),
    [
        (FARTHEST - 1, [FARTHEST - 1, FARTHEST + 4, FARTHEST, -FARTHEST, FARTHEST]),
        (2**63 - 1, [FARTHEST, FARTHEST + 5, FARTHEST, -FARTHEST, FARTHEST]),
        (-(2**63), [-FARTHEST, 5 - FARTHEST, -FARTHEST, FARTHEST, FARTHEST]),
    ],
)
def test_integer_programs_stop_before_they_leave_64_bits(library, n, meant):
    number = Word("scalar", argument=1)
    programs = (
        (number,),
        (number, Word("const", 5), Word("add")),
        (number, Word("const", 3), Word("mul")),
        (number, Word("const", -3), Word("mul")),
        (number, number, Word("mul")),
    )
    every = (const(len(programs) + 1), *programs)
    arguments = (field("out", 0, dtype="int64", written=True), scalar("n", 1, "int64"))
    plan = Plan("p", ("out", "n"), arguments, every, ())
    out = np.zeros(len(every), np.int64)

    make_program(plan, library, "copy_ints")(view(out, I), n)

    assert out[1:].tolist() == meant


@pytest.mark.needs_compiler
def test_starts_stops_and_strides_become_integers(library):
    arguments = (field("out", 0, dtype="int64", written=True), field("a", 1, (I, J), "float32"))
    words = [
        Word(op, argument=1, axis=axis) for op in ("start", "stop", "stride") for axis in (0, 1)
    ]
    every = (const(9), *((word,) for word in words), (Word("int", 2), Word("int", 4), Word("add")))
    every = (*every, (Word("int", 7), Word("const", -1), Word("mul")))
    out, array = np.zeros(9, np.int64), np.zeros((4, 8), np.float32)[::-2, ::4]
    plan = Plan("p", ("out", "a"), arguments, every, ())

    make_program(plan, library, "copy_ints")(view(out, I), view(array, I, J, starts=(-3, 5)))

    assert out[1:].tolist() == [-3, 5, -1, 7, -16, 4, 12, -12]


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", -128),
        ("uint8", 255),
        ("int16", np.int16(-5)),
        ("uint16", 65535),
        ("int32", -(2**31)),
        ("int32", np.int32(7)),
        ("int32", np.intc(7)),
        ("uint32", 2**32 - 1),
        ("int64", 2**63 - 1),
        ("int64", np.longlong(-3)),
        ("uint64", 2**64 - 1),
        ("uint64", np.uint64(2**64 - 1)),
        ("float32", np.float32(1.5)),
        ("float64", 2.5),
        ("float64", np.float64(2.5)),
        ("bool", True),
        ("bool", False),
        ("bool", np.bool_(True)),
        ("int32", enum.IntEnum("Level", {"HIGH": 3}).HIGH),
        ("int32", enum.Enum("Mode", {"FAST": 4}).FAST),
        ("float32", enum.Enum("Tiny", {"EPS": np.float32(0.25)}).EPS),
        ("float64", enum.Enum("Real", {"PI": 3.25}, type=float).PI),
    ],
)
def test_a_scalar_arrives_in_its_own_dtype(library, dtype, value):
    arguments = (field("out", 0, dtype=dtype, written=True), scalar("x", 1, dtype))
    plan = Plan("p", ("out", "x"), arguments, (const(np.dtype(dtype).itemsize),), ())
    out = np.zeros(1, dtype)

    make_program(plan, library, "copy_scalars")(view(out, I), value)

    assert out[0] == getattr(value, "value", value)


@pytest.mark.needs_compiler
def test_bits_after_a_short_scalar_are_zero(library):
    arguments = (
        field("out", 0, dtype="uint8", written=True),
        scalar("x", 1, "int8"),
        scalar("y", 2, "bool"),
    )
    plan = Plan("p", ("out", "x", "y"), arguments, (const(16),), ())
    out = np.full(16, 9, np.uint8)

    make_program(plan, library, "copy_scalars")(view(out, I), -1, True)

    assert out.tolist() == [255, *[0] * 7, 1, *[0] * 7]


# --- binding -----------------------------------------------------------------------------------


@pytest.fixture
def digits(library):
    """A program over scalars a, b and c that writes them to `out`."""
    arguments = (
        field("out", 0, dtype="int64", written=True),
        *(scalar(name, index, "int64") for index, name in enumerate("abc", 1)),
    )
    plan = Plan("p", ("out", "a", "b", "c"), arguments, (const(24),), ())
    return make_program(plan, library, "copy_scalars")


@pytest.mark.needs_compiler
@pytest.mark.parametrize("order", ["abc", "acb", "bac", "bca", "cab", "cba"])
@pytest.mark.parametrize("positional", [0, 1, 2])
def test_keywords_may_come_in_any_order(digits, order, positional):
    out = np.zeros(3, np.int64)
    values = {"a": 1, "b": 2, "c": 3}
    keywords = {name: values[name] for name in order if name not in "abc"[:positional]}

    result = digits(view(out, I), *range(1, positional + 1), **keywords)

    assert result is None
    assert out.tolist() == [1, 2, 3]


@pytest.mark.needs_compiler
def test_a_keyword_that_is_not_interned_is_found_by_its_text(digits):
    out = np.zeros(3, np.int64)
    names = [bytes(name, "ascii").decode() for name in ("out",)]
    assert names[0] is not sys.intern("out")

    digits(**{names[0]: view(out, I)}, a=7, b=8, c=9)

    assert out.tolist() == [7, 8, 9]


@pytest.mark.needs_compiler
def test_the_provider_and_the_switch_are_handed_on(library):
    seen = []
    plan = Plan("p", ("n",), (scalar("n", 0, "int32"),), (), ())

    def on_miss(args, kwargs):
        seen.append((args, kwargs))
        program.add(Entry(plan, library.symbol("nothing"), library))

    program = Program("p", ("n",), on_miss, reject)
    program(3, offset_provider={"Ioff": I}, enable_jit=False)
    program(n=4, offset_provider={})

    assert seen == [((3,), {"offset_provider": {"Ioff": I}, "enable_jit": False})]


class Pair(NamedTuple):
    first: object
    second: object


@dataclasses.dataclass
class Box3:
    pair: object
    last: object


@pytest.mark.needs_compiler
@pytest.mark.parametrize(
    "given",
    [((1, 2), 3), (Pair(1, 2), 3), Box3((1, 2), 3), Box3(Pair(1, 2), 3), Box3(Box3(1, 2), 3)],
)
def test_leaves_are_found_in_tuples_and_collections(library, given):
    paths = ((1, 0, 0), (1, 0, 1), (1, 1))
    arguments = (
        field("out", 0, dtype="int64", written=True),
        *(Argument(f"x{i}", path, "scalar", "int64") for i, path in enumerate(paths)),
    )
    plan = Plan("p", ("out", "tree"), arguments, (const(24),), ())
    out = np.zeros(3, np.int64)

    make_program(plan, library, "copy_scalars")(view(out, I), given)

    assert out.tolist() == [1, 2, 3]


@pytest.mark.needs_compiler
def test_many_parameters_need_no_special_care(library):
    count = 200
    names = ("out", *(f"x{i}" for i in range(count)))
    arguments = (
        field("out", 0, dtype="int64", written=True),
        *(scalar(name, index, "int64") for index, name in enumerate(names[1:], 1)),
    )
    unused = tuple(const(i) for i in range(800))
    program = make_program(
        Plan("p", names, arguments, (const(8 * count), *unused), ()), library, "copy_scalars"
    )
    out = np.zeros(count, np.int64)

    program(view(out, I), **{name: i for i, name in enumerate(names[1:])})

    assert out.tolist() == list(range(count))


# --- entries -----------------------------------------------------------------------------------


def layouts(library):
    """Two entries for one field, of which the first asks for unit stride, and their program."""
    made = []
    for unit, symbol in ((-1, "nothing"), (0, "status")):
        arguments = (field("a", 0, unit=unit), scalar("n", 1, "int32"))
        plan = Plan("p", ("a", "n"), arguments, (), ())
        made.append(Entry(plan, library.symbol(symbol), library))
    program = Program("p", ("a", "n"), no_entry, reject)
    for entry in made:
        program.add(entry)
    return program, made


@pytest.mark.needs_compiler
def test_the_entry_for_the_layout_is_called_and_the_special_one_comes_first(library):
    program, (general, special) = layouts(library)

    program(view(np.zeros(8)[::2], I), 3)
    program(view(np.zeros(1)[::-1], I), 0)
    with pytest.raises(ProgramFailedError, match="stopped with code 3"):
        program(view(np.zeros(8), I), 3)

    assert program.entries == (special, general)


@pytest.mark.needs_compiler
def test_a_layout_without_entry_is_a_miss(library):
    _, (general, special) = layouts(library)
    program = Program("p", ("a", "n"), lambda args, kwargs: program.add(general), reject)
    program.add(special)

    program(view(np.zeros(8)[::2], I), 3)

    assert program.entries == (special, general)


def test_a_miss_that_adds_nothing_is_an_error():
    with pytest.raises(RuntimeError, match="'on_miss' of 'p' added no entry"):
        Program("p", (), lambda args, kwargs: None, reject)()


def test_an_error_in_on_miss_reaches_the_caller():
    def on_miss(args, kwargs):
        raise KeyError("nothing here")

    with pytest.raises(KeyError, match="nothing here"):
        Program("p", (), on_miss, reject)()


def test_a_reject_that_returns_is_an_error():
    with pytest.raises(RuntimeError, match="'on_reject' must raise"):
        Program("p", (), no_entry, lambda *details: None)(1)


@pytest.mark.needs_compiler
def test_a_program_can_be_subclassed_and_keeps_its_checks(library):
    class Decorated(Program):
        def __new__(cls, name, backend):
            return super().__new__(cls, name, ("n",), no_entry, reject)

        def __init__(self, name, backend):
            self.backend = backend

    class Counted(Decorated):
        calls = 0

        def __call__(self, *args, **kwargs):
            self.calls += 1
            return super().__call__(*args, **kwargs)

    for kind in (Decorated, Counted):
        program = kind("p", "cpu")
        plan = Plan("p", ("n",), (scalar("n", 0, "int32"),), (), ())
        program.add(Entry(plan, library.symbol("nothing"), library))
        program(1)
        program(n=1, offset_provider={})
        with pytest.raises(ArgumentError):
            program(m=1)
        assert (program.backend, program.name, program.parameters) == ("cpu", "p", ("n",))
    assert program.calls == 3


def test_a_program_that_refers_to_itself_is_collected():
    class Decorated(Program):
        def __new__(cls):
            made = super().__new__(cls, "p", (), lambda args, kwargs: made, reject)
            made.add(Entry(Plan("p", (), (), (), ()), 1, made))
            return made

    seen = weakref.ref(Decorated())

    gc.collect()

    assert seen() is None


# --- memory ------------------------------------------------------------------------------------


def neighbours_plan(pointwise=()):
    """The plan of `out[i] = a[i - 1] + a[i + 1]` for the indices of the scalars lo and hi."""
    arguments = (
        field("out", 0, written=True),
        field("a", 1, read=True),
        scalar("lo", 2, "int32"),
        scalar("hi", 3, "int32"),
    )
    low, high = (Word("scalar", argument=2),), (Word("scalar", argument=3),)
    strides = tuple((Word("stride", argument=index),) for index in (0, 1))
    access = Access(
        (Box(0, (low,), (high,)),), (Box(1, (plus(low, -1),), (plus(high, 1),)),), pointwise
    )
    return Plan("p", ("out", "a", "lo", "hi"), arguments, (*strides, low, high), (access,))


@pytest.mark.needs_compiler
@pytest.mark.parametrize("step", [1, 3, -1, -2])
def test_code_indexes_with_domain_indices(library, step):
    program = make_program(neighbours_plan(), library, "neighbours")
    source, target = np.arange(100.0)[: 12 * abs(step)][::step], np.zeros(10)

    program(view(target, I, starts=(-4,)), view(source, I, starts=(-5,)), -4, 6)

    assert target.tolist() == (source[:-2] + source[2:]).tolist()


@pytest.mark.needs_compiler
def test_an_empty_domain_needs_nothing(library):
    program = make_program(neighbours_plan(), library, "neighbours")
    program(view(np.zeros(0), I), view(np.zeros(0), I), 7, 7)
    program(view(np.zeros(3), I), view(np.zeros(0), I), 9, -9)
    with pytest.raises(DomainError, match="reads -1:2, but 'a' covers 0:0"):
        program(view(np.zeros(3), I), view(np.zeros(0), I), 0, 1)


@pytest.mark.needs_compiler
@pytest.mark.parametrize("shift", range(-12, 13))
@pytest.mark.parametrize("step", [1, 2])
def test_an_input_that_overlaps_the_output_is_read_as_it_was(library, shift, step):
    program = make_program(neighbours_plan(), library, "neighbours")
    array = np.random.default_rng(0).random(80)
    target = array[30 : 30 + 10 * step : step]
    source = array[30 + shift : 30 + shift + 12 * step : step]
    before = array.copy()
    expected = before.copy()
    expected[30 : 30 + 10 * step : step] = (source[:-2] + source[2:]).copy()

    program(view(target, I, starts=(1,)), view(source, I), 1, 11)

    assert array.tolist() == expected.tolist()


@pytest.mark.needs_compiler
def test_pointwise_code_gets_the_memory_itself(library):
    """The pair is declared pointwise although it is not: only so can the missing copy be seen."""
    array = np.arange(6.0)
    same = view(array, I)

    make_program(neighbours_plan(pointwise=((0, 1),)), library, "neighbours")(same, same, 1, 5)

    assert array.tolist() == [0.0, 2.0, 5.0, 9.0, 14.0, 5.0]


@pytest.mark.needs_compiler
def test_pointwise_code_gets_a_copy_of_another_view(library):
    array = np.arange(6.0)
    program = make_program(neighbours_plan(pointwise=((0, 1),)), library, "neighbours")

    program(view(array, I), view(array, I, starts=(-1,)), 1, 4)

    assert array.tolist() == [0.0, 4.0, 6.0, 8.0, 4.0, 5.0]


@st.composite
def two_views(draw):
    """Two views of one array, by slices and transposition."""
    base = np.zeros(draw(st.tuples(*[st.integers(1, 5)] * 3)))
    made = []
    for _ in range(2):
        steps = [draw(st.sampled_from((1, 2, 3, -1, -2))) for _ in base.shape]
        slices = tuple(
            slice(*sorted((draw(st.integers(0, n)), draw(st.integers(0, n))))) for n in base.shape
        )
        cut = base[slices][tuple(slice(None, None, step) for step in steps)]
        made.append(cut.transpose(draw(st.permutations(range(3)))))
    return made


@given(two_views())
def test_outputs_are_refused_exactly_if_they_share_memory(views):
    arguments = tuple(field(name, i, (I, J, K), written=True) for i, name in enumerate("xy"))
    ends = [
        [(Word(end, 0, i, k),) for k in range(3)] for i in range(2) for end in ("start", "stop")
    ]
    boxes = tuple(Box(i, tuple(ends[2 * i]), tuple(ends[2 * i + 1])) for i in range(2))
    plan = Plan(
        "p", ("x", "y", "n"), (*arguments, scalar("n", 2, "int32")), (), (Access(boxes, ()),),
        const(1 << 62),
    )  # fmt: skip
    program = Program("p", ("x", "y", "n"), no_entry, reject)
    program.add(Entry(plan, 1))  # there is no such workspace, so that no call is made

    with pytest.raises((OverlapError, ProgramFailedError)) as error:
        program(*(view(each, I, J, K) for each in views), 0)

    # an axis of one element has no stride that matters
    same = is_same_array(*(each.squeeze() for each in views)) and views[0].shape == views[1].shape
    refused = np.shares_memory(*views) and not same
    assert (error.type is OverlapError) == refused


@pytest.mark.needs_compiler
def test_the_arena_is_aligned_and_used_again(library):
    arguments = (field("out", 0, (), "uint64", written=True), scalar("n", 1, "int64"))
    size = (Word("scalar", argument=1),)
    plan = Plan("p", ("out", "n"), arguments, (), (), size)
    program = make_program(plan, library, "address_of_arena")
    out = np.zeros((), np.uint64)
    seen = []

    for bytes_wanted in (0, -5, 100, 50, 100, 1 << 23):
        program(view(out), bytes_wanted)
        seen.append(int(out))

    assert seen[:2] == [0, 0]
    assert 0 not in seen[2:]
    assert seen[2] == seen[3] == seen[4]
    assert all(address % 64 == 0 for address in seen)


# --- threads and references --------------------------------------------------------------------


@pytest.mark.needs_compiler
def test_threads_are_inside_a_program_at_the_same_time(library):
    plan = Plan("p", ("n",), (scalar("n", 0, "int32"),), (), (), const(4096))
    program = make_program(plan, library, "meet")

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(program, [4] * 4))

    assert results == [None] * 4


@pytest.mark.needs_compiler
def test_eight_threads_may_call_one_program(library):
    arguments = (field("a", 0, dtype="int64", read=True, written=True), scalar("n", 1, "int64"))
    extent = (Word("stop"),)
    size = (*extent, Word("const", 8), Word("mul"))
    plan = Plan("p", ("a", "n"), arguments, (extent,), (), size)
    misses = []
    lock = threading.Lock()

    def on_miss(args, kwargs):
        with lock:
            misses.append(args)
            program.add(Entry(plan, library.symbol("add_in_arena"), library))

    program = Program("p", ("a", "n"), on_miss, reject)

    def work(number):
        array = np.arange(number, number + 1000)
        for step in range(500):
            program(n=step, a=view(array, I))
        return (array - np.arange(number, number + 1000)).tolist() == [sum(range(500))] * 1000

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(8)))

    assert all(results)
    assert 1 <= len(misses) <= 8


@pytest.mark.needs_compiler
def test_calls_and_refusals_leave_no_references(library):
    arguments = (field("a", (0, 0), written=True), Argument("x", (0, 1), "scalar", "float64"))
    box = Box(0, (const(0),), (const(3),))
    plan = Plan("p", ("tree",), arguments, (), (Access((box,), ()),))
    program = make_program(plan, library, "nothing")
    array, number = np.zeros(3), float("1.5")
    good, small = view(array, I), view(array[:2], I)
    watched = [array, number, good, small, program, program.entries[0], plan, library]
    box3, provider = Box3(good, number), {}

    def many(count):
        for _ in range(count):
            program((good, number), offset_provider=provider)
            program(tree=box3)
        for _ in range(count // 100):
            for wrong in ((small, number), (good, None), (good,), Box3(number, good)):
                with pytest.raises((DomainError, ArgumentError)):
                    program(wrong)
            with pytest.raises(ArgumentError):
                program(branch=good)

    many(100)
    gc.collect()
    before = [sys.getrefcount(each) for each in watched]
    many(10_000)
    gc.collect()

    assert [sys.getrefcount(each) for each in watched] == before


@pytest.mark.needs_compiler
def test_an_argument_lives_as_long_as_the_call(library):
    """Another thread takes the field out of the collection while the program works on it."""
    plan = Plan("p", ("tree",), (field("flags", (0, 0), dtype="int32", written=True),), (), ())
    program = make_program(plan, library, "hold")
    flags = np.zeros(2, np.int32)
    tree = dataclasses.make_dataclass("One", ["flags"])(view(flags, I))
    seen = weakref.ref(tree.flags)

    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(program, tree)
        while flags[0] == 0 and not running.done():
            time.sleep(0.001)
        tree.flags = None
        alive_inside = seen() is not None
        flags[1] = 1
        running.result()

    assert (alive_inside, seen()) == (True, None)


def test_a_variant_that_is_dropped_before_its_call_is_asked_for_anew(library):
    """Another thread may forget all variants between `on_miss` and the call."""
    plan = Plan("p", (), (), (), ())
    asked = []

    def on_miss(args, kwargs):
        asked.append(args)
        program.add(Entry(plan, library.symbol("nothing"), library))
        if len(asked) < 3:
            program.forget()

    program = Program("p", (), on_miss, reject)
    program()

    assert len(asked) == 3


def test_a_program_that_always_loses_its_variants_gives_up(library):
    def on_miss(args, kwargs):
        program.add(Entry(Plan("p", (), (), (), ()), library.symbol("nothing"), library))
        program.forget()

    program = Program("p", (), on_miss, reject)

    with pytest.raises(RuntimeError, match="added no entry that fits"):
        program()
