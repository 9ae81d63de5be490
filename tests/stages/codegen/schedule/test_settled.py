"""Rows where conditions are known: nothing is selected, and no index is clamped."""

import pytest

from fieldforge.runtime.process import classes
from fieldforge.stages.codegen.schedule.usual import settled
from fieldforge.stages.ir.loops.nest import Nest
from fieldforge.stages.ir.loops.traverse import with_nests

from ..texts import after

BEFORE = """\
kernel elements
  dimension V horizontal
  dimension V2E local
  scalar last int64
  table "table V2E" int32 [V, V2E]
  field u float64 [V] unit V
  field out float64 [V] unit V
  group 0 (V: 0 .. n)
  step 0
    nest n0 group 0  # stores out
      %0 int32 constant 0
      %1 int64 number last
      %2 float64 constant 0.0
      vector V: 0 .. n
        %3 int64 index V
        %4 bool lt %3 %1
        %5 int32 load "table V2E"[0, 0]
        %6 bool ge %5 %0
        %7 bool and %4 %6
        %8 int64 cast %5
        %9 int64 minimum %8 %1
        %10 float64 load u[%9] when %7
        %11 float64 select %6 %10 %2
        %12 float64 add %11 %11
        %13 float64 store out %12
"""
ALL = BEFORE.replace("u[%9] when %7", "u[%8]").replace("add %11 %11", "add %10 %10")
SOME = BEFORE.replace("%9] when %7", "%9] when %4").replace("add %11 %11", "add %10 %10")


def known(conditions):
    def change(nest: Nest) -> Nest:
        return classes.evolve(nest, body=tuple(settled(nest.body, conditions)[0]))

    return lambda kernel, _: with_nests(kernel, change)


@pytest.mark.parametrize(
    ("conditions", "meant"),
    [({4: True, 6: True}, ALL), ({6: True}, SOME), ({}, BEFORE)],
    ids=["all", "some", "none"],
)
def test_what_is_known_is_neither_tested_nor_clamped(conditions, meant):
    assert after(known(conditions), BEFORE) == meant


def test_what_no_store_needs_is_told():
    found = []

    def change(nest: Nest) -> Nest:
        found.append(settled(nest.body, {4: True, 6: True})[1])
        return nest

    after(lambda kernel, _: with_nests(kernel, change), BEFORE)
    assert found == [{5, 8, 10, 12, 13}]
