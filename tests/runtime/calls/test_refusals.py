"""Every reason to refuse a call, in the words that a person reads.

None of these calls reaches the entry point, so its address can be anything.
"""

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest

from fieldforge.runtime._core import Entry, FieldView, Program
from fieldforge.runtime.calls.plan import Access, Box, Plan, Word
from fieldforge.runtime.calls.refusals import Reason, reject
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.process.errors import (
    ArgumentError,
    DeviceError,
    DomainError,
    FieldforgeError,
    OverlapError,
    ReadOnlyError,
)

from ..entries import field, scalar

I, J = Dimension("I"), Dimension("J")
NOWHERE = 1


def box(argument, start, stop):
    return Box(argument, ((Word("const", start),),), ((Word("const", stop),),))


def program(parameters, arguments, accesses=(), workspace=0):
    size = (Word("const", workspace),)
    plan = Plan("p", tuple(parameters), tuple(arguments), (), tuple(accesses), size)
    made = Program("p", tuple(parameters), lambda args, kwargs: None, reject)
    made.add(Entry(plan, NOWHERE))
    return made


def view(extent=10, start=0, dims=(I,), dtype="float64"):
    return FieldView(np.zeros((extent,) * len(dims), dtype), dims, (start,) * len(dims))


COPY = (field("a", 0, read=True), field("out", 1, written=True))
PAIR = ("a", "out")


def message(error):
    return str(error.value)


# --- arguments that do not fit the parameters --------------------------------------------------


@pytest.mark.parametrize(
    ("names", "args", "keywords", "expected"),
    [
        ("ab", (1, 2, 3), {}, "takes 2 positional arguments but 3 were given."),
        ("", (1,), {}, "takes 0 positional arguments but 1 was given."),
        ("ab", (1,), {"a": 2}, "got multiple values for argument 'a'."),
        ("abc", (), {"a": 1, "b": 1}, "missing 1 required positional argument: 'c'."),
        ("abc", (), {"a": 1}, "missing 2 required positional arguments: 'b' and 'c'."),
        ("abc", (), {}, "missing 3 required positional arguments: 'a', 'b', and 'c'."),
        (
            ("a", "out"), (), {"a": 1, "outt": 2},
            "got an unexpected keyword argument 'outt'.\nHint: Did you mean 'out'?",
        ),
    ],
)  # fmt: skip
def test_arguments_that_do_not_fit_the_parameters(names, args, keywords, expected):
    given = [scalar(name, index, "int32") for index, name in enumerate(names)]

    with pytest.raises(ArgumentError) as error:
        program(names, given)(*args, **keywords)

    assert isinstance(error.value, TypeError)
    assert message(error) == f"p() {expected}"


# --- arguments of the wrong type ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (view(dtype="float32"), "Field[[I], float32]"),
        (view(dims=(J,)), "Field[[J], float64]"),
        (view(dims=(I, J)), "Field[[I, J], float64]"),
        (1.0, "float64"),
        ("text", "str"),
    ],
)
def test_a_field_of_the_wrong_type(given, shown):
    with pytest.raises(ArgumentError) as error:
        program(PAIR, COPY)(given, view())
    assert message(error) == (
        "Invalid argument types in call to 'p'.\n"
        f"Expected argument 'a' to be of type 'Field[[I], float64]', got '{shown}'."
    )


def test_an_array_of_other_axes_is_refused_with_a_hint():
    with pytest.raises(ArgumentError, match="got 'array with 2 axes of float64'") as error:
        program(PAIR, COPY)(np.zeros((10, 2)), view())

    assert "'a' with 'as_field'" in error.value.hints[0]


def test_all_arguments_of_the_wrong_type_are_named_at_once():
    arguments = (field("a", 0), scalar("n", 1, "int32"), scalar("x", 2, "float64"))

    with pytest.raises(ArgumentError) as error:
        program("anx", arguments)(3, view(), 1.0)

    assert message(error).splitlines()[1:] == [
        "Expected argument 'a' to be of type 'Field[[I], float64]', got 'int32'.",
        "Expected argument 'n' to be of type 'int32', got 'Field[[I], float64]'.",
    ]


@pytest.mark.parametrize(
    ("dtype", "value", "shown"),
    [
        ("int32", 0.5, "'float64'"),
        ("int32", float("nan"), "'float64'"),
        ("int32", True, "'bool'"),
        ("int32", np.int64(1), "'int64'"),
        ("float64", 2**53 + 1, "'int64'"),
        ("float64", 10**400, "'int'"),
        ("float64", True, "'bool'"),
        ("float64", np.float32(1), "'float32'"),
        ("float32", 0.1, "'float64'"),
        ("float32", 1e300, "'float64'"),
        ("float32", 2**24 + 1, "'int32'"),
        ("float32", np.float64(1), "'float64'"),
        ("bool", 1, "'int32'"),
        ("bool", 1.0, "'float64'"),
        ("bool", np.int8(1), "'int8'"),
        ("int8", 128, "128, which does not fit"),
        ("int8", -129, "-129, which does not fit"),
        ("uint8", -1, "-1, which does not fit"),
        ("uint16", 1 << 16, "65536, which does not fit"),
        ("int32", 1 << 31, "2147483648, which does not fit"),
        ("uint32", -1, "-1, which does not fit"),
        ("int64", 1 << 63, "9223372036854775808, which does not fit"),
        ("uint64", -1, "-1, which does not fit"),
        ("uint64", 1 << 64, "18446744073709551616, which does not fit"),
    ],
)
def test_scalars_of_another_type_or_number_are_refused(dtype, value, shown):
    with pytest.raises(ArgumentError) as error:
        program("x", (scalar("x", 0, dtype),))(value)
    assert message(error).splitlines()[1] == (
        f"Expected argument 'x' to be of type '{dtype}', got {shown}."
    )


class Wind(NamedTuple):
    u: object
    v: object


@dataclasses.dataclass
class State:
    wind: object
    t: object


NESTED = (field("u", (0, 0, 0)), field("v", (0, 0, 1)), field("t", (0, 1)))


@pytest.mark.parametrize(
    "given", [((view(), view()), 3), State(Wind(view(), view()), 3), State((view(),) * 2, 3)]
)
def test_the_leaves_of_collections_are_checked_like_parameters(given):
    with pytest.raises(ArgumentError) as error:
        program(("state",), NESTED)(given)
    assert message(error).splitlines()[1:] == [
        "Expected argument 't' to be of type 'Field[[I], float64]', got 'int32'."
    ]


@pytest.mark.parametrize(
    ("given", "name", "shown"),
    [
        ((1,), "state", "tuple[int32]"),
        ((1, 2, 3), "state", "tuple[int32, int32, int32]"),
        (4.0, "state", "float64"),
        (([1, 2], 3), "state[0]", "list"),
        (State((1, 2, 3), 3), "state[0]", "tuple[int32, int32, int32]"),
    ],
)
def test_a_tuple_of_the_wrong_length_is_refused(given, name, shown):
    with pytest.raises(ArgumentError) as error:
        program(("state",), NESTED)(given)
    assert message(error).splitlines()[1] == (
        f"Expected argument '{name}' to be a tuple or collection of 2 elements, got '{shown}'."
    )


# --- memory that cannot be used ----------------------------------------------------------------


def test_a_field_on_a_gpu_is_refused():
    foreign = FieldView.from_parts(4096, (10,), (8,), "float64", 2, 1, None, (I,), (0,))

    with pytest.raises(DeviceError) as error:
        program(PAIR, COPY)(foreign, view())

    assert "'a' lies on device CUDA:1, but 'p' was compiled for the CPU" in message(error)


def test_a_read_only_output_is_refused():
    array = np.zeros(10)
    array.flags.writeable = False

    with pytest.raises(ReadOnlyError, match="'out' is written, but its memory is read-only"):
        program(PAIR, COPY)(view(), FieldView(array, (I,), (0,)))


def test_elements_that_are_not_aligned_are_refused():
    packed = np.zeros(10, [("flag", "i1"), ("value", "f8")])["value"]

    with pytest.raises(ArgumentError, match=r"strides are \(9,\) bytes"):
        program(PAIR, COPY)(FieldView(packed, (I,), (0,)), view())


def test_a_field_that_was_never_set_up_is_refused():
    with pytest.raises(ArgumentError, match="Expected argument 'a'"):
        program(PAIR, COPY)(FieldView.__new__(FieldView), view())


# --- domains -----------------------------------------------------------------------------------


def test_an_input_that_is_too_small_names_the_whole_range_needed():
    accesses = (
        Access((box(1, 0, 10),), (box(0, 0, 10), box(0, 2, 12))),
        Access((box(1, 0, 10),), (box(0, -1, 9),)),
    )

    with pytest.raises(DomainError) as error:
        program(PAIR, COPY, accesses)(view(), view())

    assert message(error) == (
        "Field 'a' is too small: along 'I' the program reads -1:12, but 'a' covers 0:10."
        "\nHint: Make 'a' larger, or write a smaller domain."
    )


def test_an_output_that_is_too_small():
    with pytest.raises(IndexError) as error:
        program(PAIR, COPY, (Access((box(1, 3, 13),), ()),))(view(), view(10, start=4))
    assert message(error) == (
        "Field 'out' is too small: along 'I' the program writes 3:13, but 'out' covers 4:14."
        "\nHint: Make 'out' larger, or write a smaller domain."
    )


def test_a_statement_that_writes_nothing_does_not_excuse_the_next():
    accesses = (
        Access((box(1, 5, 5),), (box(0, 90, 99),)),
        Access((box(1, 0, 1),), (box(0, 0, 11),)),
    )

    with pytest.raises(DomainError, match="reads 0:11"):
        program(PAIR, COPY, accesses)(view(), view())


# --- memory that is shared ---------------------------------------------------------------------


def test_outputs_that_overlap_are_refused():
    array = np.zeros(20)
    arguments = (field("x", 0, written=True), field("y", 1, written=True))

    with pytest.raises(OverlapError) as error:
        program("xy", arguments, (Access((box(0, 0, 11), box(1, 0, 10)), ()),))(
            FieldView(array[:11], (I,), (0,)), FieldView(array[10:], (I,), (0,))
        )

    assert message(error) == (
        "Arguments 'x' and 'y' are written by one statement and share memory."
    )


def shifted_pair():
    array = np.zeros(20)
    return FieldView(array[1:11], (I,), (0,)), FieldView(array[:10], (I,), (0,))


@pytest.mark.parametrize(
    "accesses",
    [
        pytest.param(
            (Access((box(1, 0, 10),), (box(0, 0, 10),)),) * 2, id="read by two statements"
        ),
        pytest.param(
            (Access((box(1, 0, 10),), ()), Access((box(1, 0, 10),), (box(0, 0, 10),))),
            id="written before it is read",
        ),
    ],
)
def test_an_input_that_a_snapshot_cannot_save_is_refused(accesses):
    with pytest.raises(OverlapError) as error:
        program(PAIR, COPY, accesses)(*shifted_pair())
    assert "Arguments 'out' and 'a' share memory" in message(error)
    assert "Hint: Pass a copy of 'a'." in message(error)


def test_the_same_view_is_refused_if_pointwise_holds_in_one_of_two_statements_only():
    pointwise = Access((box(1, 0, 10),), (box(0, 0, 10),), pointwise=((1, 0),))
    field_ = view()

    with pytest.raises(OverlapError):
        program(PAIR, COPY, (pointwise, Access((box(1, 0, 10),), (box(0, 0, 10),))))(field_, field_)


# --- what is left ------------------------------------------------------------------------------


def test_a_workspace_that_does_not_exist_is_an_error():
    with pytest.raises(RuntimeError, match="needs 4611686018427387904 bytes"):
        program((), (), workspace=1 << 62)()


DETAILS = {
    Reason.TOO_MANY: ("p", ("t",), 3),
    Reason.UNKNOWN_NAME: ("p", ("t",), "x"),
    Reason.REPEATED: ("p", ("t",), "t"),
    Reason.MISSING: ("p", ("t",), (0,)),
    Reason.STRUCTURE: (0, 0),
    Reason.DOMAIN: (0, 0, 1, 2, 1),
    Reason.OUTPUTS_OVERLAP: (0, 0),
    Reason.INPUTS_OVERLAP: (0, 0),
    Reason.MEMORY: (1, 2),
    Reason.WORKSPACE: (2, 1),
    Reason.WORKSPACE_DEVICE: (1, 0),
    Reason.DEVICES: (0, 0),
}


@pytest.mark.parametrize("reason", list(Reason))
def test_every_reason_has_an_error(reason):
    plan = Plan("p", ("t",), (field("a", (0, 0)),), (), ())

    with pytest.raises(FieldforgeError):
        reject(
            None if reason <= Reason.MISSING else plan,
            ((view(),),),
            reason,
            DETAILS.get(reason, (0,)),
        )
