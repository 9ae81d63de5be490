"""Which kernels a tree is, and in which calls each of them runs."""

import attrs
import pytest

from fieldforge.runtime.language.dimension import Dimension
from fieldforge.stages.codegen.gpu.kernels import parts
from fieldforge.stages.ir.bounds import Const, PatchOrder, Range, ScalarSymbol, multiply, subtract
from fieldforge.stages.ir.loops.column import Column, Sweep
from fieldforge.stages.ir.loops.gpu import Columns, Patches, marked, marks_of
from fieldforge.stages.ir.loops.kernel import Choice, Seq, in_order
from fieldforge.stages.ir.loops.nest import Load, Nest, NestLoop

FIRST, BETWEEN, LAST = (Nest(0, (), (), reason) for reason in ("first", "between", "last"))
FUSED = Nest(0, (), (), "both")
P, Q, ONE = ScalarSymbol("p"), ScalarSymbol("q"), Const(1)
PATCHES = Patches((), PatchOrder(96, 0, 1, 1, ()), Const(9), 8, 1, 64, 1, Seq())


@pytest.fixture
def columns():
    return Columns(("@0",), 32, Const(1), 2, (FIRST, LAST))


def launches(node):
    return [(part.node, part.when) for part in parts(node)]


def test_each_nest_is_a_launch():
    assert launches(in_order(FIRST, LAST)) == [(FIRST, ONE), (LAST, ONE)]


def test_equal_nests_are_launches_of_their_own():
    found = parts(in_order(FIRST, LAST, FIRST))

    assert [(part.node, part.nests) for part in found] == [
        (FIRST, (0,)),
        (LAST, (1,)),
        (FIRST, (2,)),
    ]


@pytest.mark.parametrize(("walks", "block"), [(True, (64,)), (False, (32, 8, 1))])
def test_columns_that_walk_no_levels_have_the_blocks_of_points(walks, block):
    ranges = [Range(Dimension(name), Const(0), Const(9)) for name in "KJI"]
    loops = tuple(NestLoop("parallel", each) for each in ranges)
    acts = (Sweep(Range(Dimension("L"), Const(0), Const(9)), ()),) if walks else ()
    (found,) = parts(Column(0, loops, acts, ""))

    assert marks_of(found.first).block == block


def test_columns_are_launched_before_what_runs_without_them(columns):
    found = launches(Choice(P, columns, in_order(FIRST, LAST)))

    assert found == [(columns, P), (FIRST, subtract(ONE, P)), (LAST, subtract(ONE, P))]


def test_scans_without_columns_load_half_as_many_levels_ahead(columns):
    scan = marked(FIRST, ahead=8)
    found = launches(Choice(P, columns, in_order(scan, LAST)))

    assert [node for node, _ in found] == [columns, marked(FIRST, ahead=4), LAST]


def test_long_columns_are_launched_in_place_of_their_scans(columns):
    long = attrs.evolve(columns, threads=64)

    assert launches(Choice(P, columns, long)) == [(columns, P), (long, subtract(ONE, P))]


def test_a_nest_in_place_of_others_is_launched_after_them():
    found = parts(Choice(P, FUSED, in_order(FIRST, LAST)))

    assert [(part.node, part.nests) for part in found] == [
        (FIRST, (0,)),
        (LAST, (1,)),
        (FUSED, (2,)),
    ]
    assert [part.when for part in found] == [subtract(ONE, P), subtract(ONE, P), P]


def test_what_patches_leave_alone_is_launched_once_in_every_call():
    other = Choice(Q, FUSED, in_order(FIRST, LAST))
    found = parts(Choice(P, in_order(PATCHES, BETWEEN), in_order(BETWEEN, other)))
    rest = subtract(ONE, P)

    assert [part.node for part in found] == [PATCHES, BETWEEN, FIRST, LAST, FUSED]
    patches, between, first, _, fused = (part.when for part in found)
    assert (patches, between) == (P, ONE)
    assert first == multiply(rest, subtract(ONE, Q))
    assert fused == multiply(rest, Q)


def test_a_choice_that_patches_leave_alone_keeps_its_condition():
    other = Choice(Q, FUSED, in_order(FIRST, LAST))
    found = parts(Choice(P, in_order(PATCHES, other), in_order(BETWEEN, other)))

    assert [part.node for part in found] == [PATCHES, BETWEEN, FIRST, LAST, FUSED]
    assert [part.when for part in found[2:]] == [subtract(ONE, Q), subtract(ONE, Q), Q]


def test_patches_have_the_numbers_of_the_nests_that_touch_their_arrays(columns):
    fills, reads = (
        attrs.evolve(nest, body=(Load(dtype="float64", buffer="@0", dims=(), offsets=()),))
        for nest in (FIRST, LAST)
    )
    patches = attrs.evolve(PATCHES, arrays=("@0",))
    found = parts(Choice(P, in_order(patches, BETWEEN), in_order(fills, BETWEEN, reads)), first=3)

    assert found[0].nests == (3, 5)


def test_what_both_sides_contain_stays_between_what_each_has_alone():
    found = parts(Choice(P, in_order(FUSED, BETWEEN), in_order(FIRST, BETWEEN, LAST)))

    assert [(part.node, part.nests, part.when) for part in found] == [
        (FIRST, (0,), subtract(ONE, P)),
        (FUSED, (3,), P),
        (BETWEEN, (1,), ONE),
        (LAST, (2,), subtract(ONE, P)),
    ]
