"""What nests need of a node: hulls of indices are the same in whatever order they grow."""

from itertools import permutations

from fieldforge import Dimension
from fieldforge.stages.codegen.schedule.needs import around, gated_by, joined, need_of
from fieldforge.stages.ir import bounds
from fieldforge.stages.ir.bounds import DomainSymbol, Range
from fieldforge.stages.ir.gates import far_unless
from fieldforge.stages.ir.settled import is_settled

I, J = Dimension("I"), Dimension("J")


def part(along_i, along_j):
    """Return the need of a box that begins so much before a field, which a call may find empty."""
    ranges = [
        (bounds.add(DomainSymbol("start", "coeff", dim), -more), stop_of(dim))
        for dim, more in ((I, along_i), (J, along_j))
    ]
    far = far_unless(ranges)
    start, stop = ranges[0]
    return need_of((Range(I, bounds.add(start, far), bounds.subtract(stop, far)),))


def stop_of(dim):
    return DomainSymbol("stop", "coeff", dim)


def test_hulls_of_settled_parts_do_not_depend_on_their_order():
    parts = [part(1, 0), part(0, 1), part(2, 0)]
    found = [joined(joined(one, two), three) for one, two, three in permutations(parts)]

    assert is_settled(joined(*parts[:2])[I].start)
    assert all(each == found[0] for each in found)


def test_a_hull_with_one_of_its_parts_is_the_hull():
    parts = [part(1, 0), part(0, 1)]
    both = joined(*parts)

    assert joined(both, parts[0]) == joined(parts[1], both) == both


def test_a_moved_hull_keeps_its_distance():
    both = joined(part(1, 0), part(0, 1))[I]
    start = both.opened().range(I).start

    assert is_settled(both.start)
    assert both.moved(2).opened().range(I).start == bounds.add(start, 2)


def test_a_hull_with_what_a_call_may_find_empty_of_it_is_the_hull():
    along = Range(J, DomainSymbol("start", "u", J), stop_of(J))
    both = joined(part(1, 0), part(0, 1))
    gated = [gated_by(both, (along,)), gated_by(gated_by(both, (along,)), (along,))]
    wider = {I: both[I].moved(1)}

    assert gated[0] != both
    assert all(around(each) == both for each in permutations((both, *gated)))
    assert around((wider, *gated)) != wider


def test_a_hull_leaves_out_a_part_behind_more_gates():
    sides = (J, Dimension("K"))
    along, beyond = (Range(each, DomainSymbol("start", "u", each), stop_of(each)) for each in sides)
    once = gated_by(joined(part(1, 0), part(0, 1)), (along,))
    twice = gated_by(once, (beyond,))

    assert twice != once
    assert around((once, twice)) == around((twice, once)) == once
