"""Section 13: an uncaught error of the language is printed without Python internals."""

import sys

import pytest

from fieldforge.runtime.process.errors import DSLError
from fieldforge.runtime.start.excepthook import install_excepthook

from ...processes import python

SCRIPT = """
import sys
from fieldforge.runtime.process.errors import DSLError, MissingArgumentError
from fieldforge.runtime.start.excepthook import install_excepthook
sys.excepthook = lambda kind, error, trace: print("BEFORE", kind.__name__)
install_excepthook({switch})
install_excepthook({switch})
def call():
    raise {error}
call()
"""


def run(error, switch="", tmp_path=None):
    script = tmp_path / "model.py"
    script.write_text(SCRIPT.format(error=error, switch=switch))
    done = python(script)
    assert done.returncode == 1
    return done.stdout, done.stderr


@pytest.fixture
def kept_hook(monkeypatch):
    monkeypatch.setattr(sys, "excepthook", sys.__excepthook__)


def test_13_an_uncaught_error_is_printed_with_the_line_of_the_caller(tmp_path):
    out, err = run("MissingArgumentError(None, 'out', True)", tmp_path=tmp_path)

    assert out == ""
    assert err.startswith("MissingArgumentError: Expected keyword-argument 'out'.\n")
    assert "Traceback" not in err
    assert 'model.py", line 9, in call' in err


def test_13_other_errors_go_to_the_hook_before_ours(tmp_path):
    assert run("ValueError('no')", tmp_path=tmp_path)[0] == "BEFORE ValueError\n"


def test_13_a_verbose_process_shows_everything(tmp_path):
    out, _ = run("DSLError(None, 'Bad.')", switch="lambda: True", tmp_path=tmp_path)

    assert out == "BEFORE DSLError\n"


def test_13_notes_and_the_cause_are_printed(kept_hook, capsys):
    install_excepthook()
    error = DSLError(None, "Invalid argument types in call to 'p'.")
    error.add_note("While processing the definition of 'p'.")
    error.__cause__ = TypeError("Expected argument 'a' to be of type int32, got float64.")

    sys.excepthook(DSLError, error, None)

    assert capsys.readouterr().err == (
        "DSLError: Invalid argument types in call to 'p'.\n"
        "While processing the definition of 'p'.\n"
        "Because of TypeError: Expected argument 'a' to be of type int32, got float64.\n"
    )
