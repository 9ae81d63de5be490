"""What has no meaning is refused with gt4py's class and words, at the place in the user's file."""

from __future__ import annotations

import pytest

from fieldforge.stages.gtscript import StencilInfo, errors
from fieldforge.stages.gtscript.capture import capture
from fieldforge.stages.gtscript.parse import parse

from .stencils import define, definition_of

FIELDS = "a: Field[float], b: Field[float], c: Field[float], p: Field[IJ, float], w: float"
DATA = (
    "v: Field[IJK, (float64, (3,))], m: Field[IJK, (float64, (2, 3))], "
    "table: GlobalTable[(float64, (4,))], long: GlobalTable[(float64, (65,))], n: Field[int]"
)

SYNTAX = [
    ("b[1, 0, 0] = a", "Assignment to non-zero offsets is not supported in IJ", 4, 9),
    ("b[0, 0, 1] = a", "Assignment to non-zero offsets in K is not available in PARALLEL", 4, 9),
    ("b = a[1, 0]", "Incorrect offset specification detected for a", 4, 13),
    ("b = a[...]", "Field access with ellipsis has been replaced", 4, 13),
    ("b = a[K + 1, I + 1]", "Axis I is specified out of order", 4, 22),
    ("b = p[K + 1]", "has no axis K", 4, 15),
    ("b = a // 2", "Unsupported operator", 4, 13),
    ("b = 0 < a < 1", "Chained comparison", 4, 13),
    ("b = I", "Parallel axis I can't be queried - only K", 4, 13),
    ("p = a", "Cannot assign to field 'p' as all parallel axes", 4, 9),
    ("w = a", "Cannot assign to scalar 'w'", 4, 9),
    ("b = c = a", "Assignment to multiple variables", 4, 9),
    ("b = missing(a)", "Unknown call", 4, 13),
    ("b = sin(a, a)", "Invalid native function call", 4, 13),
    ("twice(a)", "An expression is no statement", 4, 9),
    ("if twice(a) > 0.0:\n            b = a", "Using function calls in the condition", 4, 12),
    ("while twice(a) > 0.0:\n            b = a", "in the condition of a while is not", 4, 15),
    ("x, y = twice(a)", "Number of returns values does not match", 4, 16),
    ("b = both(a)", "Only functions with a single return value", 4, 13),
    ("b = twice(a, a)", "Invalid call signature when calling twice", 4, 13),
    ("b = endless(a)", "Found recursive function call 'endless'", 12, 12),
    ("compile_assert(w > 0.0)", "Evaluation of compile-time condition", 4, 9),
    ("with horizontal(region[I[2], :]):\n            b = a", "Invalid horizontal range", 4, 32),
    ("with horizontal(region[I[0], :]):\n            t = a\n"
     "            with horizontal(region[:, J[0]]):\n                b = t",
     "Cannot nest `with` node", 4, 14),
    ("t = a\n        with horizontal(region[I[0], :]):\n            b = t[1, 0, 0]",
     "written before being referenced with an offset in a horizontal region: t", 5, 14),
]  # fmt: skip

MEANING = [
    ("b = b[1, 0, 0]", "Self-assignment with offset in I or J is illegal", 4),
    ("b = a\n        c = b[0, 1, 0]", "Illegal write and read with horizontal offset", 4),
    ("b = a\n        c = b[0, 0, 1]", "Not allowed to write and read with k-offsets", 4),
    ("t = b\n        b = t[1, 0, 0]", "Found non-zero read extent on written fields: b", 5),
    ("t = a\n        if a > 0:\n            t = 5.0\n            b = t[1, 0, 0]",
     "inside one 'if'", 6),
    ("if a:\n            b = a", "Condition must be boolean", 4),
    ("b = (a > 0) + (a < 1)", "Boolean expression is not allowed with arithmetic", 4),
    ("if a > 0 and w:\n            b = a", "Arithmetic expression is not allowed in boolean", 4),
]  # fmt: skip

DATA_SYNTAX = [
    ("b = v", "Field v has data dimensions but no data dimensions index is specified"),
    ("b = table", "Field table has data dimensions but no data dimensions index is specified"),
    ("b = v.A[3]", "Data index out of bounds"),
    ("b = v[0, 0, 0][-1]", "Data index out of bounds"),
    ("b = m[0, 0, 0][1]", "Incorrect data index length 1"),
    ("b = table[2]", "Did you mean absolute indexing via .A[2]?"),
    ("v.A[1] = a", "writing to an GlobalTable"),
    ("table.A[1] = a", "writing to an GlobalTable"),
    ("v = m", "'m' has data axes [2, 3], expected [3]"),
    ("v = m @ v", "'m @ v' is no product of a matrix and a vector"),
    ("b = a @ c", "'a @ c' is no product of a matrix and a vector"),
    ("z = 2.0 * v", "Field v has data dimensions but no data dimensions index is specified"),
    ("b = a.at(K=K)", "you cannot write `.at(K=K)`"),
    ("b = a.at(0)", "Must be of the form `.at(K=..., ddim=[...])`"),
    ("b = a.at(I=1, K=0)", "Must be of the form `.at(K=..., ddim=[...])`"),
    ("b = a.at(K=0, ddim=[1])", "Field a has no data dimensions"),
]

DATA_MEANING = [
    ("b = a[0, 0, w]", "Variable vertical index must be an integer expression"),
    ("b = a.at(K=w)", "Absolute vertical index must be an integer expression"),
    ("b = p.at(K=0)", "Tried accessing a field with no K-dimensions"),
    ("b = v.A[w]", "Data indices must be integer expressions"),
    ("b = a[1, 0, n]", "is read in another column, at a level that a value gives"),
    ("a = b\n        c = a.at(K=0)", "Not allowed to write and read with `VariableKOffset`"),
    ("a = b\n        c = a[0, 0, n]", "Not allowed to write and read with `VariableKOffset`"),
]

LATER = [
    ("x = 1.0\n        while x < a:\n            x += 1.0\n        b = x[1, 0, 0]",
     "'x' is written and read at other columns in one computation with 'while'"),
    ("b[0, 0, 1] = a\n        x = b + 1.0\n        c = x[1, 0, 0]",
     "'x' is written and read at other columns in one computation with 'while'"),
    ("b = b[0, 0, -1] + long.A[int64(b[0, 0, -1])]",
     "The computation carries a place in table 'long' of 65 numbers from level to level"),
]  # fmt: skip

FUNCTIONS = """
@function
def twice(u):
    return u + u

@function
def both(u):
    return u, u

@function
def endless(u):
    return endless(u)
"""


def stencil(body, order="PARALLEL", interval="..."):
    """Return a stencil whose statements begin in line 4; it may call the functions."""
    head = f"    with computation({order}), interval({interval}):\n        "
    defined = define(f"\ndef s({FIELDS}, {DATA}):\n{head}{body}\n")
    names = define(FUNCTIONS)
    defined.update({name: names[name] for name in ("twice", "both", "endless")})
    return capture(defined["s"])


def refused(body, **rest):
    with pytest.raises(errors.GTError) as caught:
        parse(stencil(body, **rest))
    return caught.value


@pytest.mark.parametrize(("body", "words", "line", "column"), SYNTAX)
def test_what_is_no_gtscript_is_a_syntax_error(body, words, line, column):
    error = refused(body)

    assert isinstance(error, errors.GTScriptSyntaxError)
    assert words in error.message
    assert (error.loc.line, error.loc.column) == (line, column)


@pytest.mark.parametrize(("body", "words", "line"), MEANING)
def test_what_has_no_meaning_is_a_value_error(body, words, line):
    error = refused(body)

    assert isinstance(error, ValueError)
    assert words in error.message
    assert error.loc.line == line


@pytest.mark.parametrize(("body", "words"), DATA_SYNTAX)
def test_what_data_axes_and_levels_cannot_be(body, words):
    error = refused(body)

    assert isinstance(error, errors.GTScriptSyntaxError)
    assert words in error.message
    assert error.loc.line == 4


@pytest.mark.parametrize(("body", "words"), DATA_MEANING)
def test_data_axes_and_levels_without_a_meaning(body, words):
    error = refused(body)

    assert isinstance(error, ValueError)
    assert words in error.message


def test_an_index_that_chooses_among_too_many_elements():
    text = "def s(v: Field[IJK, (float64, (9, 9))], b: Field[float], n: Field[int]):\n"
    text += "    with computation(PARALLEL), interval(...):\n        b = v.A[n, n]\n"

    with pytest.raises(errors.StencilRefusedError, match="81 elements of 'v', 64 are the most"):
        parse(definition_of(text))


@pytest.mark.parametrize(("body", "words"), LATER)
def test_what_is_not_there_yet_is_refused_by_name(body, words):
    error = refused(body, order="FORWARD", interval="1, -1")

    assert isinstance(error, errors.NotYetSupportedError)
    assert error.message.startswith(words)
    assert error.message.endswith("not supported yet.")


def test_a_name_that_nothing_defines_is_a_symbol_error():
    error = refused("b = a + missing")

    assert isinstance(error, errors.GTScriptSymbolError)
    assert error.name == "missing"
    assert (error.loc.line, error.loc.column) == (4, 17)


def test_an_assertion_that_does_not_hold():
    assert isinstance(refused("compile_assert(1 > 2)"), errors.GTScriptAssertionError)


@pytest.mark.parametrize("interval", ["2, 1", "-1, 1", "None, -1", "0.5j", "1, 1"])
def test_intervals_without_levels(interval):
    assert "Invalid interval range specification" in refused("b = a", interval=interval).message


@pytest.mark.parametrize(
    ("order", "intervals", "words"),
    [
        ("PARALLEL", ("1, None", "0, 1"), "Intervals must be specified in order of execution"),
        ("BACKWARD", ("0, 1", "1, None"), "Intervals must be specified in order of execution"),
        ("FORWARD", ("0, 2", "1, None"), "Overlapping intervals detected"),
        ("FORWARD", ("2, n", "0, m"), "Intervals must be specified in order of execution"),
        ("FORWARD", ("n, None", "0, n"), "Intervals must be specified in order of execution"),
        ("FORWARD", ("n, None", "0, m"), "Intervals must be specified in order of execution"),
        ("BACKWARD", ("0, n", "n, None"), "Intervals must be specified in order of execution"),
        ("FORWARD", ("q, None", "0, q"), "Intervals must be specified in order of execution"),
        ("FORWARD", ("n, 3", "n, 4"), "Overlapping intervals detected"),
        ("PARALLEL", ("1, n", "2, n"), "Overlapping intervals detected"),
        ("FORWARD", ("n, None", "-1, None"), "Overlapping intervals detected"),
    ],
)
def test_nested_intervals_in_order(order, intervals, words):
    with pytest.raises(errors.GTScriptSyntaxError, match=words) as error:
        nested(order, intervals)

    assert f"got 'interval({intervals[0]})' before 'interval({intervals[1]})'" in str(error.value)
    assert error.value.loc.line == 2


def nested(order, intervals):
    """Return what calls know of a stencil with intervals in one computation."""
    blocks = "".join(f"        with interval({each}):\n            b = a\n" for each in intervals)
    more = "n: int, m: int, q: Field[IJ, np.int64]"
    text = f"def s({FIELDS}, {more}):\n    with computation({order}):\n{blocks}"
    return parse(definition_of(text))["info"]


@pytest.mark.parametrize(
    ("order", "intervals", "is_checked"),
    [
        ("FORWARD", ("0, n", "n, None"), False),
        ("BACKWARD", ("n, None", "0, n"), False),
        ("FORWARD", ("0, n", "m, None"), True),
        ("BACKWARD", ("m, None", "0, n"), True),
        ("FORWARD", ("0, q", "n, None"), False),
    ],
)
def test_intervals_of_the_call_are_noted_for_its_checks(order, intervals, is_checked):
    info = nested(order, intervals)

    assert bool(info.in_order) == is_checked
    assert StencilInfo.from_files(info.files()) == info


def test_a_carried_value_that_is_shifted_has_no_extent():
    error = refused(
        "u = a + t[0, 0, -1]\n        t = a + u[1, 0, 0]\n        b = t".replace(
            "u = a", "t = 0.0\n        u = a"
        ),
        order="FORWARD", interval="1, None",
    )  # fmt: skip

    assert "its extent would grow with each level" in error.message


def test_annotations():
    for arguments, kind in [("a", errors.GTScriptDefinitionError), ("a: 'T'", ValueError),
                            ("*a: float", errors.GTScriptDefinitionError),
                            ("a: str", errors.GTScriptValueError)]:  # fmt: skip
        with pytest.raises(kind):
            definition_of(f"def s({arguments}):\n    pass\n")


def test_imports_and_externals():
    for line, kind in [
        ("import os", errors.GTScriptSyntaxError),
        ("from os import path", errors.GTScriptSyntaxError),
        ("from __externals__ import missing", errors.GTScriptDefinitionError),
    ]:
        text = f"def s({FIELDS}):\n    {line}\n    with computation(PARALLEL), interval(...):\n"
        with pytest.raises(kind):
            parse(definition_of(f"{text}        b = a\n"))


def test_a_branch_that_may_not_have_assigned_is_a_warning():
    info = parse(stencil("if a > 0:\n            t = 1.0\n        b = t"))["info"]

    assert info.warnings == ("`t` may be uninitialized.",)
    whole = "if a > 0:\n            t = 1.0\n        else:\n            t = 2.0\n        b = t"
    assert parse(stencil(whole))["info"].warnings == ()
