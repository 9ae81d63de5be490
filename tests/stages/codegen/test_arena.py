"""Arrays whose lives do not overlap share a slot."""

from itertools import pairwise

import attrs

from fieldforge.stages.codegen.arena import APART, PAGE, plan_arena
from fieldforge.stages.codegen.pass_list import Rules
from fieldforge.stages.ir.bounds import Const, PatchOrder, ScalarSymbol, evaluate
from fieldforge.stages.ir.loops.cpu import Cut, Member, Portions, Tiles
from fieldforge.stages.ir.loops.kernel import Choice, Step, in_order
from fieldforge.stages.ir.loops.nest import Each
from fieldforge.stages.ir.loops.reader import read
from fieldforge.stages.ir.loops.text import show
from fieldforge.stages.ir.loops.traverse import nests_of, nodes_of

from .programs import TARGET

RULES = Rules(TARGET)
NESTS = (("u", "@0"), ("@0", "@1"), ("@1", "@2"), ("@2", "out"))


def kernel(memory):
    """Return nests each of which hands an array to the next."""
    lines = ["kernel chain", "  dimension I horizontal"]
    lines += [f"  field {name} float64 [I] unit I" for name in ("u", "out")]
    lines += [f"  {memory} @{n} float64 [I] unit I order [I] box (I: 0 .. n)" for n in range(3)]
    lines += ["  group 0 (I: 0 .. n)", "  step 0"]
    for number, (source, target) in enumerate(NESTS):
        lines += [
            f"    nest n{number} group 0",
            "      sequential I: 0 .. n",
            f"        %0 float64 load {source}[0]",
            f"        %1 float64 store {target} %0",
        ]
    return read("\n".join([*lines, ""]))


def in_tiles(given, rolled=None):
    """Return a kernel whose nests are tiles of eight points for four threads."""
    nests = nests_of(given)
    cuts = (Cut(nests[0].box[0], 8),)
    members = tuple(Member(nest, ((0, 0),)) for nest in nests)
    tiles = Tiles(("@0", "@1", "@2"), cuts, members, "", rolled, threads=4)
    return attrs.evolve(given, steps=(Step(0, tiles),))


def slots(made):
    return {each.name: each.slot for each in made.buffers if each.name.startswith("@")}


def test_an_array_takes_the_slot_of_one_that_is_no_longer_read():
    made = plan_arena(kernel("arena"), RULES)

    assert slots(made) == {"@0": 0, "@1": 1, "@2": 0}
    assert len(made.slots) == 2
    assert read(show(made)) == made


def test_each_thread_has_its_own_arrays_of_tiles():
    made = plan_arena(in_tiles(kernel("tile")), RULES)

    assert slots(made) == {"@0": 0, "@1": 1, "@2": 0}
    sizes = [evaluate(each, {ScalarSymbol("n"): 1000}.__getitem__) for each in made.slots]
    one = 2 * PAGE + APART
    assert sizes == [4 * one, 4 * one]


def test_tile_arrays_of_a_thread_lie_at_other_places_of_their_pages():
    places = sorted(number * APART % PAGE for number in range(13))
    between = [far - near for near, far in pairwise([*places, PAGE])]

    assert min(between) == 192


def test_arrays_of_nests_that_take_turns_row_by_row_are_all_in_use_at_once():
    given = kernel("tile")
    made = plan_arena(in_tiles(given, nests_of(given)[0].box[0].dim), RULES)

    assert slots(made) == {"@0": 0, "@1": 1, "@2": 2}


def test_rows_of_portions_follow_the_arrays():
    given = kernel("arena")
    one, loops = Const(1), (Each(0, nests_of(given)[0]),)
    portions = Portions((), PatchOrder(96, 8, 1, 1, ()), one, one, 8, 1, 1 << 20, one, 2, loops)
    chosen = Choice(portions.fits, portions, in_order(*nests_of(given)))
    made = plan_arena(attrs.evolve(given, steps=(Step(0, chosen),)), RULES)

    assert [each.slot for each in nodes_of(made, Portions)] == [2]
    assert len(made.slots) == 3


def test_a_kernel_without_arrays_is_left_alone():
    plain = read(
        "kernel plain\n  dimension I horizontal\n  field u float64 [I] unit I\n"
        "  group 0 (I: 0 .. n)\n  step 0\n    nest n0 group 0\n      vector I: 0 .. n\n"
        "        %0 float64 constant 0.0\n        %1 float64 store u %0\n"
    )

    assert plan_arena(plain, RULES) == plain
