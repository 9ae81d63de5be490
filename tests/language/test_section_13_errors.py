"""Section 13: errors say what, where and what to do; nothing internal leaks."""

import linecache
import textwrap

import pytest

import fieldforge as ff
from fieldforge import errors, experimental

from ..dimensions import I, Line
from ..processes import python
from . import support
from .support import field, random, scaled


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


class TestText:
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
    done = python("model.py", cwd=tmp_path, env=environment)
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
