"""Rows in the text of the one row that uses them, and those that keep a line of their own."""

import pytest

from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.interface import integers
from fieldforge.stages.codegen.rows.body import body_of, written
from fieldforge.stages.codegen.rows.dialect import cpp
from fieldforge.stages.codegen.rows.nesting import LONGEST, bracketed
from fieldforge.stages.codegen.rows.options import WriterOptions
from fieldforge.stages.codegen.rows.scope import Scope, places_of
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.traverse import nests_of

HEAD = """\
kernel one
  dimension I horizontal
  field u float64 [I] unit I
  field w float64 [I] unit I
  field out float64 [I] unit I
  group 0 (I: 0 .. 40)
  step 0
    nest n0 group 0
      vector I: 0 .. 40
"""


def lines(*rows: str, tests: bool = False) -> list[str]:
    """Return the text of rows, which are numbered in their order."""
    text = HEAD + "".join(f"        %{number} {row}\n" for number, row in enumerate(rows))
    kernel = read(text)
    options = WriterOptions(parallel_from=0)
    dialect = classes.evolve(cpp(options), nests_operands=True)
    scope = Scope(kernel, places_of(integers(kernel)), options, dialect)
    if tests:
        scope = classes.evolve(scope, tests={(0, "out"): 0})
    (nest,) = nests_of(kernel)
    return list(written(body_of(scope, nest), 1))


def test_rows_with_one_use_stand_in_the_row_that_uses_them() -> None:
    assert lines(
        "float64 load u[1]", "float64 load w[0]", "float64 add %0 %1", "float64 mul %2 %1",
        "float64 store out[0] %3",
    ) == ["const f64 v1 = r1[i0];", "r2[i0] = (r0[(i0 + 1)] + v1) * v1;"]  # fmt: skip


def test_a_branch_stays_outside_of_its_condition() -> None:
    assert lines(
        "float64 load u[0]", "float64 load w[0]", "float64 load u[1]", "bool lt %0 %1",
        "float64 neg %0", "float64 select %3 %4 %2", "float64 store out[0] %5",
    ) == [
        "const f64 v0 = r0[i0];", "const f64 v2 = r0[(i0 + 1)];",
        "const b8 v3 = b8(v0 < r1[i0]);", "const f64 v4 = -v0;", "r2[i0] = v3 ? v4 : v2;",
    ]  # fmt: skip


def test_what_a_store_may_overwrite_is_read_before_it() -> None:
    assert lines(
        "float64 load u[0]", "float64 load w[0]", "float64 store u[0] %1", "float64 store out[0] %0"
    ) == ["const f64 v0 = r0[i0];", "r0[i0] = r1[i0];", "r2[i0] = v0;"]


def test_texts_that_would_stand_twice_keep_their_name() -> None:
    chain = ("float64 load u[0]", "float64 sqrt %0", "float64 store out[0] %1")
    assert lines(*chain) == ["r1[i0] = __builtin_sqrt(r0[i0]);"]
    assert lines(*chain, tests=True)[0] == "const f64 v1 = __builtin_sqrt(r0[i0]);"
    assert lines(
        "float64 load u[0]", "bool isnan %0", "float64 cast %1", "float64 store out[0] %2"
    )[0].startswith("const f64 v0 =")


def test_lines_stay_short() -> None:
    rows = ["float64 load u[0]"]
    for number in range(30):
        rows += [f"float64 load w[{number}]", f"float64 add %{2 * number} %{2 * number + 1}"]
    text = lines(*rows, f"float64 store out[0] %{len(rows) - 1}")
    assert 2 < len(text) < 15
    assert max(map(len, text)) < LONGEST + 60


@pytest.mark.parametrize("text", ["v1", "r0[(i0 + 1)]", "f(a, g(b))", "(a + b)"])
def test_names_calls_and_elements_need_no_brackets(text: str) -> None:
    assert bracketed(text) == text


@pytest.mark.parametrize("text", ["a + b", "(a) + (b)", "-a", "a ? b : c", "f(a)[0] * 2"])
def test_other_texts_do(text: str) -> None:
    assert bracketed(text) == f"({text})"
