"""Definitions from text, and errors as (error, what its carets stand under)."""

# ruff: noqa: E501 - a table of names
import inspect
import itertools
import linecache
import textwrap

import attrs
import numpy as np
import pytest

from fieldforge.runtime.embedded import builtins
from fieldforge.runtime.fields.field import Field
from fieldforge.runtime.language.capture import capture
from fieldforge.runtime.language.connectivity import FieldOffset
from fieldforge.runtime.language.definition import ScanOptions
from fieldforge.runtime.language.dimension import Dimension, DimensionKind, flip_staggered
from fieldforge.runtime.language.operations import POINTWISE
from fieldforge.runtime.process.errors import DSLError
from fieldforge.stages.parse.builtin_typing import OTHERS
from fieldforge.stages.parse.trees import parse_all

I = Dimension("I")
J = Dimension("J")
K = Dimension("K", DimensionKind.VERTICAL)
Ih, Kh = flip_staggered(I), flip_staggered(K)
Cell, Edge = Dimension("Cell"), Dimension("Edge")
C2EDim, E2CDim = (Dimension(name, DimensionKind.LOCAL) for name in ("C2E", "E2C"))
C2C2Dim = Dimension("C2C2", DimensionKind.LOCAL)
MESH = {
    **{"Cell": Cell, "Edge": Edge, "C2EDim": C2EDim, "E2CDim": E2CDim, "Ih": Ih, "Kh": Kh},
    **{"C2E": FieldOffset("C2E", Edge, (Cell, C2EDim)), "E2C": FieldOffset("E2C", Cell, (Edge, E2CDim))},
    **{"C2C2": FieldOffset("C2C2", Cell, (Cell, C2C2Dim)), "C2C2Dim": C2C2Dim},
    **{"Koff": FieldOffset("Koff", K, (K,)), "Ioff": FieldOffset("Ioff", I, (I,))},
    **{"CK": Field[[Cell, K], np.float64], "EK": Field[[Edge, K], np.float64]},
    **{"FC": Field[[Cell], np.float64], "FE": Field[[Edge], np.float64], "FK": Field[[K], np.float64]},
    **{"NK": Field[[K], np.int32], "NCK": Field[[Cell, K], np.int32], "FKh": Field[[Kh], np.float64]},
    **{"Coeff": Field[[Cell, C2EDim], np.float64], "CoeffK": Field[[Cell, C2EDim, K], np.float64]},
    **{"BK": Field[[K], np.bool_], "BC": Field[[Cell, C2EDim], np.bool_]},
}  # fmt: skip
BUILTINS = (*POINTWISE, *OTHERS)
NAMES = {
    **MESH,
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


def _define(text, kind="field_operator", indent=0, options=None, **names):
    source = textwrap.indent(textwrap.dedent(text).strip("\n") + "\n", " " * indent)
    file = f"<user {next(_numbers)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope = {**NAMES, **names}
    exec(compile("if True:\n" * bool(indent) + source, file, "exec"), scope)
    functions = [each for each in scope.values() if inspect.isfunction(each)]
    (function,) = [each for each in functions if each.__code__.co_filename == file]
    if indent:  # the line of 'if True' is not in the cache
        linecache.cache[file] = (len(source), None, ["if True:\n", *source.splitlines(True)], file)
    return capture(function, kind, scan=options)


@pytest.fixture
def define():
    """Return the `Definition` of a function written as text."""
    return _define


@pytest.fixture
def operator():
    """Return a decorated operator written as text."""
    return lambda text, **names: Decorated(_define(text, **names))


@pytest.fixture
def scan():
    """Return a decorated scan written as text."""

    def scan(text, axis=K, forward=True, init=0.0, **names):
        options = ScanOptions(axis, forward, init)
        return Decorated(_define(text, "scan_operator", options=options, **names))

    return scan


@pytest.fixture
def rows(parse):
    """Parse a function written as text; the lines of its nodes and statements."""

    def rows(*args, **names):
        text = parse(*args, **names)["parsed"].text.split("\n\n")[0]
        return [line.strip() for line in text.split("\n")[1:]]

    return rows


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
