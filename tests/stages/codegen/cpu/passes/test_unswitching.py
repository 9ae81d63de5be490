"""Levels where conditions have their usual values have a loop of their own: the same bits."""

import re

import numpy as np
import pytest

import fieldforge as ff
from fieldforge import Dims, Field, float64
from fieldforge.examples.diffusion import I, J, K
from fieldforge.experimental import concat_where
from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.cpu.passes.unswitching import unswitch

from ...texts import RULES, after, unmarked

Levels = Field[Dims[I, J, K], float64]

USUAL = """\
kernel usual
  dimension I horizontal
  dimension K vertical
  scalar last int64
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. n, K: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu usual %3 true, %4 true
      %0 int64 number 1
      %1 int64 number last
      parallel K: 0 .. n
        %2 int64 index K
        %3 bool ge %2 %0
        %4 bool lt %2 %1
        %5 bool ge %2 %1
        vector I: 0 .. n
          %6 float64 load u[0, -1] when %3
          %7 float64 load u[0, 0]
          %8 float64 select %4 %6 %7
          %9 float64 store out %8
"""


def test_conditions_inside_the_innermost_loop_have_their_usual_values():
    assert after(unswitch, unmarked(USUAL)) == USUAL


def test_conditions_that_no_point_depends_on_are_left_alone():
    left = unmarked(USUAL).replace(" when %3", "").replace("select %4 %6", "add %6")
    assert after(unswitch, left) == left


CHOSEN = """\
kernel chosen
  dimension I horizontal
  dimension K vertical
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. n, K: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu usual %5 true, %6 false
      %0 int64 number 1
      %1 int64 number 5
      %2 bool constant True
      %3 bool constant False
      parallel K: 0 .. n
        vector I: 0 .. n
          %4 int64 index I
          %5 bool ge %4 %0
          %6 bool lt %4 %1
          %7 bool or %5 %3
          %8 bool or %6 %7
          %9 bool select %6 %3 %8
          %10 float64 load u[0, 0] when %9
          %11 float64 store out %10
"""


def test_what_is_true_is_chosen_by_or_in_adjoints_only():
    branches = CHOSEN.replace("or %5 %3", "select %5 %2 %3").replace("or %6 %7", "select %6 %2 %7")

    made = after(unswitch, unmarked(branches), classes.evolve(RULES, many_outputs=True))

    assert made == CHOSEN
    assert after(unswitch, unmarked(branches)) == unmarked(branches)


LISTED = """\
kernel listed
  dimension E horizontal
  dimension V horizontal
  dimension V2E local
  dimension K vertical
  scalar last int64
  table "table V2E" int32 [V, V2E]
  field u float64 [E, K] unit K
  field out float64 [V, K] unit K
  group 0 (V: 0 .. n, K: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu usual %3 true, %4 true
      %0 int32 constant 0
      %1 int64 number last
      parallel V: 0 .. n
        %2 int32 load "table V2E"[0, 0]
        %3 bool ge %2 %0
        %4 bool lt %2 %0
        %5 bool eq %2 %0
        %6 bool and %3 %5
        vector K: 0 .. n
          %7 float64 load u[%2, 0] when %6
          %8 float64 select %4 %7 %7
          %9 float64 store out %8
"""


ELEMENTS = """\
kernel elements
  dimension E horizontal
  dimension V horizontal
  dimension V2E local
  scalar last int64
  table "table V2E" int32 [V, V2E]
  field u float64 [E] unit E
  field out float64 [V] unit V
  group 0 (V: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu usual %4 true, %7 true
      %0 int32 constant 0
      %1 int64 number 1
      %2 int64 number last
      vector V: 0 .. n
        %3 int64 index V
        %4 bool ge %3 %1
        %5 int32 load "table V2E"[0, 0] when %4
        %6 int64 cast %5
        %7 bool ge %5 %0
        %8 bool and %4 %7
        %9 int32 load "table V2E"[0, 1] when %7
        %10 bool ge %9 %0
        %11 int64 minimum %6 %2
        %12 float64 load u[%11] when %8
        %13 float64 select %7 %12 %12
        %14 float64 store out %13
"""


POINTS = """\
kernel points
  dimension I horizontal
  dimension K vertical
  scalar first int64
  field u float64 [I, K] unit I
  field out float64 [I, K] unit I
  group 0 (I: 0 .. n, K: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      cpu usual %3 true, %5 true, %6 true
      %0 int64 number 1
      %1 int64 number first
      parallel K: 0 .. n
        %2 int64 index K
        %3 bool ge %2 %0
        vector I: 0 .. n
          %4 int64 index I
          %5 bool ge %4 %0
          %6 bool lt %4 %1
          %7 bool and %3 %5
          %8 bool and %7 %6
          %9 float64 load u[0, 0] when %8
          %10 float64 select %8 %9 %9
          %11 float64 store out %10
"""


@pytest.mark.parametrize("marked", [LISTED, ELEMENTS, POINTS], ids=["tables", "index", "points"])
def test_entries_and_points_inside_of_boxes_are_usual_in_adjoints_only(marked):
    others = unmarked(marked) if marked != POINTS else POINTS.replace(", %5 true, %6 true", "")

    assert after(unswitch, unmarked(marked), classes.evolve(RULES, many_outputs=True)) == marked
    assert after(unswitch, unmarked(marked)) == others


@ff.scan_operator(axis=K, forward=True, init=0.0)
def downwards(above: float64, a: float64) -> float64:
    return 0.5 * above + a


@ff.field_operator
def between(a: Levels, last: ff.int32) -> Levels:
    inner = concat_where((K > 0) & (K < last), a(K - 1) + a(K + 1), a)  # noqa: SIM300 (K is no constant)
    return downwards(concat_where(K == 0, inner * 2.0, inner))


@ff.program
def column(a: Levels, out: Levels, last: ff.int32):
    between(a, last, out=out)


def backend(**options):
    return ff.cpu.with_options(numerics="strict", parallel_from=1, **options)


def note(program) -> str:
    loops = program.trace(until="codegen")["codegen"].loops
    (values,) = re.findall(r"^ +cpu .*\busual (.*?)(?: slides .*)?$", loops, re.MULTILINE)
    return values


def test_numbers_are_passed_and_arguments_are_not_reached_on_usual_levels():
    program = column.with_backend(backend())
    loops = program.trace(until="codegen")["codegen"].loops
    found = set()
    for value in note(program).split(", "):
        row, usual = value.split()
        op, bound = re.search(rf"{row} bool (ge|lt) %\d+ (%\d+)", loops).groups()
        found.add((op, re.search(rf"{bound} int64 number (.*)", loops)[1], usual))
    assert {("ge", "1", "true"), ("lt", "1", "false"), ("lt", "last", "true")} <= found


@pytest.mark.needs_compiler
@pytest.mark.parametrize("last", [-1, 0, 1, 2, 5, 6, 9])
@pytest.mark.parametrize("columns", [3, 8, 21])
def test_levels_of_all_kinds_have_the_bits_of_embedded_execution(last, columns):
    levels = 6
    a = np.random.default_rng(columns).random((columns, 2, levels + 4))
    results = []
    for each in (None, backend(), backend(unswitch=False)):
        out = ff.zeros({I: columns, J: 2, K: levels}, allocator=ff.cpu)
        given = ff.as_field({I: columns, J: 2, K: (-1, levels + 3)}, a, allocator=ff.cpu)
        column.with_backend(each)(given, out, np.int32(last))
        results.append(out.asnumpy())

    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_nothing_is_written_twice_where_the_option_says_so():
    program = column.with_backend(backend(unswitch=False))
    assert " usual " not in program.trace(until="codegen")["codegen"].loops
