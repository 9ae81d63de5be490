"""Calls of stencils: origin and domain, their defaults, and what is refused in which words."""

from __future__ import annotations

import enum
import warnings
from functools import partial

import numpy as np
import pytest

from fieldforge.cartesian.gtscript import FORWARD, PARALLEL, Field, computation, interval

from .stencils import COMPILED, INTERPRETED, added, inner_levels, made, slopes

ORIGIN = (1, 0, 0)


@pytest.fixture(scope="module")
def stencil():
    return made(slopes)


def fields():
    a = np.arange(60.0).reshape(4, 3, 5) ** 2
    return a, np.zeros((4, 3, 5))


def expected(a, w=1.0):
    t = a[1:] - a[:-1]
    u = t[:, 1:] + t[:, :-1]
    return w * u[:2]


# --- origin and domain ------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [None, [2, 2, 5], np.array([2, 2, 5]), (np.int32(2), 2, 5)])
@pytest.mark.parametrize(
    "origin",
    [
        ORIGIN,
        [1, 0, 0],
        np.array([1, 0, 0]),
        {"a": ORIGIN, "b": ORIGIN},
        {"_all_": ORIGIN},
        {"_all_": ORIGIN, "z": (9,)},
        {"_all_": ORIGIN, "a": None},
    ],
)
def test_origin_places_the_domain_in_every_field(stencil, origin, domain):
    a, b = fields()

    stencil(a, b, None, 2.0, origin=origin, domain=domain)

    assert b[1:3, :2].tolist() == expected(a, 2.0).tolist()
    b[1:3, :2] = 0.0
    assert not b.any()


def test_each_field_has_its_origin(stencil):
    a, b = fields()

    stencil(a, b, None, 1.0, origin={"a": ORIGIN, "b": (2, 1, 0)})

    assert b[2:4, 1:3].tolist() == expected(a).tolist()


def test_an_integer_is_the_origin_along_all_axes():
    a, b = np.arange(27.0).reshape(3, 3, 3), np.zeros((3, 3, 3))

    made(added)(np.zeros((3, 3)), a, b, origin=1)

    assert b[1:, 1:, 1:].tolist() == a[1:, 1:, 1:].tolist()
    assert b.sum() == a[1:, 1:, 1:].sum()


def test_without_origin_fields_begin_at_zero(stencil):
    a, b = fields()

    with pytest.raises(
        ValueError,
        match=r"Origin for field a too small. Must be at least \(1, 0, 0\), is \(0, 0, 0\)",
    ):
        stencil(a, b, None, 1.0)


def test_levels_that_are_not_read_make_the_domain_larger():
    b, info = np.zeros((1, 1, 2)), {}

    made(inner_levels)(np.ones((1, 1, 2)), b, origin={"_all_": (0, 0, -1)}, domain=(1, 1, 4))
    assert b.ravel().tolist() == [1.0, 1.0]

    made(inner_levels)(np.ones((1, 1, 2)), b, exec_info=info)
    assert info["domain"] == (1, 1, 3)


def test_a_domain_with_one_zero_does_nothing(stencil):
    a, b = fields()

    stencil(a, b, None, 1.0, origin=ORIGIN, domain=(0, 2, 2))

    assert not b.any()


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"domain": (3, 3, 5)}, "Compute domain too large for stencil slopes"),
        ({"domain": (3, 2, 5)}, r"Stencil domain is \(3, 2, 5\) but field indexation leads"),
        ({"domain": (2, 2, 6)}, r"\[\('a', \(2, 2, 5\)\), \('b', \(3, 3, 5\)\)\]"),
        ({"domain": (0, 0, 0)}, "Compute domain contains zero sizes"),
        ({"domain": (-1, 2, 2)}, "Invalid 'domain' value"),
        ({"domain": (2, 2)}, "Invalid 'domain' value"),
        ({"domain": (2.0, 2, 2)}, "Invalid 'domain' value"),
        ({"domain": 2}, "Invalid 'domain' value"),
        ({"domain": (2, 2, 3, 1)}, "Invalid 'domain' value"),
        ({"origin": "x"}, "Invalid 'origin' value"),
        ({"origin": 1.5}, "Invalid 'origin' value"),
        ({"origin": (1.0, 1.0, 0.0)}, "Invalid 'origin' value"),
        ({"origin": {"a": None}}, "Origin for field a too small"),
        ({"origin": (1, 0)}, "Invalid 'origin' value"),
        ({"origin": {"a": (1, 0)}}, "Invalid origin specification"),
        ({"origin": (0, 0, 0), "domain": (1, 1, 1)}, "Origin for field a too small"),
        ({"origin": (2, -1, 0)}, r"Must be at least \(1, 0, 0\), is \(2, -1, 0\)"),
        ({"origin": (9, 0, 0)}, "Invalid 'domain' value"),
    ],
)
def test_origins_and_domains_are_refused_in_words(backend, options, words):
    a, b = fields()

    with pytest.raises(ValueError, match=words):
        made(slopes, backend)(a, b, None, 1.0, **{"origin": ORIGIN, **options})

    assert not b.any()


def test_too_few_levels_are_refused():
    a, b = np.ones((1, 1, 4)), np.zeros((1, 1, 4))
    stencil = made(inner_levels)

    assert stencil.domain_info.min_sequential_axis_size == 3
    with pytest.raises(ValueError, match="Sequential axis is 2, but must be at least 3"):
        stencil(a, b, domain=(1, 1, 2))


# --- arguments ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"a": np.zeros((4, 3, 5), "f4")}, TypeError, "'a' is 'float32' instead of 'float64'"),
        ({"a": np.zeros((4, 3))}, ValueError, "Storage for 'a' has 2 dimensions"),
        ({"a": np.zeros((4, 3, 5, 1))}, ValueError, "Storage for 'a' has 4 dimensions"),
        ({"a": None}, AssertionError, "Invalid value for 'a' field"),
        ({"w": 1}, TypeError, "'w' is '<class 'int'>' instead of 'float64'"),
        ({"w": np.float32(1)}, TypeError, "'w' is '<class 'numpy.float32'>'"),
        ({"w": True}, TypeError, "'w' is '<class 'bool'>'"),
        ({"w": "x"}, TypeError, "'w' is '<class 'str'>'"),
        ({"more": 1}, TypeError, "unexpected keyword argument 'more'"),
    ],
)
@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
def test_arguments_are_refused_in_words(backend, change, error, words):
    a, b = fields()
    given = {"a": a, "b": b, "unused": None, "w": 1.0} | change

    with pytest.raises(error, match=words):
        made(slopes, backend)(**given, origin=ORIGIN)

    assert not b.any()


def test_arguments_are_matched_as_those_of_the_definition(stencil):
    a, b = fields()

    with pytest.raises(TypeError, match="missing a required argument: 'w'"):
        stencil(a, b, None, origin=ORIGIN)
    with pytest.raises(TypeError, match="too many positional"):
        stencil(a, b, None, 1.0, 3, origin=ORIGIN)
    with pytest.raises(TypeError, match="multiple values"):
        stencil(a, b, None, 1.0, a=a, origin=ORIGIN)
    stencil(a, b, "anything", 1.0, n=4, origin=ORIGIN)
    stencil(a, w=np.float64(1.0), unused=None, b=b, origin=ORIGIN)


def test_without_checks_nothing_is_read_beyond_a_field(stencil):
    a, b = fields()

    with pytest.raises(Exception, match="too small"):
        stencil(a, b, None, 1.0, validate_args=False)

    stencil(a, b, None, 1.0, origin=ORIGIN, validate_args=False)
    assert b[1:3, :2].tolist() == expected(a).tolist()


def test_members_of_enumerations_are_integers():
    class Kind(enum.IntEnum):
        SECOND = 2

    def scaled(a: Field[float], b: Field[float], n: int):
        with computation(PARALLEL), interval(...):
            b = n * a

    b = np.zeros((1, 1, 1))
    made(scaled)(np.ones((1, 1, 1)), b, Kind.SECOND)

    assert b[0, 0, 0] == 2.0


def test_fields_without_influence_may_be_none(stencil):
    assert str(stencil.field_info["unused"].access) == "NONE"
    assert str(stencil.parameter_info["n"].access) == "NONE"


# --- memory of others ----------------------------------------------------------------------------


class Lent:
    """An array of another library, with the attributes of gt4py that are given."""

    def __init__(self, array, dims=None, origin=None):
        self.array = array
        if dims is not None:
            self.__gt_dims__ = dims
        if origin is not None:
            self.__gt_origin__ = origin

    @property
    def __array_interface__(self):
        return self.array.__array_interface__


class Exporting:
    """An array that is lent by DLPack alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
@pytest.mark.parametrize("lend", [Lent, Exporting, memoryview])
def test_arrays_come_by_buffers_and_protocols(backend, lend):
    a, b = fields()

    made(slopes, backend)(lend(a), lend(b), None, 1.0, origin=ORIGIN)

    assert b[1:3, :2].tolist() == expected(a).tolist()


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda a: a.astype(">f8"), TypeError, "'>f8' instead of 'float64'"),
        (lambda a: a.view(np.int64), TypeError, "'int64' instead of 'float64'"),
        (lambda a: a[:, :, 0], ValueError, "has 2 dimensions"),
        (lambda a: np.broadcast_to(a[:1], a.shape), None, ""),
        (lambda a: a.view(Subclass), None, ""),
    ],
)
def test_arrays_of_numpy_are_what_they_are(backend, change, error, words):
    a, b = fields()
    stencil, given = made(slopes, backend), change(a)
    call = partial(stencil, given, b, None, 1.0, origin=ORIGIN)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if error is None:
            call()
            assert b[1:3, :2].tolist() == expected(np.array(given)).tolist()
        else:
            with pytest.raises(error, match=words):
                call()


class Subclass(np.ndarray):
    """An array of a class of its own."""


def test_lists_are_inputs(stencil):
    a, b = fields()

    stencil(a.tolist(), b, None, 1.0, origin=ORIGIN)

    assert b[1:3, :2].tolist() == expected(a).tolist()


def test_other_axes_than_declared_are_refused(stencil):
    a, b = fields()

    with pytest.raises(ValueError, match=r"has dimensions '\('I', 'J', '0'\)' but"):
        stencil(Lent(a, ("I", "J", "0")), b, None, 1.0, origin=ORIGIN)
    with pytest.raises(ValueError, match=r"has dimensions '\('J', 'X', 'Y'\)' but"):
        stencil(Lent(a, ("X", "Y", "J")), b, None, 1.0, origin=ORIGIN)


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
def test_any_strides_work_and_another_layout_warns_once(backend):
    a, b = fields()
    reversed_rows = np.asfortranarray(a)[::-1]
    stencil = made(slopes, backend)

    with pytest.warns(UserWarning, match=r"layout of the field 'a' is not recommended"):
        stencil(reversed_rows, b, None, 1.0, origin=ORIGIN)
    assert b[1:3, :2].tolist() == expected(reversed_rows).tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stencil(reversed_rows, b, None, 1.0, origin=ORIGIN)


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
def test_memory_that_cannot_be_written_is_refused(backend):
    a, b = fields()
    b.flags.writeable = False

    with pytest.raises(Exception, match=r"'b'.*(read-only|written)"):
        made(slopes, backend)(a, b, None, 1.0, origin=ORIGIN)


# --- run, freeze, times --------------------------------------------------------------------------


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
def test_run_reads_nothing_beyond_a_field(backend):
    a, b = fields()
    given = {"a": a, "b": b, "unused": None, "w": 1.0, "n": 3}

    with pytest.raises(Exception, match="too small"):
        made(slopes, backend).run(**given, _domain_=(2, 2, 5), _origin_={}, exec_info=None)
    assert not b.any()


def test_frozen_stencils_keep_origins_and_domain(stencil):
    a, b = fields()
    origins = {"a": ORIGIN, "b": ORIGIN, "unused": (0, 0)}
    frozen = stencil.freeze(origin=origins, domain=(2, 2, 5))

    frozen(a=a, b=b, unused=None, w=1.0, n=3)

    assert b[1:3, :2].tolist() == expected(a).tolist()
    with pytest.raises(ValueError, match="'b' origin None is not a 3-dimensional integer tuple"):
        stencil.freeze(origin={"a": ORIGIN}, domain=(2, 2, 5))


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
def test_frozen_stencils_tell_their_times(backend):
    a, b = fields()
    origins = {"a": ORIGIN, "b": ORIGIN, "unused": (0, 0)}
    frozen, info = made(slopes, backend).freeze(origin=origins, domain=(2, 2, 5)), {}

    frozen(a=a, b=b, unused=None, w=1.0, n=3, exec_info=info)

    assert (info["domain"], info["origin"]) == ((2, 2, 5), origins)
    assert info["call_run_start_time"] <= info["run_start_time"] <= info["run_end_time"]
    assert info["run_end_time"] <= info["call_run_end_time"]
    assert b[1:3, :2].tolist() == expected(a).tolist()


@pytest.mark.parametrize("placed", [{}, {"domain": (2, 2, 5)}])
@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
def test_exec_info_receives_the_times(backend, placed):
    a, b = fields()
    stencil, info = made(slopes, backend), {}

    stencil(a, b, None, 1.0, origin=ORIGIN, exec_info=info, **placed)

    times = ["call", "call_run", "run"] + ["run_cpp"] * (backend == COMPILED)
    assert all(info[f"{each}_start_time"] <= info[f"{each}_end_time"] for each in times)
    assert info["domain"] == (2, 2, 5)
    assert info["origin"]["unused"] == (1, 0)
    assert info["__aggregate_data"] is False
    assert ("run_cpp_start_time" in info) == (backend == COMPILED)


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
def test_exec_info_adds_up_calls(backend):
    a, b = fields()
    stencil, info = made(slopes, backend), {"__aggregate_data": True}

    for _ in range(3):
        stencil(a, b, None, 1.0, origin=ORIGIN, exec_info=info)

    sums = info[type(stencil).__name__]
    assert sums["ncalls"] == 3
    assert sums["total_call_time"] >= sums["total_run_time"] > 0.0
    assert ("total_run_cpp_time" in sums) == (backend == COMPILED)


# --- intervals of the call ------------------------------------------------------------------------


def two_parts(a: Field[float], b: Field[float], n: int, m: int):
    with computation(FORWARD):
        with interval(0, n):
            b = a
        with interval(m, None):
            b = 2.0 * a


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
@pytest.mark.parametrize(
    ("n", "m", "found"),
    [(2, 2, [1, 1, 2, 2]), (1, 3, [1, 0, 0, 2]), (9, 9, [1, 1, 1, 1]), (-1, -2, [2, 2, 2, 2])],
)
def test_intervals_of_the_call_in_order(backend, n, m, found):
    a, b = np.ones((1, 1, 4)), np.zeros((1, 1, 4))

    made(two_parts, backend)(a, b, n, m)

    assert b.ravel().tolist() == found


@pytest.mark.parametrize("backend", [INTERPRETED, COMPILED])
def test_intervals_of_the_call_out_of_order_are_refused(backend):
    a, b = np.ones((1, 1, 4)), np.zeros((1, 1, 4))
    words = (
        r"Intervals must be specified in order of execution: 'interval\(0, n\)' stands before "
        r"'interval\(m, None\)' at line \d+, but they get the levels 0 \.\. 2 and 1 \.\. 3"
    )

    with pytest.raises(ValueError, match=words):
        made(two_parts, backend)(a, b, 3, 1)

    assert not b.any()
