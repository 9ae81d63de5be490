"""Which kernels a call launches, folded over the tree."""

from __future__ import annotations

import attrs
import pytest

from fieldforge.stages.codegen.gpu.launches import launches
from fieldforge.stages.ir.bounds import Const, PatchOrder, ScalarSymbol, multiply, subtract
from fieldforge.stages.ir.loops.gpu import Columns, Patches
from fieldforge.stages.ir.loops.kernel import Choice, Seq, in_order
from fieldforge.stages.ir.loops.nest import Nest

FIRST, BETWEEN, LAST = (Nest(0, (), (), reason) for reason in ("first", "between", "last"))
FUSED = Nest(0, (), (), "both")
P, Q, ONE = ScalarSymbol("p"), ScalarSymbol("q"), Const(1)
PATCHES = Patches((), PatchOrder(96, 0, 1, 1, ()), 8, 1, 64, 1, Const(9), Seq())


@pytest.fixture
def columns():
    return Columns(("@0",), 32, Const(1), 2, (FIRST, LAST))


def test_each_nest_is_a_launch():
    assert list(launches(in_order(FIRST, LAST)).items()) == [(FIRST, ONE), (LAST, ONE)]


def test_columns_are_launched_before_what_runs_without_them(columns):
    found = launches(Choice(P, columns, in_order(FIRST, LAST)))

    assert list(found) == [columns, FIRST, LAST]
    assert list(found.values()) == [P, subtract(ONE, P), subtract(ONE, P)]


def test_long_columns_are_launched_in_place_of_their_scans(columns):
    long = attrs.evolve(columns, threads=64)

    assert launches(Choice(P, columns, long)) == {columns: P, long: subtract(ONE, P)}


def test_a_nest_in_place_of_others_is_launched_after_them():
    found = launches(Choice(P, FUSED, in_order(FIRST, LAST)))

    assert list(found.items()) == [(FIRST, subtract(ONE, P)), (LAST, subtract(ONE, P)), (FUSED, P)]


def test_what_patches_leave_alone_is_launched_once_in_every_call():
    other = Choice(Q, FUSED, in_order(FIRST, LAST))
    found = launches(Choice(P, in_order(PATCHES, BETWEEN), in_order(BETWEEN, other)))
    rest = subtract(ONE, P)

    assert list(found) == [PATCHES, BETWEEN, FIRST, LAST, FUSED]
    assert (found[PATCHES], found[BETWEEN]) == (P, ONE)
    assert found[FIRST] == multiply(rest, subtract(ONE, Q))
    assert found[FUSED] == multiply(rest, Q)
