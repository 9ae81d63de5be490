"""Notebooks show an error of ours with the user's line, and none of the library's frames."""

import pytest

import fieldforge as ff
from fieldforge.runtime.start.error_text import ask_verbose, lines

from ...processes import python

I = ff.Dimension("I")
CELL = """
import fieldforge as ff
I = ff.Dimension('I')
@ff.field_operator
def rise(u: ff.Field[ff.Dims[I], ff.float64]) -> ff.Field[ff.Dims[I], ff.float64]:
    return u(I + 1) - u
u = ff.ones({I: 3})
rise(u, out=u)
"""


def too_small():
    with pytest.raises(ff.errors.FieldforgeError) as raised:
        ff.ones({I: 3})[{"no": 1}]
    return raised.value


def test_the_frames_of_the_library_are_left_out():
    shown = "\n".join(lines(too_small()))
    assert "test_error_text.py" in shown
    assert "runtime/fields" not in shown


def test_verbose_exceptions_bring_them_back():
    ask_verbose(lambda: True)
    try:
        assert "runtime/fields" in "\n".join(lines(too_small()))
    finally:
        ask_verbose(lambda: False)


def test_ipython_shows_it():
    pytest.importorskip("IPython", reason="IPython is not installed")
    code = (
        "from IPython.core.interactiveshell import InteractiveShell as S\n"
        f"S.instance().run_cell({CELL!r})"
    )
    done = python("-c", code)
    shown = done.stdout + done.stderr
    assert "Error" in shown or "OutOfBounds" in shown
    assert "rise(u, out=u)" in shown
    assert "site-packages" not in shown
    assert "workflows/" not in shown
