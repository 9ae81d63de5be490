"""Every message of an operator that is refused: its class, its text and its place."""

# ruff: noqa: E501 - a row of a table is one message

import enum
import linecache
import math
import types

import attrs
import pytest

from fieldforge.runtime.language.connectivity import FieldOffset
from fieldforge.runtime.language.dimension import Dimension, DimensionKind
from fieldforge.runtime.process.errors import (
    DSLError,
    DSLTypeError,
    InvalidAnnotationError,
    MissingAttributeError,
    MissingParameterAnnotationError,
    UndefinedSymbolError,
    UnsupportedPythonFeatureError,
)
from fieldforge.stages.parse.trees import parse_all

E, V = Dimension("E"), Dimension("V")
V2E = FieldOffset("V2E", source=E, target=(V, Dimension("V2E", DimensionKind.LOCAL)))
HEADER = "def f(x: F, y: FJ, s: F32, m: N, b: B, n: int32, c: bool, t: tuple[F, float]):\n"


class Const(enum.Enum):
    PI = 3.5
    NAME = "text"


UNSUPPORTED = {
    "for i in x:\n        pass": "for",
    "while c:\n        pass": "while",
    "return [i for i in t]": "list comprehension",
    "return {i for i in t}": "set comprehension",
    "return {i: i for i in t}": "dict comprehension",
    "return (i for i in t)": "generator expression",
    "return lambda: x": "lambda",
    "try:\n        pass\n    finally:\n        pass": "try",
    "try:\n        pass\n    except* ValueError:\n        pass": "try*",
    "raise ValueError": "raise",
    "with x:\n        pass": "with",
    "assert c": "assert",
    "class A:\n        pass": "class",
    "return f'{x}'": "f-string",
    "match n:\n        case 1:\n            pass": "match",
    "return c and c": "and",
    "return c or c": "or",
    "x += 1.0": "AugAssign",
    "def g():\n        pass": "FunctionDef",
    "return t[0:1]": "Slice",
    "return [x]": "List",
    "return {1: x}": "Dict",
    "return {x}": "Set",
    "return (yield x)": "Yield",
    "return x @ x": "MatMult",
    "return n << n": "LShift",
    "return n in t": "In",
    "return n is n": "Is",
    "return (z := n)": "NamedExpr",
    "import math": "Import",
    "global z": "Global",
    "del n": "Delete",
    "x[0] = 1.0": "Subscript",
    "x.a = 1.0": "Attribute",
    "sqrt(x)": "a value that nothing takes",
    "pass": "Pass",
    "return where(*t)": "Starred",
}


@pytest.mark.parametrize(("body", "feature"), UNSUPPORTED.items(), ids=UNSUPPORTED.values())
def test_python_outside_the_subset_is_refused_by_name(body, feature, refused):
    error, under = refused(f"{HEADER}    {body}\n    return x")

    assert type(error) is UnsupportedPythonFeatureError
    assert error.message == f"Unsupported Python syntax: '{feature}'."
    assert error.feature == feature
    assert under
    assert under in body


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("for i in x:\n        pass", "scan_operator"),
        ("return c and c", "'&'"),
        ("return c or c", "'|'"),
        ("x += 1.0", "x = x + y"),
    ],
)
def test_the_hint_says_what_to_write_instead(body, hint, refused):
    error, _ = refused(HEADER + "    " + body)

    assert any(hint in each for each in error.hints)


TYPES = [
    ("return x + n", "x + n", "Could not promote 'Field[[I], float64]' and 'int32' to common type in call to '+'."),
    ("return s * 1.0", "s * 1.0", "Could not promote 'Field[[I], float32]' and 'float64' to common type in call to '*'."),
    ("return m + 1.0", "m + 1.0", "Could not promote 'Field[[I], int32]' and 'float64' to common type in call to '+'."),
    ("return x < n", "x < n", "Could not promote 'Field[[I], float64]' and 'int32' to common type in call to '<'."),
    ("return minimum(x, s)", "minimum(x, s)", "Could not promote 'Field[[I], float64]' and 'Field[[I], float32]' to common type in call to 'minimum'."),
    ("return where(b, x, s)", "where(b, x, s)", "Could not promote 'Field[[I], float64]' and 'Field[[I], float32]' to common type in call to 'where'."),
    ("return x + b", "b", "Operator '+' expects numbers, got 'Field[[I], bool]'."),
    ("return t + x", "t", "Operator '+' expects numbers, got 'tuple[Field[[I], float64], float64]'."),
    ("return b == b", "b", "Operator '==' expects numbers, got 'Field[[I], bool]'."),
    ("return -b", "b", "Operator '-' expects numbers, got 'Field[[I], bool]'."),
    ("return x & b", "x", "Operator '&' expects truth values, got 'Field[[I], float64]'."),
    ("return ~n", "n", "Operator '~' expects a truth value, got 'int32'."),
    ("return not n", "n", "Operator 'not' expects a truth value, got 'int32'."),
    ("return not b", "b", "Operator 'not' expects a scalar, got 'Field[[I], bool]'."),
    ("return x % x", "x", "Operator '%' expects integers on the right, got 'Field[[I], float64]'."),
    ("return x if b else x", "b", "Condition for 'ternary' must be scalar, got 'Field[[I], bool]'."),
    ("return x if n else x", "n", "Condition for 'ternary' must be of boolean type, got 'int32'."),
    ("return x if c else 1.0", "x if c else 1.0", "Expected both branches of the ternary to be of one type, got 'Field[[I], float64]' and 'float64'."),
    ("if b:\n        x = x\n    return x", "b", "Condition for 'if' must be scalar, got 'Field[[I], bool]'."),
    ("if n:\n        x = x\n    return x", "n", "Condition for 'if' must be of boolean type, got 'int32'."),
    ("p, q = x\n    return x", "x", "Assignment value must be of type tuple, got 'Field[[I], float64]'."),
    ("p, q = 1, 2, 3\n    return x", "p, q", "Too many values to unpack (expected 2)."),
    ("p, q, r = t\n    return x", "p, q, r", "Not enough values to unpack (expected 3, got 2)."),
    ("p, q, r, *w = t\n    return x", "p, q, r, *w", "Not enough values to unpack (expected at least 3, got 2)."),
    ("return t[2]", "2", "Index 2 is out of range for a tuple of 2 elements."),
    ("return t[n]", "n", "Elements of a tuple are chosen by a literal integer, got a value of type 'int32'."),
    ("return n[0]", "n", "Expected a tuple to take an element of, got a value of type 'int32'."),
    ("return n(I + 1)", "n", "Expected something that can be called, got a value of type 'int32'."),
    ("return x(J + 1)", "J + 1", "Incompatible offset can not shift field defined on I from J to target dim(s): J."),
    ("return x(I)", "I", "Expected an offset, got dimension 'I'."),
    ("return x(1)", "1", "Expected an offset, got the number '1'."),
    ("return x()", "x()", "A shift takes at least one offset, as in 'f(I + 1)'."),
    ("return float64(n)", "n", "'float64()' only takes literal arguments."),
    ("return int32('x')", "'x'", "'int32()' can not represent 'x'."),
    ("return sqrt(n)", "n", "Expected 0-th argument to be a floating point type, got 'int32'."),
    ("return neg(b)", "b", "Expected 0-th argument to be a number, got 'Field[[I], bool]'."),
    ("return maximum(x, b)", "b", "Expected 1-th argument to be a number, got 'Field[[I], bool]'."),
    ("return where(c, x, x)", "c", "Expected 0-th argument to be a field of type 'bool', got 'bool'."),
    ("return where(b, t, x)", "where(b, t, x)", "Expected 2nd and 3rd argument of 'where' to have the same structure, got 'tuple[Field[[I], float64], float64]' and 'Field[[I], float64]'."),
    ("return where(b, x)", "where(b, x)", "Invalid call to 'where'."),
    ("return where(b, x, x, x=1)", "x=1", "Invalid call to 'where'."),
    ("return broadcast(x, I)", "I", "Expected 1-th argument to be a tuple of dimensions, got dimension 'I'."),
    ("return broadcast(x, (J, I))", "(J, I)", "Dimensions 'J[horizontal], I[horizontal]' are not ordered correctly, expected 'I[horizontal], J[horizontal]'."),
    ("return broadcast(x, (J,))", "(J,)", "Expected the dimensions of 'broadcast' to contain 'I' of 'Field[[I], float64]', got 'J'."),
    ("return broadcast(t, (I,))", "t", "Expected 0-th argument to be a field or scalar, got 'tuple[Field[[I], float64], float64]'."),
    ("return astype(x, 1)", "1", "Expected 1-th argument to be a scalar type, got the number '1'."),
    ("return I", "I", "Expected a value, got dimension 'I'."),
    ("return float64", "float64", "Expected a value, got type 'float64'."),
    ("return sqrt", "sqrt", "Expected a value, got builtin 'sqrt'."),
    ("return 'a'", "'a'", "Expected a value, got a string."),
    ("return None", "None", "Literal 'None' is not a number of the language."),
    ("return 1j", "1j", "Literal '1j' is not a number of the language."),
    ("return 9223372036854775808", "9223372036854775808", "Integers beyond 64 bits are not supported."),
    ("return math.sin(n)", "math.sin", "Unexpected object 'math.sin' of type 'builtin_function_or_method' encountered."),
    ("return box", "box", "Unexpected object 'box' of type 'SimpleNamespace' encountered."),
    ("return Const.NAME", "Const.NAME", "Unexpected object 'Const.NAME' of type 'Const' encountered."),
    ("return", "return", "'Function' is expected to return a value."),
    ("x = x", "x = x", "'Function' is expected to return a value."),
    ("if c:\n        return x", "if c:\n        return x", "'Function' is expected to return a value."),
    ("if c:\n        return x\n    return n", "n", "Expected every 'return' to give a value of type 'Field[[I], float64]', got 'int32'."),
    ("z: float = n\n    return x", "n", "Annotated type does not match the type of the value: annotation is 'float64', got 'int32'."),
    ("if c:\n        z = x\n    else:\n        z = n\n    return z", "z", "Inconsistent types between two branches for variable 'z'."),
]  # fmt: skip


@pytest.mark.parametrize(("body", "place", "message"), TYPES, ids=[row[0] for row in TYPES])
def test_types_that_do_not_fit_are_refused(body, place, message, refused):
    error, under = refused(
        f"{HEADER}    {body}", math=math, box=types.SimpleNamespace(), Const=Const
    )

    assert isinstance(error, DSLTypeError)
    assert error.message == message
    assert under == place


RULES = [
    ("return 0 < n < 3", "0 < n < 3", "Comparison chains are not supported."),
    ("return x(I + n)", "n", "Cartesian offsets are only supported with a literal right-hand side."),
    ("return x(I + 0.3)", "0.3", "Invalid offset '0.3' for a Cartesian shift."),
    ("return x(I + 0.5)", "I + 0.5", "Incompatible offset can not shift field defined on I from I_staggered to target dim(s): I."),
    ("return x(I < 3)", "I < 3", "Expected an offset, got a value of type 'Domain[I]'."),
    ("z: float\n    return x", "z: float", "Variable declaration without assignment."),
    ("p, (q, r) = t\n    return x", "(q, r)", "A tuple can only be unpacked to plain names."),
    ("return where(**t)", "**t", "Keyword arguments are written one by one, without '**'."),
]  # fmt: skip


@pytest.mark.parametrize(("body", "place", "message"), RULES, ids=[row[0] for row in RULES])
def test_rules_of_the_language_are_kept(body, place, message, refused):
    error, under = refused(f"{HEADER}    {body}", V2E=V2E)

    assert isinstance(error, DSLError)
    assert error.message == message
    assert under == place


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (HEADER + "    return 0 < n < 3", "Write '(0 < n) & (n < 3)' instead."),
        (HEADER + "    return s * 1.0", "Write 'float32(1.0)'."),
        (
            "def f(x: FK, faces: FKh) -> FK:\n    return x(K + 0.5)",
            "A shift by half a cell names the dimension of its result: write 'flip_staggered(K) + 0.5'.",
        ),
        (
            "def f(x: FK, faces: FKh) -> FK:\n    return faces(K + 1)",
            "The field lies on 'K_staggered': write 'flip_staggered(K) + 1' to stay there, or 'K + 0.5' to come to 'K'.",
        ),
    ],
    ids=["a chain of comparisons", "a literal of the wrong dtype", "half a cell", "cells for faces"],
)  # fmt: skip
def test_a_hint_says_what_to_write(text, hint, refused):
    error, _ = refused(text)

    assert error.hints == (hint,)


NAMES = {
    "the nearest name is suggested": (
        "def f(velocity: F):\n    return velocty", UndefinedSymbolError, "velocty",
        "Undefined symbol 'velocty'.", "Did you mean 'velocity'?",
    ),
    "a local name is undefined before it is bound whatever the closure holds": (
        "def f(x: F):\n    y = z\n    z = x\n    return z", UndefinedSymbolError, "z", "Undefined symbol 'z'.",
    ),
    "a name bound in one branch is undefined afterwards": (
        HEADER + "    if c:\n        u = x\n    return u", UndefinedSymbolError, "u", "Undefined symbol 'u'.",
    ),
    "a missing attribute of a module": (
        HEADER + "    return math.flor", MissingAttributeError, "math.flor",
        "'math' has no attribute 'flor'.", "Did you mean 'floor'?",
    ),
    "the return annotation must be the deduced type": (
        "def f(x: F) -> N:\n    return x + x", DSLTypeError, "x + x",
        "Annotated return type does not match deduced return type: annotation is 'Field[[I], int32]', got 'Field[[I], float64]'.",
    ),
    "the return annotation is read before the body": (
        "def f(x: F) -> 'Nonsense':\n    return undefined", InvalidAnnotationError, "'Nonsense'",
        "Invalid type annotation ''Nonsense''.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NAMES.values(), ids=NAMES)
def test_names_and_annotations_are_resolved(case, refused):
    text, kind, place, message, *hints = case

    error, under = refused(text, math=math, z=2.0)

    assert type(error) is kind
    assert error.message == message
    assert error.hints == tuple(hints)
    assert under == place


SIGNATURES = [
    ("def f(x):\n    return x", MissingParameterAnnotationError, "x", "no type annotation"),
    ("def f(x: list):\n    return x", InvalidAnnotationError, "list", "Invalid type annotation 'list'."),
    ("def f(x: tuple[F, ...]):\n    return x[0]", InvalidAnnotationError, "tuple[F, ...]", "Invalid type annotation"),
    ("def f(x: F, /):\n    return x", DSLError, "x: F", "Positional-only parameters are not supported."),
    ("def f(*, x: F):\n    return x", DSLError, "x: F", "Keyword-only parameters are not supported."),
    ("def f(*x: F):\n    return x", DSLError, "x: F", "('*args') are not supported."),
    ("def f(**x: F):\n    return x", DSLError, "x: F", "('**kwargs') are not supported."),
    ("def f(x: float = 1.0):\n    return x", DSLError, "1.0", "Default values of parameters are not supported."),
    ("def where(x: F):\n    return x", DSLError, "where", "Name 'where' is a reserved GT4Py builtin."),
    ("async def f(x: F):\n    return x", UnsupportedPythonFeatureError, "async def", "'async def'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "place", "message"), SIGNATURES)
def test_signatures_that_cannot_be_are_refused(text, kind, place, message, refused):
    error, under = refused(text)

    assert type(error) is kind
    assert message in error.message
    assert under == place


CALLS = [
    ("g(x)", "g(x)", "Missing 1 required arguments: 'b'."),
    ("g(x, n)", "n", "Expected argument 'b' to be of type 'float64', got 'int32'."),
    ("g(x, 1.0, 2.0)", "g(x, 1.0, 2.0)", "Function takes 2 positional arguments, but 3 were given."),
    ("g(x, 1.0, a=x)", "a=x", "Got multiple values for argument 'a'."),
    ("g(x, 1.0, z=x)", "z=x", "Got an unexpected keyword argument 'z'."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "place", "note"), CALLS)
def test_calls_of_operators_are_checked(call, place, note, refused, operator):
    g = operator("def g(a: F, b: float):\n    return a * b")

    error, under = refused(f"{HEADER}    return {call}", g=g)

    assert type(error) is DSLTypeError
    assert error.message == "Invalid call to 'g'."
    assert error.notes == (note,)
    assert under == place


def test_programs_are_not_called_from_operators(refused, define):
    g = types.SimpleNamespace(__definition__=define("def g(a: F):\n    pass", "program"))

    error, under = refused(HEADER + "    return g(x)", g=g)

    assert error.message == "Program 'g' can not be called in another definition."
    assert under == "g"


def test_every_error_says_which_definition_was_read(refused):
    error, _ = refused("def smooth(x: F):\n    return y")

    assert error.__notes__ == ["While processing the definition of 'smooth'."]


def test_places_count_in_the_file_of_the_user_behind_an_indentation(refused):
    error, _ = refused("def f(x: F):\n    return y", indent=4)

    assert (error.location.line, error.location.column) == (3, 16)
    assert linecache.cache[error.location.file][2][2] == "        return y\n"


def test_places_count_characters_and_not_bytes(refused):
    _, under = refused("def f(é: F, ü: F):\n    return é + ü + öl")

    assert under == "öl"


def test_text_that_python_refuses_is_a_located_error(define):
    definition = define("def f(x: F):\n    return x")
    broken = attrs.evolve(definition, source=attrs.evolve(definition.source, text="def f(:\n"))

    with pytest.raises(DSLError, match="Invalid syntax") as caught:
        parse_all(broken)
    assert caught.value.location.line == 1
