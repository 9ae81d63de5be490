"""Section 13: errors name the place, and survive the trip between processes."""

import linecache
import pickle

import pytest

from fieldforge.runtime.process import errors
from fieldforge.runtime.process.errors import (
    CompilationError,
    DSLError,
    DSLTypeError,
    FieldforgeError,
    MissingArgumentError,
    OptionError,
    UndefinedSymbolError,
    UnsupportedPythonFeatureError,
)
from fieldforge.runtime.process.source import Span

FILE = "<test of errors>"
TEXT = """\
def f(a, lap):
    return lap + a * 2
    c = (1 +
       2 +
    3 +
  4)
\tb = a
"""


@pytest.fixture(autouse=True)
def source():
    linecache.cache[FILE] = (len(TEXT), None, TEXT.splitlines(keepends=True), FILE)
    yield
    del linecache.cache[FILE]


def test_13_the_message_is_followed_by_file_line_and_carets():
    error = DSLError(Span(FILE, 2, 12, 2, 15), "Bad operand.", label="a field")

    assert str(error) == (
        "Bad operand.\n"
        f'  File "{FILE}", line 2\n'
        "    2 |     return lap + a * 2\n"
        "      |            ^^^ a field"
    )
    assert error.message == "Bad operand."
    assert error.code is None


def test_13_a_related_span_elsewhere_is_a_block_of_its_own():
    error = DSLError(Span(FILE, 2, 12, 2, 15), "Bad.", related=[(Span(FILE, 1, 10, 1, 13), "here")])

    assert str(error).splitlines()[4:] == [
        "Related:",
        f'  File "{FILE}", line 1',
        "    1 | def f(a, lap):",
        "      |          ^^^ here",
    ]


def test_13_a_snippet_shows_at_most_three_lines():
    error = DSLError(Span(FILE, 3, 9, 6, 5), "Bad.", label="sum")

    shown = str(error).splitlines()

    assert [line for line in shown if " | " in line and line.strip()[0].isdigit()] == [
        "    3 |     c = (1 +",
        "    4 |        2 +",
        "    5 |     3 +",
    ]
    assert shown[-2:] == ["      |     ^^^ sum", "    ..."]


def test_13_carets_stand_under_text_indented_with_tabs():
    assert str(DSLError(Span(FILE, 7, 6, 7, 7), "Bad.")).splitlines()[-1] == "      | \t    ^"


def test_13_a_span_past_the_end_of_its_line_still_has_a_caret():
    assert str(DSLError(Span(FILE, 1, 90, 1, 95), "Bad.")).endswith("^")


def test_13_notes_and_hints_are_wrapped():
    error = DSLError(None, "Bad.", notes=["word " * 30], hints=["Do this."])

    lines = str(error).splitlines()

    assert lines[0] == "Bad."
    assert lines[1].startswith("Note: word")
    assert lines[2].startswith("      word")
    assert lines[-1] == "Hint: Do this."
    assert max(map(len, lines)) <= 100


def test_13_without_a_location_only_the_message_is_printed():
    assert str(MissingArgumentError(None, "out", True)) == "Expected keyword-argument 'out'."


def test_13_without_the_source_file_and_line_are_printed():
    error = DSLError(Span("gone.py", 4, 1, 4, 2), "Bad.", label="here")

    assert str(error) == 'Bad.\n  File "gone.py", line 4\n    here'


def test_13_an_undefined_symbol_suggests_the_nearest_name():
    error = UndefinedSymbolError(None, "lapl", candidates=["lap", "flux"])

    assert error.sym_name == "lapl"
    assert error.code == "undefined-symbol"
    assert "Did you mean 'lap'?" in str(error)


def test_13_an_unsupported_feature_says_that_only_a_subset_is_valid():
    error = UnsupportedPythonFeatureError(None, "for", hints=["Use a scan."])

    assert error.message == "Unsupported Python syntax: 'for'."
    assert error.feature == "for"
    assert error.notes == ("Only a subset of Python is valid inside operators and programs.",)


@pytest.mark.parametrize(
    ("name", "parents"),
    [
        ("UnsupportedPythonFeatureError", (DSLError,)),
        ("MissingAttributeError", (DSLError,)),
        ("MissingParameterAnnotationError", (DSLTypeError,)),
        ("InvalidAnnotationError", (DSLTypeError,)),
        ("InvalidParameterAnnotationError", (DSLTypeError,)),
        ("ArgumentError", (FieldforgeError, TypeError)),
        ("DomainError", (FieldforgeError, ValueError, IndexError)),
        ("IndexOutOfBounds", (errors.EmbeddedExecutionError, IndexError)),
        ("NonContiguousDomain", (errors.EmbeddedExecutionError,)),
        ("StoreReadError", (errors.StoreError,)),
        ("OptionError", (FieldforgeError, ValueError)),
    ],
)
def test_13_errors_can_be_caught_as_their_python_relatives(name, parents):
    for parent in parents:
        assert issubclass(getattr(errors, name), parent)


@pytest.mark.parametrize(
    "error",
    [
        DSLError(Span(FILE, 2, 12, 2, 15), "Bad.", label="x", notes=["n"], hints=["h"]),
        MissingArgumentError(None, "out", True),
        CompilationError("Failed.", command=["g++"], exit_code=1, log="no", log_path="/l"),
        OptionError("Unknown.", name="gup", known=["gpu"]),
    ],
)
def test_13_errors_survive_pickling_with_their_notes(error):
    error.add_note("While processing the definition of 'f'.")

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__


def test_13_a_location_is_only_added_where_there_is_none():
    first, second = Span(FILE, 1, 1, 1, 2), Span(FILE, 2, 1, 2, 2)

    assert DSLError(None, "Bad.").at(first).location == first
    assert DSLError(first, "Bad.").at(second).location == first


def test_unknown_option_names_the_nearest_and_all_known():
    error = OptionError("Unknown option 'fuze'.", name="fuze", known=["tile", "fuse"])

    assert error.hints == ("Did you mean 'fuse'? Known are 'fuse', 'tile'.",)


def test_compilation_error_shows_command_exit_code_and_the_end_of_the_log():
    log = "\n".join(f"line {i}" for i in range(50))
    error = CompilationError(
        "The compiler failed.", command=["g++", "-O3"], exit_code=1, log=log, log_path="/x/log"
    )

    shown = str(error)

    assert "  Command: g++ -O3\n  Exit code: 1\n" in shown
    assert "last 20 of 50 lines" in shown
    assert "line 29" not in shown
    assert "line 30" in shown
    assert shown.endswith("  Full log: /x/log")
