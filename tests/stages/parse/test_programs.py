"""Programs: what their calls become, and every message of one that is refused."""

# ruff: noqa: E501 - a row of a table is one message

import types
from typing import NamedTuple

import numpy as np
import pytest

from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.language.dimension import Dimension
from fieldforge.runtime.process.errors import (
    DSLError,
)

I = Dimension("I")
HEADER = (
    "def p(a: F, b: F, m: N, n: int32, k: float, ij: IJ, t: tuple[F, F], "
    "w: Wind, q: tuple[F, tuple[F, IJ]]):\n"
)


class Wind(NamedTuple):
    u: Field[[I], np.float64]
    v: Field[[I], np.float64]


@pytest.fixture
def names(operator):
    """Return the operators that the programs below call."""
    return {
        "Wind": Wind,
        "copy": operator("def copy(x: F):\n    return x"),
        "scale": operator("def scale(x: F, k: float, n: int32):\n    return x * k"),
        "flat": operator("def flat(x: IJ):\n    return x"),
        "pair": operator("def pair(x: F):\n    return x, x"),
        "wind": operator("def wind(x: F):\n    return Wind(x, x)", Wind=Wind),
        "first": operator("def first(w: Wind, t: tuple[F, F]):\n    return w.u", Wind=Wind),
        "deep": operator("def deep(x: F, y: IJ):\n    return x, (x, y)"),
        "scalar": operator("def scalar():\n    return 1.0"),
    }


@pytest.fixture
def calls(parse, names):
    """Return the text of the statements of a program, without the digests of the callees."""

    def calls(body):
        text = parse(HEADER + "    " + body, "program", **names)["parsed"].text
        rows = [line.strip() for line in text.split("\n\n")[0].split("\n")[1:]]
        return [
            row if row[0] == "%" else row.partition(":")[0] + row[row.index("(") :] for row in rows
        ]

    return calls


@pytest.mark.parametrize(
    ("call", "statement"),
    [
        ("copy(a, out=b)", "copy(%0) -> b"),
        ("copy(x=a, out=b)", "copy(%0) -> b"),
        ("copy(t[1], out=b)", "copy(%1) -> b"),
        ("copy(w.v, out=b)", "copy(%1) -> b"),
        ("copy(a, out=b[1:-1])", "copy(%0) -> b[1:-1]"),
        ("copy(a, out=b[:])", "copy(%0) -> b[:]"),
        ("copy(a, out=t[0])", "copy(%0) -> t.0"),
        ("copy(a, out=w.u)", "copy(%0) -> w.0"),
        ("copy(a, out=q[1][0][2:])", "copy(%0) -> q.1.0[2:]"),
        ("flat(ij, out=ij[1:-1, :])", "flat(%0) -> ij[1:-1, :]"),
        ("pair(a, out=t)", "pair(%0) -> t.0, t.1"),
        ("pair(a, out=(a, b[1:]))", "pair(%0) -> a, b[1:]"),
        ("wind(a, out=w)", "wind(%0) -> w.0, w.1"),
        ("wind(a, out=(a, b))", "wind(%0) -> a, b"),
        ("first(w, t=t, out=b)", "first(%0, %1) -> b"),
        ("first(Wind(a, v=b), (a, b), out=b)", "first(%2, %5) -> b"),
        ("deep(a, ij, out=(a, (b, ij)))", "deep(%0, %1) -> a, b, ij"),
        ("deep(a, ij, out=q)", "deep(%0, %1) -> q.0, q.1.0, q.1.1"),
    ],
)
def test_a_call_says_what_it_writes(call, statement, calls):
    assert calls(call)[-1] == statement


def test_one_domain_serves_every_field_of_a_tuple(calls):
    found = calls("pair(a, out=(a, b), domain={I: (n, 5)})")

    assert found[-1] == "pair(%0) -> a on {I: %1 .. %2}, b on {I: %1 .. %2}"


def test_a_scalar_result_is_written_to_a_field_without_dimensions(parse, names):
    parsed = parse("def p(z: Zero):\n    scalar(out=z)", "program", **names)

    assert parsed["parsed"].root.body[0].outputs[0].parameter == "z"


REFUSED = [
    ("c = copy(a, out=b)", "c = copy(a, out=b)", "Unsupported Python syntax: 'Assign'."),
    ("if n > 0:\n        copy(a, out=b)", "if n > 0:\n        copy(a, out=b)", "Unsupported Python syntax: 'If'."),
    ("for i in a:\n        copy(a, out=b)", "for i in a:\n        copy(a, out=b)", "Unsupported Python syntax: 'for'."),
    ("return a", "return a", "Unsupported Python syntax: 'Return'."),
    ("pass", "pass", "Unsupported Python syntax: 'Pass'."),
    ("'only a docstring'", "'only a docstring'", "A program needs at least one operator call."),
    ("a", "a", "Expected an operator call."),
    ("a(I + 1)", "a", "Expected an operator to call, got a value of type 'Field[[I], float64]'."),
    ("sqrt(a)", "sqrt", "Expected an operator to call, got builtin 'sqrt'."),
    ("other(a, out=b)", "other", "Program 'other' can not be called in another definition."),
    ("copy(a)", "copy(a)", "Missing required keyword argument 'out'."),
    ("copy(a, out=m)", "m", "Expected keyword argument 'out' to be of type 'Field[[I], float64]', got 'Field[[I], int32]'."),
    ("pair(a, out=a)", "a", "Expected keyword argument 'out' to be of type 'tuple[Field[[I], float64], Field[[I], float64]]', got 'Field[[I], float64]'."),
    ("wind(a, out=t)", "t", "Expected keyword argument 'out' to be of type 'Wind(u: Field[[I], float64], v: Field[[I], float64])', got 'tuple[Field[[I], float64], Field[[I], float64]]'."),
    ("scalar(out=m)", "m", "Expected keyword argument 'out' to be of type 'Field[[], float64]', got 'Field[[I], int32]'."),
    ("copy(a, out=zz)", "zz", "Undefined symbol 'zz'."),
    ("copy(a, out=1)", "1", "Expected 'out' to be a parameter, a slice of one, or a tuple of them."),
    ("copy(a, out=copy(a)[0])", "copy(a)", "Expected 'out' to be a parameter of the program."),
    ("copy(a, out=b[1:2, :])", "b[1:2, :]", "Too many indices for field 'Field[[I], float64]'."),
    ("copy(a, out=t[1:2])", "t[1:2]", "Only fields can be sliced, got 'tuple[Field[[I], float64], Field[[I], float64]]'."),
    ("copy(a, out=b[0])", "b[0]", "Expected slices of a field, one for each dimension of 'Field[[I], float64]'."),
    ("flat(ij, out=ij[1:2, 3])", "3", "Expected a slice, such as '1:-1' or ':'."),
    ("copy(a, out=t[5])", "5", "Expected a literal index of a tuple of 2 elements."),
    ("copy(a, out=w.z)", "w.z", "'Wind(u: Field[[I], float64], v: Field[[I], float64])' has no attribute 'z'."),
    ("copy(a, out=b[::2])", "2", "Slices of 'out' have no step."),
    ("copy(a, out=b[n:])", "n", "Bounds of a slice are literal integers."),
    ("copy(a, out=b[1:], domain={I: (0, 1)})", "{I: (0, 1)}", "Either only domain or slicing allowed."),
    ("copy(a, out=b, domain={})", "{}", "Empty domain not allowed."),
    ("copy(a, out=b, domain=n)", "n", "Expected 'domain' to be a dictionary of ranges, or a tuple of dictionaries."),
    ("copy(a, out=b, domain={J: (0, 1)})", "{J: (0, 1)}", "Dimensions in out field and field domain are not equivalent: expected 'I', got 'J'."),
    ("flat(ij, out=ij, domain={J: (0, 1), I: (0, 1)})", "{J: (0, 1), I: (0, 1)}", "Dimensions in out field and field domain are not equivalent: expected 'I, J', got 'J, I'."),
    ("copy(a, out=b, domain={n: (0, 1)})", "n", "Only dimensions can be keys of a domain, got a value of type 'int32'."),
    ("copy(a, out=b, domain={**a})", "a", "Ranges of a domain are written one by one, without '**'."),
    ("copy(a, out=b, domain={I: n})", "n", "Expected 2 values for the start and the stop of a range."),
    ("copy(a, out=b, domain={I: (0, k)})", "k", "Bounds of a domain are integer scalars, got 'float64'."),
    ("copy(a, out=b, domain=({I: (0, 1)},))", "({I: (0, 1)},)", "Expected 'domain' to have the structure of 'out', which is 'Field[[I], float64]'."),
    ("copy(a + b, out=b)", "a + b", "Arithmetic in a program is for scalars only, got 'Field[[I], float64]'."),
    ("copy(a(I + 1), out=b)", "a(I + 1)", "Only parameters, tuples, literals and arithmetic on scalars can be passed in a program."),
    ("copy(copy(a), out=b)", "copy(a)", "Only parameters, tuples, literals and arithmetic on scalars can be passed in a program."),
    ("scale(a, sqrt(k), n, out=b)", "sqrt(k)", "Only parameters, tuples, literals and arithmetic on scalars can be passed in a program."),
    ("copy(a if n > 1 else b, out=b)", "a if n > 1 else b", "Only parameters, tuples, literals and arithmetic on scalars can be passed in a program."),
    ("scale(a, k, out=b)", "scale(a, k, out=b)", "Invalid call to 'scale'."),
    ("scale(a, n, n, out=b)", "n", "Invalid call to 'scale'."),
    ("copy(*t, out=b)", "*t", "Unsupported Python syntax: 'Starred'."),
    ("copy(**t, out=b)", "**t", "Keyword arguments are written one by one, without '**'."),
]  # fmt: skip


@pytest.mark.parametrize("row", REFUSED, ids=[row[0] for row in REFUSED])
def test_a_program_that_cannot_be_is_refused(row, refused, names, define):
    body, place, message = row
    other = types.SimpleNamespace(__definition__=define("def other(a: F):\n    pass", "program"))

    error, under = refused(HEADER + "    " + body, "program", other=other, **names)

    assert isinstance(error, DSLError)
    assert error.message == message
    assert under == place
