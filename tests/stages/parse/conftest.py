"""Definitions from text, and errors as (error, what its carets stand under)."""

from __future__ import annotations

import inspect
import itertools
import linecache
import textwrap

import attrs
import numpy as np
import pytest

from fieldforge.runtime import builtins
from fieldforge.runtime.capture import capture
from fieldforge.runtime.dimension import Dimension, DimensionKind
from fieldforge.runtime.errors import DSLError
from fieldforge.runtime.field import Field
from fieldforge.stages.parse.trees import parse_all

I = Dimension("I")
J = Dimension("J")
K = Dimension("K", DimensionKind.VERTICAL)
BUILTINS = (
    "where", "broadcast", "astype", "neighbor_sum", "minimum", "maximum", "power", "fmod",
    "neg", "sqrt", "exp", "floor", "isnan",
)  # fmt: skip
NAMES = {
    **{"I": I, "J": J, "K": K, "np": np, "Field": Field},
    **{"F": Field[[I], np.float64], "F32": Field[[I], np.float32], "N": Field[[I], np.int32]},
    **{"B": Field[[I], np.bool_], "IJ": Field[[I, J], np.float64]},
    **{"FJ": Field[[J], np.float64], "Zero": Field[[], np.float64]},
    **{name: getattr(np, name) for name in ("float32", "float64", "int32", "int64")},
    **{name: getattr(builtins, name) for name in BUILTINS},
}
_numbers = itertools.count()


@attrs.frozen(eq=False)
class Decorated:
    """What `parse` knows of a decorated function."""

    __definition__: object


def _define(text, kind="field_operator", indent=0, **names):
    source = textwrap.indent(textwrap.dedent(text).strip("\n") + "\n", " " * indent)
    file = f"<user {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {**NAMES, **names}
    exec(compile("if True:\n" * bool(indent) + source, file, "exec"), scope)
    functions = [each for each in scope.values() if inspect.isfunction(each)]
    (function,) = [each for each in functions if each.__code__.co_filename == file]
    if indent:  # the line of 'if True' is not in the cache
        linecache.cache[file] = (len(source), None, ["if True:\n", *source.splitlines(True)], file)
    return capture(function, kind)


@pytest.fixture
def define():
    """Return the `Definition` of a function written as text."""
    return _define


@pytest.fixture
def operator():
    """Return a decorated operator written as text."""
    return lambda text, **names: Decorated(_define(text, **names))


@pytest.fixture
def parse():
    """Parse a function written as text, and everything that it calls."""
    return lambda *args, **names: parse_all(_define(*args, **names))


@pytest.fixture
def refused(parse):
    """Parse a wrong function: the error, and the text under its carets."""

    def refused(text, *args, **names):
        with pytest.raises(DSLError) as caught:
            parse(text, *args, **names)
        return caught.value, _under(caught.value.location)

    return refused


def _under(span):
    lines = linecache.cache[span.file][2][span.line - 1 : span.end_line]
    if len(lines) == 1:
        return lines[0][span.column - 1 : span.end_column - 1]
    return "".join([lines[0][span.column - 1 :], *lines[1:-1], lines[-1][: span.end_column - 1]])
