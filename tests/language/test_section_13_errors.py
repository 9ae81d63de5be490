"""Section 13: errors say what, where and what to do; nothing internal leaks."""

import enum
import linecache
import os
import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import errors, experimental, float64
from fieldforge.runtime.process.source import Span

from . import support
from .support import (
    I,
    Line,
    field,
    random,
)

HEADER = "def f(u: Line, v: Line, s: Line32, m: Ints, b: Bools, n: int32, x: float64, c: bool, t: tuple[Line, float64]):\n"  # noqa: E501


class Const(enum.Enum):
    NAME = "text"


@ff.field_operator(backend=None)
def scaled(u: Line, by: float64) -> Line:
    return u * by


@ff.program(backend=None)
def a_program(u: Line, out: Line):
    scaled(u, 2.0, out=out)


THING = object()


def decorated(text: str, kind: str = "field_operator", **options: object) -> object:
    """Decorate a function that is written as text, in a file of its own."""
    file = f"/model/{abs(hash(text))}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {**vars(ff), **vars(experimental), **vars(support), **globals()}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    name = text.partition("(")[0].removeprefix("def ")
    return getattr(ff, kind)(space[name], **options)


def refused(text: str, kind: str = "field_operator", **options: object):
    """Return the error for a function that is refused, and the source under its carets."""
    with pytest.raises(errors.DSLError) as caught:
        decorated(text, kind, **options)
    error = caught.value
    place = error.location
    assert place is not None, error
    lines = text.splitlines()
    assert 1 <= place.line <= place.end_line <= len(lines)
    assert place.file.startswith("/model/")
    if place.line == place.end_line:
        return error, lines[place.line - 1][place.column - 1 : place.end_column - 1]
    return error, "\n".join(lines[place.line - 1 : place.end_line])


# --- the tree of errors -----------------------------------------------------------------------


class TestTree:
    def test_13_all_are_of_one_family(self):
        for name in set(errors.__all__) - {"exceptions"}:
            assert issubclass(getattr(errors, name), errors.GT4PyError), name

    @pytest.mark.parametrize(
        ("child", "parent"),
        [
            ("DSLError", "GT4PyError"),
            ("UnsupportedPythonFeatureError", "DSLError"),
            ("UndefinedSymbolError", "DSLError"),
            ("MissingAttributeError", "DSLError"),
            ("MissingArgumentError", "DSLError"),
            ("DSLTypeError", "DSLError"),
            ("MissingParameterAnnotationError", "DSLTypeError"),
            ("InvalidAnnotationError", "DSLTypeError"),
            ("InvalidParameterAnnotationError", "DSLTypeError"),
            ("IndexOutOfBounds", "EmbeddedExecutionError"),
            ("NonContiguousDomain", "EmbeddedExecutionError"),
        ],
    )
    def test_13_a_child_and_its_parent(self, child, parent):
        assert issubclass(getattr(errors, child), getattr(errors, parent))
        assert issubclass(errors.IndexOutOfBounds, IndexError)

    @pytest.mark.parametrize(
        ("name", "code"),
        [
            ("DSLError", None),
            ("UnsupportedPythonFeatureError", "unsupported-syntax"),
            ("UndefinedSymbolError", "undefined-symbol"),
            ("InvalidAnnotationError", "invalid-annotation"),
        ],
    )
    def test_13_a_class_has_a_code(self, name, code):
        assert getattr(errors, name).code == code

    def test_13_an_error_is_made_of_parts(self):
        place = Span("/model.py", 3, 5, 3, 9)
        error = errors.DSLError(
            place, "Wrong.", label="here", related=[(place, "there")], notes=["A."], hints=["B."]
        )

        assert error.message == "Wrong."
        assert (error.location, error.label) == (place, "here")
        assert (error.notes, error.hints) == (("A.",), ("B.",))
        assert error.related[0].location == place

    def test_13_attributes_of_the_special_ones(self):
        assert errors.UnsupportedPythonFeatureError(None, "for").feature == "for"
        assert errors.UndefinedSymbolError(None, "x").sym_name == "x"
        assert errors.MissingArgumentError(None, "out", True).is_kwarg is True

    def test_13_errors_survive_pickling(self):
        error, _ = refused(HEADER + "    return w")
        again = pickle.loads(pickle.dumps(error))

        assert str(again) == str(error)
        assert again.location == error.location


# --- what is refused: statements, expressions, signatures --------------------------------------

UNSUPPORTED = {
    "for i in u:\n        pass": ("for", "scan"),
    "while c:\n        pass": ("while", "scan"),
    "return [i for i in t]": ("list comprehension", ""),
    "return {i for i in t}": ("set comprehension", ""),
    "return {i: i for i in t}": ("dict comprehension", ""),
    "return (i for i in t)": ("generator expression", ""),
    "return lambda: u": ("lambda", ""),
    "try:\n        u = v\n    finally:\n        u = v": ("try", ""),
    "try:\n        u = v\n    except* ValueError:\n        u = v": ("try*", ""),
    "raise ValueError": ("raise", ""),
    "with u:\n        pass": ("with", ""),
    "assert c": ("assert", ""),
    "class A:\n        pass": ("class", ""),
    "return f'{u}'": ("f-string", ""),
    "match n:\n        case 1:\n            pass": ("match", ""),
    "return c and c": ("and", "&"),
    "return c or c": ("or", "|"),
    "u += 1.0": ("AugAssign", ""),
    "def g():\n        pass": ("FunctionDef", ""),
    "return t[0:1]": ("Slice", ""),
    "scaled(u, 2.0)": ("a value that nothing takes", ""),
}
UNLISTED = {
    "return u @ u": "MatMult",
    "return n << n": "LShift",
    "return n in t": "In",
    "return n is n": "Is",
    "return (z := n)": "NamedExpr",
    "import math": "Import",
    "global z": "Global",
    "del n": "Delete",
    "u[0] = 1.0": "Subscript",
    "u.a = 1.0": "Attribute",
    "return [u]": "List",
    "return {1: u}": "Dict",
    "return {u}": "Set",
    "return (yield u)": "Yield",
}


class TestRefusedConstructs:
    @pytest.mark.parametrize("body", UNSUPPORTED)
    def test_13_python_outside_the_subset_has_a_name_a_place_and_a_hint(self, body):
        feature, hint = UNSUPPORTED[body]

        error, under = refused(f"{HEADER}    {body}\n    return u")

        assert type(error) is errors.UnsupportedPythonFeatureError
        assert error.message == f"Unsupported Python syntax: '{feature}'."
        assert error.feature == feature
        assert error.notes == ("Only a subset of Python is valid inside operators and programs.",)
        assert any(hint in each for each in error.hints)
        assert error.location.line == 2
        assert under.strip().splitlines()[0] in body

    @pytest.mark.parametrize("body", UNLISTED)
    def test_13_unlisted_syntax_shows_the_class_of_its_node(self, body):
        error, under = refused(f"{HEADER}    {body}\n    return u")

        assert type(error) is errors.UnsupportedPythonFeatureError
        assert error.feature == UNLISTED[body]
        assert under in body

    # (body, text under the carets, part of the message); class DSLTypeError
    TYPES = (
        ("return u + n", "u + n", "Could not promote 'Field[[I], float64]' and 'int32' to common type in call to '+'."),  # noqa: E501
        ("return s * 1.0", "s * 1.0", "Could not promote 'Field[[I], float32]' and 'float64' to common type in call to '*'."),  # noqa: E501
        ("return u < n", "u < n", "Could not promote"),
        ("return where(b, u, s)", "where(b, u, s)", "Could not promote"),
        ("return ff.minimum(u, s)", "ff.minimum(u, s)", "Could not promote"),
        ("return u % u", "u", ""),
        ("return u & b", "u", ""),
        ("return b == b", "b", ""),
        ("return ~n", "n", ""),
        ("return not b", "b", ""),
        ("return not n", "n", ""),
        ("return -b", "b", ""),
        ("return u if b else u", "b", "must be scalar"),
        ("return u if n else u", "n", "of boolean type"),
        ("return u if c else 1.0", "u if c else 1.0", ""),
        ("if b:\n        u = v\n    return u", "b", "Condition for 'if' must be scalar"),
        ("if n:\n        u = v\n    return u", "n", "of boolean type"),
        ("if c:\n        z = u\n    else:\n        z = n\n    return z", "z", "Inconsistent types between two branches for variable 'z'"),  # noqa: E501
        ("p, q = u\n    return p", "u", "Assignment value must be of type tuple, got 'Field[[I], float64]'."),  # noqa: E501
        ("p, q = 1, 2, 3\n    return u", "p, q", "Too many values to unpack (expected 2)."),
        ("z: float = n\n    return u", "n", ""),
        ("return t[2]", "2", ""),
        ("return t[n]", "n", ""),
        ("return n(I + 1)", "n", ""),
        ("return u(J + 1)", "J + 1", "Incompatible offset can not shift field defined on I from J to target dim(s): J."),  # noqa: E501
        ("return u(E2V[0])", "E2V[0]", "Incompatible offset can not shift field defined on I from Vertex to target dim(s): Edge."),  # noqa: E501
        ("return float64(x)", "x", "'float64()' only takes literal arguments."),
        ("return int32('x')", "'x'", ""),
        ("return ff.sqrt(n)", "n", "Expected 0-th argument to be a floating point type, got 'int32'."),  # noqa: E501
        ("return where(c, u, u)", "c", ""),
        ("return where(b, t, u)", "where(b, t, u)", ""),
        ("return ff.broadcast(u, I)", "I", ""),
        ("return ff.broadcast(u, (J,))", "(J,)", ""),
        ("return ff.broadcast(u, (J, I))", "(J, I)", "are not ordered correctly, expected"),
        ("return ff.astype(u, 1)", "1", ""),
        ("return THING", "THING", "Unexpected object 'THING' of type 'object' encountered."),
        ("return Const.NAME", "Const.NAME", "Unexpected object 'Const.NAME' of type 'Const'"),
        ("return", "return", "'Function' is expected to return a value."),
        ("if c:\n        return u", "if c:\n        return u", "'Function' is expected to return a value."),  # noqa: E501
        ("if c:\n        return u\n    return n", "n", ""),
        ("return scaled(u)", "scaled(u)", "Invalid call to 'scaled'."),
        ("return scaled(u, n)", "n", "Invalid call to 'scaled'."),
        ("return scaled(u, 1.0, by=2.0)", "by=2.0", "Invalid call to 'scaled'."),
        ("return scaled(u, 1.0, bye=2.0)", "bye=2.0", "Invalid call to 'scaled'."),
    )  # fmt: skip

    @pytest.mark.parametrize(("body", "place", "message"), TYPES, ids=[row[0] for row in TYPES])
    def test_13_types_that_do_not_fit_point_at_the_smallest_span(self, body, place, message):
        error, under = refused(f"{HEADER}    {body}")

        assert isinstance(error, errors.DSLTypeError)
        assert message in error.message
        assert under.strip() == place

    # (body, text under the carets, part of the message); any DSLError
    RULES = (
        ("return 0 < n < 3", "0 < n < 3", ""),
        ("return u(I + n)", "n", "Cartesian offsets are only supported with a literal right-hand side"),  # noqa: E501
        ("return u(I + 0.3)", "0.3", "Invalid offset '0.3' for a Cartesian shift"),
        ("z: float\n    return u", "z: float", "Variable declaration without assignment"),
        ("p, (q, r) = t\n    return u", "(q, r)", ""),
        ("return a_program(u, u)", "a_program", ""),
        ("return where(*t)", "*t", ""),
        ("return where(**t)", "**t", ""),
    )  # fmt: skip

    @pytest.mark.parametrize(("body", "place", "message"), RULES, ids=[row[0] for row in RULES])
    def test_13_rules_of_the_language_are_kept(self, body, place, message):
        error, under = refused(f"{HEADER}    {body}")

        assert message in error.message
        assert under == place

    def test_13_chains_are_shown_unchained(self):
        error, _ = refused(HEADER + "    return 0 < n < 3")

        told = " ".join([error.message, *error.notes, *error.hints])
        assert "(0 < n) & (n < 3)" in told

    SIGNATURES = (
        ("def f(u):\n    return u", "MissingParameterAnnotationError", "u"),
        ("def f(u: list):\n    return u", "InvalidAnnotationError", "list"),
        ("def f(u: 'Nonsense'):\n    return u", "InvalidAnnotationError", "'Nonsense'"),
        ("def f(u: Line) -> Ints:\n    return u + v", "UndefinedSymbolError", "v"),
        ("def f(u: Line) -> Ints:\n    return u * u", "DSLTypeError", "u * u"),
        ("def f(*, u: Line):\n    return u", "DSLError", "u: Line"),
        ("def f(*u: Line):\n    return u", "DSLError", "u: Line"),
        ("def f(**u: Line):\n    return u", "DSLError", "u: Line"),
        ("def where(u: Line):\n    return u", "DSLError", "where"),
        ("def f(u: tuple[Line, ...]):\n    return u[0]", "InvalidAnnotationError", "tuple[Line, ...]"),  # noqa: E501
        ("def f(u: ff.Field[[J, I], float]):\n    return u", "InvalidAnnotationError", "ff.Field[[J, I], float]"),  # noqa: E501
        ("def f(u: Line) -> 'Nonsense':\n    return w", "InvalidAnnotationError", "'Nonsense'"),
    )  # fmt: skip

    @pytest.mark.parametrize(("text", "kind", "place"), SIGNATURES)
    def test_13_signatures_are_refused_at_the_annotation(self, text, kind, place):
        error, under = refused(text)

        assert isinstance(error, getattr(errors, kind))
        assert under == place

    def test_13_rule_a_default_value_is_refused_with_a_place(self):
        text = "def f(u: Line, by: float64 = 2.0):\n    return u * by"
        error, under = refused(text)

        assert error.message == "Default values of parameters are not supported."
        assert under == "2.0"

    def test_13_the_name_of_a_builtin_is_reserved(self):
        error, _ = refused("def where(u: Line):\n    return u")

        assert "Name 'where' is a reserved" in error.message

    def test_13_a_wrong_return_annotation_shows_both_types(self):
        error, under = refused("def f(u: Line) -> Ints:\n    return u + u")

        assert error.message == (
            "Annotated return type does not match deduced return type: annotation is "
            "'Field[[I], int32]', got 'Field[[I], float64]'."
        )
        assert under == "u + u"


NEIGHBOURS = (
    "def f(e: EdgeField, c: CellField, v: VertexField, u: Slab, m: Ints, n: int32, x: float64):\n"
)


class TestRefusedNeighbours:
    ROWS = (
        ("return ff.neighbor_sum(e(C2E), C2EDim)", ""),
        ("return ff.neighbor_sum(c, axis=C2EDim)", "Expected a field with dimension"),
        ("return ff.neighbor_sum(e(C2E), axis=Cell)", ""),
        ("return ff.neighbor_sum(e(C2E))", ""),
        ("return e(C2E, E2V)", ""),
        ("return e(C2E, K + 1)", ""),
        ("return e(C2E[n])", ""),
        ("return e(C2E[0.5])", ""),
        ("return c(C2E[0])", "Incompatible offset can not shift field defined on Cell"),
        ("return concat_where(K < x, u, u)", ""),
        ("return concat_where(n < 3, u, u)", ""),
        ("return concat_where(K < u, u, u)", ""),
        ("return concat_where(K < 2, u, 1)", "Could not promote"),
        ("return concat_where(K < 2, u)", ""),
        ("return concat_where(K, u, u)", ""),
        ("return concat_where((K < 2) + (K > 3), u, u)", ""),
        ("return u if K < 2 else u", ""),
        ("return K < 2", ""),
        ("return u(as_offset(Koff, u))", ""),
        ("return u(Koff)", ""),
        ("return e(C2E)[C2EDim(n)]", ""),
        ("return e(C2E)[0]", ""),
        ("return C2E", ""),
        ("return e(C2E) + v(E2V)", ""),
    )

    @pytest.mark.parametrize(("body", "message"), ROWS, ids=[row[0] for row in ROWS])
    def test_13_neighbours_and_regions_that_cannot_be(self, body, message):
        error, _ = refused(f"{NEIGHBOURS}    {body}")

        assert message in error.message
        assert error.location.line == 2


PROGRAM = "def p(u: Line, v: Line, w: Plane, out: Line, n: int32, x: float64):\n"


class TestRefusedPrograms:
    ROWS = (
        ("scaled(u, x)", "Missing required keyword argument 'out'."),
        ("scaled(u, x, out=w)", "Expected keyword argument 'out' to be of type"),
        ("scaled(u + v, x, out=out)", ""),
        ("scaled(u, n, out=out)", "Invalid call to 'scaled'."),
        ("scaled(u, out=out)", "Invalid call to 'scaled'."),
        ("scaled(u, x, out=out, domain={})", ""),
        ("scaled(u, x, out=out, domain={J: (0, n)})", "Dimensions in out field and field domain are not equivalent"),  # noqa: E501
        ("scaled(u, x, out=out, domain={I: (0, n), J: (0, n)})", "Dimensions in out field and field domain are not equivalent"),  # noqa: E501
        ("scaled(u, x, out=out, domain={I: (0, x)})", ""),
        ("scaled(u, x, out=out, domain={I: n})", ""),
        ("scaled(u, x, out=out[1:], domain={I: (0, n)})", "Either only domain or slicing allowed"),
        ("scaled(u, x, out=out[1:, 1:])", "Too many indices for field"),
        ("scaled(u, x, out=out[::2])", ""),
        ("scaled(u, x, out=out[n:])", ""),
        ("scaled(u, x, out=out[1])", ""),
        ("scaled(u, x, out=scaled)", ""),
        ("a_program(u, out)", ""),
        ("z = u", ""),
        ("return u", ""),
        ("if n > 1:\n        scaled(u, x, out=out)", ""),
        ("for i in u:\n        scaled(u, x, out=out)", ""),
        ("scaled(nobody, x, out=out)", "'nobody'"),
        ("pass", ""),
        ("where(u, v, out=out)", ""),
    )  # fmt: skip

    @pytest.mark.parametrize(("body", "message"), ROWS, ids=[row[0] for row in ROWS])
    def test_13_programs_that_cannot_be(self, body, message):
        error, _ = refused(f"{PROGRAM}    {body}", "program")

        assert message in error.message
        assert error.location.line >= 2


class TestText:
    def test_13_an_undefined_name_comes_with_the_nearest(self):
        error, under = refused("def f(velocity: Line):\n    return velocty")

        assert type(error) is errors.UndefinedSymbolError
        assert error.hints == ("Did you mean 'velocity'?",)
        assert under == "velocty"

    def test_13_the_text_has_file_line_source_carets_notes_and_hints(self):
        error, _ = refused("def f(u: Line):\n    return u + 1")

        assert str(error) == textwrap.dedent(
            f"""\
            Could not promote 'Field[[I], float64]' and 'int32' to common type in call to '+'.
              File "{error.location.file}", line 2
                2 |     return u + 1
                  |            ^^^^^
            Note: Numbers are never converted silently: 'float64' is not 'int32'.
            Hint: Write '1.0'."""
        )

    def test_13_places_count_lines_and_columns_from_one(self):
        error, _ = refused("def f(u: Line):\n    return   w")

        place = error.location
        assert (place.line, place.column, place.end_line, place.end_column) == (2, 14, 2, 15)

    def test_13_places_are_those_of_the_file(self):
        def text():
            @ff.field_operator
            def inner(u: Line) -> Line:
                return u + nothing  # noqa: F821 - the line that is looked for

        with pytest.raises(errors.UndefinedSymbolError) as caught:
            text()

        line = linecache.getline(__file__, caught.value.location.line)
        assert caught.value.location.file == __file__
        assert "the line that is looked for" in line
        assert line[caught.value.location.column - 1 :].startswith("nothing")

    def test_13_a_label_stands_behind_the_carets_and_related_places_are_underlined(self):
        file = "/model/related.py"
        linecache.cache[file] = (1, None, ["a = first + second\n", "b = a\n"], file)
        error = errors.DSLError(
            Span(file, 1, 13, 1, 19), "Wrong.", label="this one",
            related=[(Span(file, 1, 5, 1, 10), "the other"), (Span(file, 2, 1, 2, 2), None)],
        )  # fmt: skip

        text = str(error)
        assert "^^^^^^ this one" in text
        assert "-----" in text
        assert "the other" in text
        assert 'Related:\n  File "/model/related.py", line 2' in text

    def test_13_a_snippet_has_at_most_three_lines(self):
        body = "    if c:\n        u = v\n        u = v\n        u = v\n        return u"
        error, _ = refused(f"{HEADER}{body}")

        shown = [line for line in str(error).splitlines() if " | " in line and "^" not in line]
        assert len(shown) == 3

    def test_13_long_notes_are_wrapped(self):
        error = errors.DSLError(None, "Wrong.", notes=["word " * 60])

        assert max(map(len, str(error).splitlines())) <= 100

    def test_13_the_definition_is_named_in_a_note(self):
        error, _ = refused("def smooth(u: Line):\n    return w")

        assert "While processing the definition of 'smooth'." in error.__notes__


SCRIPT = """
import fieldforge as ff
I = ff.Dimension("I")
Line = ff.Field[[I], float]

@ff.field_operator
def smooth(u: Line) -> Line:
    return u + 1
"""


def stderr_of(tmp_path, **environment):
    (tmp_path / "model.py").write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "model.py"], cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr


class TestUncaught:
    def test_13_an_uncaught_error_shows_no_python_of_ours(self, tmp_path):
        text = stderr_of(tmp_path)

        assert "Traceback" not in text
        assert "runtime/errors" not in text
        assert "8 |     return u + 1" in text
        assert "While processing the definition of 'smooth'." in text

    def test_13_verbose_exceptions_show_it(self, tmp_path):
        assert "Traceback" in stderr_of(tmp_path, FIELDFORGE_VERBOSE_EXCEPTIONS="1")


class TestCalls:
    def test_13_wrong_arguments_are_told_in_the_words_of_the_language(self, backend):
        with pytest.raises(errors.GT4PyError, match=r"(?s)'u'.*Field\[\[I\], float64\]"):
            scaled.with_backend(backend)(np.zeros((3, 3)), 2.0, out=ff.zeros({I: 3}))

    def test_13_an_array_that_does_not_fit_gets_a_hint(self, compiled):
        with pytest.raises(errors.GT4PyError, match="as_field"):
            scaled.with_backend(compiled)(random(3, 3), 2.0, out=ff.zeros({I: 3}))

    @pytest.mark.parametrize(
        "wrong", [None, "text", object(), [1.0], {}, 1j], ids=lambda value: type(value).__name__
    )
    def test_13_no_argument_leads_to_an_internal_exception(self, backend, wrong):
        for args in ((wrong, 2.0), (field(I, random(3)), wrong)):
            with pytest.raises(errors.GT4PyError):
                scaled.with_backend(backend)(*args, out=ff.zeros({I: 3}))

    @pytest.mark.parametrize(
        "wrong", ["text", 3, object(), (), [1.0]], ids=lambda value: type(value).__name__
    )
    def test_13_no_output_leads_to_an_internal_exception(self, backend, wrong):
        with pytest.raises(errors.GT4PyError):
            scaled.with_backend(backend)(field(I, random(3)), 2.0, out=wrong)
